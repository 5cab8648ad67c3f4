//! Speed of the noise: `cargo bench -p undertone-core --bench noise`. One thread.

#![allow(missing_docs, reason = "a benchmark has no public interface")]

use std::hint::black_box;

use divan::Bencher;
use divan::counter::ItemsCount;
use undertone_core::noise::{Cipher, NoiseKind, Perturbation, StreamKey, perturb};

fn main() {
    divan::main();
}

const LENGTHS: [usize; 3] = [112, 1_000, 1_000_000];

fn bench(bencher: Bencher<'_, '_>, kind: NoiseKind, cipher: Cipher, length: usize) {
    let mechanism = Perturbation { kind, scale: 0.731_234_567, bound: 100.0 };
    let values: Vec<f64> = (0..length).map(|i| (i as f64 * 0.37).sin() * 3.0).collect();
    let mut out = vec![0.0; length];
    let mut round = 0_u64;
    bencher.counter(ItemsCount::new(length)).bench_local(|| {
        round += 1;
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&round.to_le_bytes());
        let key = StreamKey::new(cipher, bytes);
        perturb(black_box(&mechanism), black_box(&values), key, black_box(&mut out))
    });
}

#[divan::bench(args = LENGTHS)]
fn laplace_aes(bencher: Bencher<'_, '_>, length: usize) {
    bench(bencher, NoiseKind::Laplace, Cipher::Aes256Ctr, length);
}

#[divan::bench(args = LENGTHS)]
fn laplace_chacha(bencher: Bencher<'_, '_>, length: usize) {
    bench(bencher, NoiseKind::Laplace, Cipher::ChaCha20, length);
}

#[divan::bench(args = LENGTHS)]
fn gaussian_aes(bencher: Bencher<'_, '_>, length: usize) {
    bench(bencher, NoiseKind::Gaussian, Cipher::Aes256Ctr, length);
}

#[divan::bench(args = LENGTHS)]
fn gaussian_chacha(bencher: Bencher<'_, '_>, length: usize) {
    bench(bencher, NoiseKind::Gaussian, Cipher::ChaCha20, length);
}

/// The textbook sampler, for comparison only: not private, and even so slower. Its generator is a
/// few operations of splitmix64, so the time is that of the logarithm.
#[divan::bench(args = LENGTHS)]
fn naive_laplace_not_private(bencher: Bencher<'_, '_>, length: usize) {
    let values: Vec<f64> = (0..length).map(|i| (i as f64 * 0.37).sin() * 3.0).collect();
    let mut out = vec![0.0; length];
    let mut state = 1_u64;
    bencher.counter(ItemsCount::new(length)).bench_local(|| {
        for (value, out) in values.iter().zip(black_box(&mut out)) {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let uniform = (word >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
            *out = value - 0.731 * uniform.signum() * (1.0 - 2.0 * uniform.abs()).ln();
        }
    });
}
