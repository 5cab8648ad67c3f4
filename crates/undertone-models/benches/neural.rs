//! Sums of clipped gradients of the convolutional neural network for MNIST.
//!
//! `cargo bench -p undertone-models --bench neural` first prints records per second for batches of 64 and
//! 256, then micro-benchmarks. `-- --rate BATCH THREADS SECONDS` prints one rate and how many records that
//! took, and stops: `bench-compare/run.sh cnn` puts it beside PyTorch and Opacus.

#![expect(clippy::print_stdout, reason = "a bench reports on standard output")]
#![allow(clippy::unwrap_used, reason = "a bench may stop at once")]

use divan::{Bencher, black_box};
use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::time::Instant;
use undertone_models::neural::{
    Batch, Clip, ClipNorm, NeuralEngine, NeuralNetwork, NeuralSpec, Shape,
};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(place) = arguments.iter().position(|argument| argument == "--rate") {
        let number = |k: usize| arguments[place + k].parse::<f64>().unwrap();
        let (batch, threads) = (number(1) as usize, number(2) as usize);
        let work = Work::new(mnist_cnn(), batch);
        let (rate, steps) = work.measure(threads, number(3), true);
        println!("{rate:.0} {}", steps * batch);
        return;
    }
    // In test mode the micro-benchmarks alone run, once each.
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    if has("--bench") && !has("--test") {
        report();
    }
    divan::main();
}

/// The convolutional neural networks of the presets: for MNIST, and for CIFAR-10.
fn cnns() -> [NeuralSpec; 2] {
    [(1, 28), (3, 32)]
        .map(|(channels, side)| NeuralSpec::cnn(Shape { channels, height: side, width: side }, 10))
}

fn mnist_cnn() -> NeuralSpec {
    let [mnist, _] = cnns();
    mnist
}

fn report() {
    println!("records per second, median of three seconds");
    for batch in [64, 256] {
        for (name, spec) in ["mnist-cnn", "cifar10-cnn"].into_iter().zip(cnns()) {
            let work = Work::new(spec, batch);
            for threads in [1, 2] {
                let (clipped, plain) =
                    (work.rate(threads, 3.0, true), work.rate(threads, 3.0, false));
                println!(
                    "{name} batch {batch} threads {threads}: clipped {clipped:.0}, as they are {plain:.0}"
                );
            }
        }
    }
}

struct Work {
    fast: NeuralEngine,
    theta: Vec<f64>,
    inputs: Vec<f32>,
    labels: Vec<u32>,
}

impl Work {
    fn new(spec: NeuralSpec, batch: usize) -> Work {
        let neural = NeuralNetwork::new(spec).unwrap();
        let mut state = 1_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let theta = neural.initial_parameters(|| Ok::<_, Infallible>(uniform())).unwrap();
        let inputs = (0..batch * neural.features()).map(|_| uniform() as f32).collect();
        let labels = (0..batch).map(|_| (uniform() * 10.0) as u32).collect();
        Work { fast: NeuralEngine::new(neural), theta, inputs, labels }
    }

    fn step(&self, threads: usize, clipped: bool) -> Vec<f64> {
        let batch = Batch::new(self.fast.neural(), &self.inputs, &self.labels);
        let threads = NonZeroUsize::new(threads).unwrap();
        if clipped {
            let clip = Clip::new(ClipNorm::L2, 1.0).unwrap();
            self.fast.clipped_gradient_sum(&self.theta, &batch, clip, threads).sum
        } else {
            self.fast.mean_gradient(&self.theta, &batch, threads)
        }
    }

    /// Records per second, by the median step.
    fn rate(&self, threads: usize, seconds: f64, clipped: bool) -> f64 {
        self.measure(threads, seconds, clipped).0
    }

    /// The same, and the number of steps.
    fn measure(&self, threads: usize, seconds: f64, clipped: bool) -> (f64, usize) {
        self.step(threads, clipped);
        let (start, mut times) = (Instant::now(), Vec::new());
        while start.elapsed().as_secs_f64() < seconds || times.len() < 5 {
            let begin = Instant::now();
            black_box(self.step(threads, clipped));
            times.push(begin.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        (self.labels.len() as f64 / times[times.len() / 2], times.len() + 1)
    }
}

#[divan::bench(args = [64, 256])]
fn mnist_clipped(bencher: Bencher<'_, '_>, batch: usize) {
    let work = Work::new(mnist_cnn(), batch);
    bencher.counter(divan::counter::ItemsCount::new(batch)).bench_local(|| work.step(1, true));
}

#[divan::bench(args = [64, 256])]
fn mnist_as_they_are(bencher: Bencher<'_, '_>, batch: usize) {
    let work = Work::new(mnist_cnn(), batch);
    bencher.counter(divan::counter::ItemsCount::new(batch)).bench_local(|| work.step(1, false));
}

#[divan::bench]
fn mnist_logits(bencher: Bencher<'_, '_>) {
    let work = Work::new(mnist_cnn(), 256);
    bencher
        .counter(divan::counter::ItemsCount::new(256_usize))
        .bench_local(|| work.fast.logits(&work.theta, &work.inputs, NonZeroUsize::MIN));
}
