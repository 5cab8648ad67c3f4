//! Measures how fast this machine reads memory, which limits the speed of a network of many
//! learners.

use rayon::prelude::*;
use std::hint::black_box;
use std::time::Instant;

/// As much as the statistics of ten thousand learners with n = 112.
const BYTES: usize = 512 << 20;

/// Gigabytes a second that this many threads read together, from far more memory than the caches
/// hold.
pub(crate) fn gigabytes_a_second(threads: usize) -> f64 {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| {
        let values = vec![1.0_f64; BYTES / 8];
        // Several sums at once, so that memory is the limit and not the latency of an addition.
        let sum = |part: &[f64]| -> f64 {
            let mut sums = [0.0; 16];
            for chunk in part.chunks_exact(16) {
                sums.iter_mut().zip(chunk).for_each(|(sum, value)| *sum += value);
            }
            sums.iter().sum()
        };
        let read = || black_box(values.par_chunks(1 << 16).map(sum).sum::<f64>());
        read();
        let begin = Instant::now();
        let mut done = 0;
        while begin.elapsed().as_secs_f64() < 1.5 {
            read();
            done += 1;
        }
        f64::from(done) * BYTES as f64 / begin.elapsed().as_secs_f64() / 1e9
    })
}
