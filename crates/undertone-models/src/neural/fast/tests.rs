//! Every instruction set of this processor agrees with the reference.

use super::*;
use crate::neural::{LayerSpec, NeuralSpec, Shape};

fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        f32::from(u16::try_from(state >> 48).unwrap()) / 32_768.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Kernel rows of every length with a special case, fused and not, with and without padding.
fn neurals() -> Vec<NeuralNetwork> {
    let mut neurals = Vec::new();
    for (channels, kernel, padding) in
        [(1, 5, 0), (1, 3, 0), (3, 5, 1), (3, 3, 0), (4, 3, 1), (7, 4, 0), (16, 5, 0), (24, 5, 2)]
    {
        let first = LayerSpec::Conv { channels: 3, kernel: 1, stride: 1, padding: 0 };
        let second = LayerSpec::Conv { channels: 18, kernel, stride: 1, padding };
        let strided = LayerSpec::Conv { channels: 18, kernel, stride: 2, padding };
        let (relu, pool) = (LayerSpec::Relu {}, LayerSpec::MaxPool { size: 2, stride: None });
        let dense = LayerSpec::Dense { outputs: 3 };
        let input = Shape { channels, height: 9, width: 8 };
        let tanh = LayerSpec::Tanh {};
        for layers in [
            vec![second, relu, pool, dense],
            vec![strided, relu, pool, dense],
            vec![second, tanh, dense],
            vec![
                LayerSpec::Conv { channels, kernel: 1, stride: 1, padding: 0 },
                second,
                relu,
                pool,
                dense,
            ],
            vec![first, second, relu, dense],
        ] {
            neurals.push(NeuralNetwork::new(NeuralSpec { input, classes: 3, layers }).unwrap());
        }
    }
    neurals
}

#[test]
fn every_instruction_set_agrees_with_the_reference() {
    for (seed, neural) in (1..).zip(neurals()) {
        let wide = |values: &[f32]| values.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
        let mut uniform = wide(&numbers(neural.parameters(), seed)).into_iter();
        let theta = neural.initial_parameters(|| uniform.next().map(|x| (x + 1.0) / 2.0).ok_or(()));
        let theta = theta.unwrap();
        let inputs = numbers(neural.features(), seed + 99);
        let label = neural.one_hot(1);
        let expected = neural.gradient(&theta, &wide(&inputs), &label);
        let norm = expected.iter().map(|x| x * x).sum::<f64>().sqrt();
        for set in InstructionSet::available() {
            let fast = NeuralEngine::with(neural.clone(), set);
            let batch = Batch::new(&neural, &inputs, &[1]);
            let found = fast.mean_gradient(&theta, &batch, NonZeroUsize::MIN);
            let squares = found.iter().zip(&expected).map(|(a, b)| (a - b) * (a - b));
            let error = squares.sum::<f64>().sqrt() / norm;
            assert!(error < 1e-5, "{set:?} {error} {:?}", neural.spec());
        }
    }
}

/// The same sums in the same order, so that a run can be reproduced on another machine.
#[cfg(target_arch = "x86_64")]
#[test]
fn longer_vectors_change_no_bit() {
    let both = [InstructionSet::Avx2, InstructionSet::Avx512];
    if !both.iter().all(|set| InstructionSet::available().any(|has| has == *set)) {
        return;
    }
    let real = [(1, 28), (3, 32)].map(|(channels, side)| {
        NeuralNetwork::new(NeuralSpec::cnn(Shape { channels, height: side, width: side }, 10))
    });
    for neural in real.into_iter().map(Result::unwrap).chain(neurals()) {
        let wide = |values: &[f32]| values.iter().map(|&x| 0.2 * f64::from(x)).collect::<Vec<_>>();
        let theta = wide(&numbers(neural.parameters(), 5));
        let inputs = numbers(3 * neural.features(), 7);
        let batch = Batch::new(&neural, &inputs, &[0, 1, 2]);
        let found = both.map(|set| {
            let fast = NeuralEngine::with(neural.clone(), set);
            fast.mean_gradient(&theta, &batch, NonZeroUsize::MIN)
        });
        assert_eq!(found[0], found[1], "{:?}", neural.spec());
    }
}
