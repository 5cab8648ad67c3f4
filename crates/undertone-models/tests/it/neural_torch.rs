//! Both tiers against PyTorch, from a fixture that `scripts/torch_fixtures.py` writes.

use crate::neural_support::{narrowed, numbers, parameters, relative_error};
use crate::support::Dice;
use serde::Deserialize;
use std::num::NonZeroUsize;
use undertone_models::neural::{
    Batch, Clip, ClipNorm, Guess, NeuralEngine, NeuralNetwork, NeuralSpec,
};

#[derive(Deserialize)]
struct Fixture {
    neural: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    seed: u64,
    records: usize,
    parameters: usize,
    spec: NeuralSpec,
    loss: f64,
    logits: Sampled,
    mean_gradient: Sampled,
    input_gradient: Sampled,
    bound_l1: f64,
    clipped_l1: Sampled,
    bound_l2: f64,
    clipped_l2: Sampled,
    distance: Option<f64>,
    match_input: Option<Sampled>,
    match_label: Option<Sampled>,
}

/// Every so many entries of a vector, and the norm of all.
#[derive(Deserialize)]
struct Sampled {
    norm: f64,
    stride: usize,
    entries: Vec<f64>,
}

impl Sampled {
    fn error(&self, found: &[f64]) -> f64 {
        let norm = found.iter().map(|x| x * x).sum::<f64>().sqrt();
        let sampled: Vec<f64> = found.iter().copied().step_by(self.stride).collect();
        relative_error(&sampled, &self.entries).max((norm / self.norm - 1.0).abs())
    }
}

fn cases() -> Vec<Case> {
    let fixture: Fixture = toml::from_str(include_str!("../fixtures/torch.toml")).unwrap();
    assert_eq!(fixture.neural.len(), 5);
    fixture.neural
}

/// The neural network, its parameters and records as the fixture's script draws them.
struct Drawn {
    neural: NeuralNetwork,
    dice: Dice,
    theta: Vec<f64>,
    narrow: Vec<f32>,
    wide: Vec<f64>,
    labels: Vec<u32>,
}

impl Case {
    fn draw(&self) -> Drawn {
        let neural = NeuralNetwork::new(self.spec.clone()).unwrap();
        assert_eq!(neural.parameters(), self.parameters, "{}", self.name);
        let mut dice = Dice::new(self.seed);
        let theta = narrowed(&parameters(&neural, &mut dice)).1;
        let (narrow, wide) = narrowed(&numbers(self.records * neural.features(), &mut dice));
        let classes = neural.classes() as u64;
        let labels = (0..self.records).map(|_| u32::try_from(dice.below(classes)).unwrap());
        let labels = labels.collect();
        Drawn { neural, dice, theta, narrow, wide, labels }
    }
}

#[test]
fn the_reference_agrees_with_pytorch() {
    for case in cases() {
        let Drawn { neural, mut dice, theta, wide, labels, .. } = case.draw();
        let share = 1.0 / labels.len() as f64;
        let (mut loss, mut logits) = (0.0, Vec::new());
        let mut mean = vec![0.0; neural.parameters()];
        for (number, (input, &label)) in wide.chunks(neural.features()).zip(&labels).enumerate() {
            let label = neural.one_hot(label as usize);
            logits.extend(neural.logits(&theta, input));
            loss += share * neural.loss(&theta, input, &label);
            let gradient = neural.gradient(&theta, input, &label);
            mean.iter_mut().zip(gradient).for_each(|(mean, slope)| *mean += share * slope);
            if number == 0 {
                let slopes = neural.input_gradient(&theta, input, &label);
                assert!(case.input_gradient.error(&slopes) < 1e-12, "{}", case.name);
            }
        }
        assert!((loss - case.loss).abs() < 1e-12, "{}", case.name);
        assert!(case.logits.error(&logits) < 1e-12, "{}", case.name);
        assert!(case.mean_gradient.error(&mean) < 1e-12, "{}", case.name);
        if let (Some(distance), Some(by_input), Some(by_label)) =
            (case.distance, case.match_input, case.match_label)
        {
            let target = narrowed(&numbers(neural.parameters(), &mut dice)).1;
            let target: Vec<f64> = target.iter().map(|x| 0.1 * x).collect();
            let input = narrowed(&numbers(neural.features(), &mut dice)).1;
            let label_logits = narrowed(&numbers(neural.classes(), &mut dice)).1;
            let guess = Guess { input: &input, label_logits: &label_logits };
            let found = neural.gradient_match(&theta, &[guess], &target);
            assert!((found.distance / distance - 1.0).abs() < 1e-12, "{}", case.name);
            assert!(by_input.error(&found.input_gradients[0]) < 1e-10, "{}", case.name);
            assert!(by_label.error(&found.label_gradients[0]) < 1e-10, "{}", case.name);
        }
    }
}

#[test]
fn the_fast_tier_agrees_with_pytorch() {
    for case in cases() {
        let Drawn { neural, theta, narrow, labels, .. } = case.draw();
        let batch = Batch::new(&neural, &narrow, &labels);
        let (fast, one) = (NeuralEngine::new(neural.clone()), NonZeroUsize::MIN);
        let logits = fast.logits(&theta, &narrow, one);
        let logits: Vec<f64> = logits.into_iter().map(f64::from).collect();
        assert!(case.logits.error(&logits) < 1e-5, "{}", case.name);
        let mean = fast.mean_gradient(&theta, &batch, one);
        assert!(case.mean_gradient.error(&mean) < 1e-5, "{}", case.name);
        for (norm, bound, expected) in [
            (ClipNorm::L1, case.bound_l1, case.clipped_l1),
            (ClipNorm::L2, case.bound_l2, case.clipped_l2),
        ] {
            let clip = Clip::new(norm, bound).unwrap();
            let found = fast.clipped_gradient_sum(&theta, &batch, clip, one);
            assert!(expected.error(&found.sum) < 1e-5, "{} {norm:?}", case.name);
            assert!(found.clipped > 0 && found.clipped < labels.len(), "{}", case.name);
        }
    }
}

#[test]
fn the_comparison_with_pytorch_sees_a_wrong_gradient() {
    for case in cases() {
        let Drawn { neural, theta, narrow, labels, .. } = case.draw();
        let batch = Batch::new(&neural, &narrow, &labels);
        let fast = NeuralEngine::new(neural.clone());
        let mean = fast.mean_gradient(&theta, &batch, NonZeroUsize::MIN);
        let largest = mean.iter().map(|x| x.abs()).fold(0.0, f64::max);
        let place = mean.iter().position(|x| x.abs() >= largest).unwrap();
        let mut wrong = mean.clone();
        wrong[place] *= 1.1;
        assert!(case.mean_gradient.error(&wrong) > 1e-5, "one entry wrong by a tenth");
        let mut wrong = mean.clone();
        wrong.rotate_right(1);
        assert!(case.mean_gradient.error(&wrong) > 1e-5, "entries shifted by one place");
        wrong = mean.iter().map(|x| x * (1.0 + 3e-5)).collect();
        assert!(case.mean_gradient.error(&wrong) > 1e-5, "all entries a little too large");
    }
}
