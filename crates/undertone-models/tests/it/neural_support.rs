//! Random neural networks, and one way to compare vectors.

use crate::support::Dice;
use undertone_models::neural::{LayerSpec, NeuralNetwork, NeuralSpec, Shape};

/// ‖found − expected‖/‖expected‖, or infinity for vectors that cannot be compared.
pub(crate) fn relative_error(found: &[f64], expected: &[f64]) -> f64 {
    if found.len() != expected.len() || found.iter().any(|x| !x.is_finite()) {
        return f64::INFINITY;
    }
    let difference = found.iter().zip(expected).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    difference / expected.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-30)
}

/// Parameters to start from, by chance.
pub(crate) fn parameters(neural: &NeuralNetwork, dice: &mut Dice) -> Vec<f64> {
    neural.initial_parameters(|| Ok::<_, std::convert::Infallible>(dice.unit())).unwrap()
}

/// So many numbers from −1 to 1.
pub(crate) fn numbers(count: usize, dice: &mut Dice) -> Vec<f64> {
    (0..count).map(|_| 2.0 * dice.unit() - 1.0).collect()
}

/// The numbers as the fast tier reads them, and these as f64, so that both tiers see the same.
pub(crate) fn narrowed(numbers: &[f64]) -> (Vec<f32>, Vec<f64>) {
    #[expect(clippy::cast_possible_truncation, reason = "on purpose")]
    let narrow: Vec<f32> = numbers.iter().map(|&x| x as f32).collect();
    let wide = narrow.iter().map(|&x| f64::from(x)).collect();
    (narrow, wide)
}

/// Which layers a random neural network may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Layers {
    /// Any.
    All,
    /// Only those that are smooth everywhere.
    Smooth,
}

/// A small random neural network whose shapes fit.
pub(crate) fn random_neural(dice: &mut Dice, kinds: Layers) -> NeuralNetwork {
    loop {
        let size = |dice: &mut Dice, least: u64, most: u64| {
            usize::try_from(least + dice.below(most - least + 1)).unwrap()
        };
        let input =
            Shape { channels: size(dice, 1, 3), height: size(dice, 1, 9), width: size(dice, 1, 9) };
        let classes = size(dice, 2, 5);
        let mut layers: Vec<LayerSpec> =
            (0..dice.below(6)).map(|_| random_layer(dice, kinds)).collect();
        layers.push(LayerSpec::Dense { outputs: classes });
        // Finite differences run the neural network once or twice for each number.
        let limit = if kinds == Layers::All { usize::MAX } else { 250 };
        match NeuralNetwork::new(NeuralSpec { input, classes, layers }) {
            Ok(neural) if neural.parameters() <= limit => return neural,
            _ => {}
        }
    }
}

fn random_layer(dice: &mut Dice, kinds: Layers) -> LayerSpec {
    let size = |dice: &mut Dice, most: u64| usize::try_from(1 + dice.below(most)).unwrap();
    let rough = if kinds == Layers::All { 9 } else { 6 };
    match dice.below(rough) {
        0 | 1 => {
            let kernel = size(dice, 5);
            let padding = usize::try_from(dice.below(kernel as u64)).unwrap();
            let (channels, stride) = (size(dice, 20), size(dice, 2));
            LayerSpec::Conv { channels, kernel, stride, padding }
        }
        2 => LayerSpec::Tanh {},
        3 => LayerSpec::Sigmoid {},
        4 => LayerSpec::AveragePool { size: size(dice, 3), stride: Some(size(dice, 3)) },
        5 => LayerSpec::Dense { outputs: size(dice, 9) },
        6 | 7 => LayerSpec::Relu {},
        _ => LayerSpec::MaxPool { size: size(dice, 3), stride: None },
    }
}

/// The convolutional neural networks of the presets: for MNIST, and for CIFAR-10.
pub(crate) fn cnns() -> [NeuralSpec; 2] {
    [(1, 28), (3, 32)]
        .map(|(channels, side)| NeuralSpec::cnn(Shape { channels, height: side, width: side }, 10))
}
