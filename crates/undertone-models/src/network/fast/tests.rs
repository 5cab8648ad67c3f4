//! Every instruction set of this processor gives what the reference gives.

use super::instruction_set::InstructionSet;
use super::*;
use crate::network::{LayerSpec, NetworkSpec, Shape};

fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        f32::from(u16::try_from(state >> 48).unwrap()) / 32_768.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Kernel rows of all lengths that are handled apart, fused and not, with and without padding.
fn networks() -> Vec<Network> {
    let mut networks = Vec::new();
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
            networks.push(Network::new(NetworkSpec { input, classes: 3, layers }).unwrap());
        }
    }
    networks
}

#[test]
fn every_instruction_set_agrees_with_the_reference() {
    for (seed, network) in (1..).zip(networks()) {
        let wide = |values: &[f32]| values.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
        let mut uniform = wide(&numbers(network.parameters(), seed)).into_iter();
        let theta =
            network.initial_parameters(|| uniform.next().map(|x| (x + 1.0) / 2.0).ok_or(()));
        let theta = theta.unwrap();
        let inputs = numbers(network.features(), seed + 99);
        let label = network.one_hot(1).unwrap();
        let expected = network.gradient(&theta, &wide(&inputs), &label).unwrap();
        let norm = expected.iter().map(|x| x * x).sum::<f64>().sqrt();
        for set in InstructionSet::available() {
            let fast = FastNetwork::with(network.clone(), set);
            let batch = Batch::new(&network, &inputs, &[1]).unwrap();
            let found = fast.mean_gradient(&theta, &batch, NonZeroUsize::MIN).unwrap();
            let squares = found.iter().zip(&expected).map(|(a, b)| (a - b) * (a - b));
            let error = squares.sum::<f64>().sqrt() / norm;
            assert!(error < 1e-5, "{set:?} {error} {:?}", network.spec());
        }
    }
}

/// The same sums in the same order: a network of unlike machines can be computed again on any of them.
#[cfg(target_arch = "x86_64")]
#[test]
fn longer_vectors_change_no_bit() {
    let both = [InstructionSet::Avx2, InstructionSet::Avx512];
    if !both.iter().all(|set| InstructionSet::available().any(|has| has == *set)) {
        return;
    }
    let real = [NetworkSpec::mnist_cnn(), NetworkSpec::cifar10_cnn()].map(Network::new);
    for network in real.into_iter().map(Result::unwrap).chain(networks()) {
        let wide = |values: &[f32]| values.iter().map(|&x| 0.2 * f64::from(x)).collect::<Vec<_>>();
        let theta = wide(&numbers(network.parameters(), 5));
        let inputs = numbers(3 * network.features(), 7);
        let batch = Batch::new(&network, &inputs, &[0, 1, 2]).unwrap();
        let found = both.map(|set| {
            let fast = FastNetwork::with(network.clone(), set);
            fast.mean_gradient(&theta, &batch, NonZeroUsize::MIN).unwrap()
        });
        assert_eq!(found[0], found[1], "{:?}", network.spec());
    }
}

#[test]
fn there_is_always_an_instruction_set() {
    assert_eq!(InstructionSet::available().next(), Some(InstructionSet::Baseline));
    assert_eq!(InstructionSet::available().next_back(), Some(InstructionSet::best()));
}
