//! What must not go wrong with bad specs, bad records, and many threads.

use crate::neural_support::{cnns, numbers, parameters, relative_error};
use crate::support::Dice;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use undertone_models::neural::{
    Batch, Clip, ClipNorm, Guess, LayerSpec, NeuralEngine, NeuralNetwork, NeuralSpec,
    NeuralSpecError, Shape,
};

fn spec(layers: &str) -> NeuralSpec {
    toml::from_str(&format!(
        "input = {{ channels = 2, height = 6, width = 5 }}\nclasses = 3\nlayers = [{layers}]"
    ))
    .unwrap()
}

fn message(layers: &str) -> String {
    NeuralNetwork::new(spec(layers)).unwrap_err().to_string()
}

/// Whether a call is a bug in the caller.
fn panics<T>(call: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(call)).is_err()
}

#[test]
fn errors_name_the_layer_and_what_is_wrong() {
    assert_eq!(
        message(r#"{ kind = "relu" }, { kind = "conv", channels = 4, kernel = 7 }"#),
        "layer 2 (conv): its window of 7 does not fit into an input of 2×6×5"
    );
    assert_eq!(
        message(r#"{ kind = "conv", channels = 0, kernel = 3 }"#),
        "layer 1 (conv): channels = 0: must be at least 1"
    );
    assert_eq!(
        message(r#"{ kind = "conv", channels = 1, kernel = 2, stride = 0 }"#),
        "layer 1 (conv): stride = 0: must be at least 1"
    );
    assert_eq!(
        message(r#"{ kind = "conv", channels = 1, kernel = 2, padding = 2 }"#),
        "layer 1 (conv): padding = 2: must be below the kernel's size"
    );
    assert_eq!(
        message(r#"{ kind = "max-pool", size = 0 }"#),
        "layer 1 (max-pool): size = 0: must be at least 1"
    );
    assert_eq!(
        message(r#"{ kind = "dense", outputs = 3 }, { kind = "average-pool", size = 2 }"#),
        "layer 2 (average-pool): its window of 2 does not fit into an input of 3×1×1"
    );
    assert_eq!(
        message(r#"{ kind = "dense", outputs = 4 }"#),
        "layer 1 (dense) is the last and outputs 4×1×1, which is 4 values; it must output 3 logits, one for each class"
    );
    assert!(message("").starts_with("layers: must not be empty"));
    let huge = format!(r#"{{ kind = "dense", outputs = {} }}"#, i64::MAX);
    assert!(message(&huge).contains("layer 1 (dense): more than"));
    let padded = r#"{ kind = "conv", channels = 1, kernel = 40000, padding = 39999 }"#;
    assert!(message(padded).contains("layer 1 (conv): more than"));
}

#[test]
fn inputs_and_classes_are_checked() {
    let good = NeuralSpec::mlp(3, &[], 2);
    for (input, classes) in [
        (Shape { channels: 0, height: 1, width: 1 }, 2),
        (Shape { channels: 1, height: usize::MAX, width: 2 }, 2),
        (Shape::vector(3), 1),
    ] {
        let bad = NeuralSpec { input, classes, layers: good.layers.clone() };
        assert!(matches!(NeuralNetwork::new(bad), Err(NeuralSpecError::Setting { .. })));
    }
    assert!(NeuralNetwork::new(good).is_ok(), "the control");
}

#[test]
fn unknown_keys_and_layers_are_refused() {
    let text = |layer: &str| {
        format!(
            "input = {{ channels = 1, height = 4, width = 4 }}\nclasses = 2\nlayers = [{{ {layer} }}]"
        )
    };
    assert!(toml::from_str::<NeuralSpec>(&text(r#"kind = "dense", outputs = 2"#)).is_ok());
    for layer in [
        r#"kind = "lstm""#,
        r#"kind = "relu", slope = 1"#,
        r#"kind = "dense", outputs = 2, bias = false"#,
        r#"kind = "conv", channels = 2"#,
        r#"kind = "dense", outputs = -2"#,
    ] {
        assert!(toml::from_str::<NeuralSpec>(&text(layer)).is_err(), "{layer}");
    }
}

#[test]
fn specs_survive_a_round_trip_through_toml() {
    for spec in cnns().into_iter().chain([NeuralSpec::mlp(4, &[3, 2], 2)]) {
        let text = toml::to_string(&spec).unwrap();
        assert_eq!(toml::from_str::<NeuralSpec>(&text).unwrap(), spec);
    }
}

#[test]
fn the_named_networks_have_the_parameters_their_documentation_says() {
    let [mnist, cifar10] = cnns();
    for (spec, expected) in
        [(mnist, 18_378), (cifar10, 22_058), (NeuralSpec::mlp(4, &[8], 3), 4 * 8 + 8 + 8 * 3 + 3)]
    {
        let neural = NeuralNetwork::new(spec).unwrap();
        assert_eq!(neural.parameters(), expected);
        assert_eq!(parameters(&neural, &mut Dice::new(1)).len(), expected);
    }
}

#[test]
fn initial_parameters_are_within_their_bound_and_pass_errors_on() {
    let neural = NeuralNetwork::new(NeuralSpec::mlp(16, &[4], 2)).unwrap();
    let theta = parameters(&neural, &mut Dice::new(3));
    let (first, second) = theta.split_at(16 * 4 + 4);
    let largest = |part: &[f64]| part.iter().map(|x| x.abs()).fold(0.0, f64::max);
    assert!(largest(first) <= 0.25 && largest(first) > 0.2);
    assert!(largest(second) <= 0.5 && largest(second) > 0.25);
    assert_eq!(neural.initial_parameters(|| Err("no entropy")), Err("no entropy"));
}

#[test]
fn vectors_of_the_wrong_length_are_bugs() {
    let neural = NeuralNetwork::new(NeuralSpec::mlp(3, &[], 2)).unwrap();
    let theta = vec![0.0; neural.parameters()];
    let label = neural.one_hot(1);
    assert!(panics(|| neural.one_hot(2)));
    assert!(panics(|| neural.logits(&theta[1..], &[0.0; 3])));
    assert!(panics(|| neural.gradient(&theta, &[0.0; 4], &label)));
    assert!(panics(|| neural.loss(&theta, &[0.0; 3], &[1.0])));
    assert!(panics(|| neural.gradient_match(&theta, &[], &theta)));
    let guess = Guess { input: &[0.0; 2], label_logits: &[0.0; 2] };
    assert!(panics(|| neural.gradient_match(&theta, &[guess], &theta)));
    assert!(panics(|| Batch::new(&neural, &[0.0; 5], &[0, 1])));
    assert!(panics(|| Batch::new(&neural, &[0.0; 6], &[0, 2])));
    let fast = NeuralEngine::new(neural.clone());
    assert!(panics(|| fast.logits(&theta, &[0.0; 4], NonZeroUsize::MIN)));
    let other = NeuralNetwork::new(NeuralSpec::mlp(2, &[], 9)).unwrap();
    let batch = Batch::new(&other, &[0.0; 6], &[0, 8, 1]);
    assert!(panics(|| fast.mean_gradient(&theta, &batch, NonZeroUsize::MIN)));
    // Control: what fits does not panic.
    assert!(!panics(|| Batch::new(&neural, &[0.0; 6], &[0, 1])));
    assert!(!panics(|| fast.logits(&theta, &[0.0; 6], NonZeroUsize::MIN)));
    for bound in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(Clip::new(ClipNorm::L2, bound).is_err());
    }
}

/// A neural network with every kind of layer.
fn mixed() -> NeuralNetwork {
    let conv = |channels, padding| LayerSpec::Conv { channels, kernel: 3, stride: 1, padding };
    let pool = LayerSpec::MaxPool { size: 2, stride: None };
    let layers = vec![
        conv(5, 0),
        LayerSpec::Relu {},
        pool,
        conv(9, 1),
        LayerSpec::Sigmoid {},
        LayerSpec::AveragePool { size: 2, stride: Some(1) },
        LayerSpec::Dense { outputs: 6 },
        LayerSpec::Tanh {},
        LayerSpec::Dense { outputs: 3 },
    ];
    let input = Shape { channels: 2, height: 11, width: 10 };
    NeuralNetwork::new(NeuralSpec { input, classes: 3, layers }).unwrap()
}

#[expect(clippy::cast_possible_truncation, reason = "the fast tier computes in f32")]
fn images(neural: &NeuralNetwork, count: usize, dice: &mut Dice) -> (Vec<f32>, Vec<u32>) {
    let values = numbers(count * neural.features(), dice);
    let labels = (0..count).map(|_| u32::try_from(dice.below(3)).unwrap()).collect();
    (values.into_iter().map(|x| x as f32).collect(), labels)
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let (neural, mut dice) = (mixed(), Dice::new(5));
    let theta = parameters(&neural, &mut dice);
    let (inputs, labels) = images(&neural, 333, &mut dice);
    let batch = Batch::new(&neural, &inputs, &labels);
    let fast = NeuralEngine::new(neural.clone());
    let clip = Clip::new(ClipNorm::L2, 0.5).unwrap();
    let with = |threads: usize| {
        let threads = NonZeroUsize::new(threads).unwrap();
        let clipped = fast.clipped_gradient_sum(&theta, &batch, clip, threads);
        let bits: Vec<u64> = clipped.sum.iter().map(|x| x.to_bits()).collect();
        let logits = fast.logits(&theta, &inputs, threads);
        let logits: Vec<u32> = logits.iter().map(|x| x.to_bits()).collect();
        (bits, clipped.clipped, logits, fast.predict(&theta, &inputs, threads))
    };
    let alone = with(1);
    for threads in [2, 3, 5, 64] {
        assert!(with(threads) == alone, "{threads} threads");
    }
}

#[test]
fn records_that_are_not_finite_count_as_zero() {
    let (neural, mut dice) = (mixed(), Dice::new(6));
    let theta = parameters(&neural, &mut dice);
    let (inputs, labels) = images(&neural, 20, &mut dice);
    let fast = NeuralEngine::new(neural.clone());
    let clip = Clip::new(ClipNorm::L2, 0.5).unwrap();
    let run = |inputs: &[f32], labels: &[u32]| {
        let batch = Batch::new(&neural, inputs, labels);
        fast.clipped_gradient_sum(&theta, &batch, clip, NonZeroUsize::MIN)
    };
    let features = neural.features();
    let without: Vec<f32> = [&inputs[..3 * features], &inputs[4 * features..]].concat();
    let expected = run(&without, &[&labels[..3], &labels[4..]].concat());
    for (place, value) in
        [(0, f32::NAN), (features - 1, f32::INFINITY), (7, f32::NEG_INFINITY), (9, -f32::NAN)]
    {
        let mut bad = inputs.clone();
        bad[3 * features + place] = value;
        let found = run(&bad, &labels);
        assert_eq!(found.dropped, 1);
        assert!(relative_error(&found.sum, &expected.sum) < 1e-6);
    }
    assert_eq!(run(&inputs, &labels).dropped, 0, "the control has no such record");
}

#[test]
fn parameters_that_are_not_finite_give_zero() {
    let (neural, mut dice) = (mixed(), Dice::new(8));
    let (inputs, labels) = images(&neural, 4, &mut dice);
    let fast = NeuralEngine::new(neural.clone());
    let clip = Clip::new(ClipNorm::L1, 0.5).unwrap();
    let batch = Batch::new(&neural, &inputs, &labels);
    let theta = vec![f64::NAN; neural.parameters()];
    let found = fast.clipped_gradient_sum(&theta, &batch, clip, NonZeroUsize::MIN);
    assert_eq!(found.dropped, 4);
    assert!(found.sum.iter().all(|x| x.abs() <= 0.0));
    let mean = fast.mean_gradient(&theta, &batch, NonZeroUsize::MIN);
    assert!(mean.iter().any(|x| x.is_nan()), "the control is not bounded");
}

fn norm(norm: ClipNorm, vector: impl Iterator<Item = f64>) -> f64 {
    match norm {
        ClipNorm::L1 => vector.map(f64::abs).sum(),
        ClipNorm::L2 => vector.map(|x| x * x).sum::<f64>().sqrt(),
    }
}

#[test]
fn one_record_never_weighs_more_than_the_bound() {
    let (neural, mut dice) = (mixed(), Dice::new(9));
    let fast = NeuralEngine::new(neural.clone());
    for trial in 0..60 {
        // Sizes from tiny to absurd, also of the parameters.
        let scale = 10_f32.powi(i32::try_from(dice.below(70)).unwrap() - 35);
        let stretch = 10_f64.powi(i32::try_from(dice.below(12)).unwrap() - 4);
        let theta: Vec<f64> = parameters(&neural, &mut dice).iter().map(|x| stretch * x).collect();
        let (mut inputs, labels) = images(&neural, 1, &mut dice);
        inputs.iter_mut().for_each(|x| *x *= scale);
        let batch = Batch::new(&neural, &inputs, &labels);
        let bound = 10_f64.powi(i32::try_from(dice.below(24)).unwrap() - 12);
        for kind in [ClipNorm::L1, ClipNorm::L2] {
            let clip = Clip::new(kind, bound).unwrap();
            let found = fast.clipped_gradient_sum(&theta, &batch, clip, NonZeroUsize::MIN);
            let size = norm(kind, found.sum.iter().copied());
            assert!(size <= bound, "trial {trial}: {size} above {bound}");
        }
    }
}

#[test]
fn replacing_a_record_moves_the_sum_by_at_most_twice_the_bound() {
    let (neural, mut dice) = (mixed(), Dice::new(10));
    let theta = parameters(&neural, &mut dice);
    let (mut inputs, mut labels) = images(&neural, 40, &mut dice);
    let fast = NeuralEngine::new(neural.clone());
    for kind in [ClipNorm::L1, ClipNorm::L2] {
        let bound = 0.01;
        let clip = Clip::new(kind, bound).unwrap();
        let sum = |inputs: &[f32], labels: &[u32]| {
            let batch = Batch::new(&neural, inputs, labels);
            fast.clipped_gradient_sum(&theta, &batch, clip, NonZeroUsize::MIN).sum
        };
        for place in [0, 15, 16, 39] {
            let before = sum(&inputs, &labels);
            labels[place] = (labels[place] + 1) % 3;
            inputs[place * neural.features()] += 1.0;
            let after = sum(&inputs, &labels);
            let moved = norm(kind, before.iter().zip(&after).map(|(a, b)| a - b));
            assert!(moved <= 2.0 * bound * (1.0 + Clip::ROUNDING));
            assert!(moved > 0.5 * bound, "the control: all records are clipped, so it moves");
        }
    }
}

#[test]
fn an_empty_batch_gives_zeros() {
    let neural = mixed();
    let theta = parameters(&neural, &mut Dice::new(1));
    let fast = NeuralEngine::new(neural.clone());
    let batch = Batch::new(&neural, &[], &[]);
    let mean = fast.mean_gradient(&theta, &batch, NonZeroUsize::MIN);
    assert!(mean.len() == neural.parameters() && mean.iter().all(|x| x.abs() <= 0.0));
    assert!(fast.predict(&theta, &[], NonZeroUsize::MIN).is_empty());
}

#[test]
fn a_clipped_sum_refuses_more_records_than_its_rounding_is_proven_for() {
    let neural = NeuralNetwork::new(NeuralSpec::mlp(1, &[], 2)).unwrap();
    let theta = vec![0.5; neural.parameters()];
    let fast = NeuralEngine::new(neural.clone());
    let clip = Clip::new(ClipNorm::L2, 1.0).unwrap();
    let records = Clip::RECORDS_MAX + 1;
    let (inputs, labels) = (vec![0.0; records], vec![0; records]);
    let batch = Batch::new(&neural, &inputs, &labels);
    assert!(panics(|| fast.clipped_gradient_sum(&theta, &batch, clip, NonZeroUsize::MIN)));
    assert!(!panics(|| fast.mean_gradient(&theta, &batch, NonZeroUsize::MIN)), "the control");
}

#[test]
fn nothing_private_is_shown() {
    let neural = mixed();
    let (inputs, labels) = images(&neural, 2, &mut Dice::new(1));
    let batch = Batch::new(&neural, &inputs, &labels);
    assert_eq!(format!("{batch:?}"), "Batch(records=2, <redacted>)");
}
