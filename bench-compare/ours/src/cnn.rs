//! Gradients of the convolutional neural network for MNIST.

use crate::{median, unit};
use std::convert::Infallible;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::Instant;
use undertone_models::neural::{Batch, Clip, ClipNorm, NeuralEngine, NeuralNetwork, NeuralSpec, Shape};

/// The approximate length of a measurement, as for the other systems.
const SECONDS: f64 = 2.0;

/// Records a second by the median step; each record's gradient clipped to norm 1, or the mean of them as they are.
pub(crate) fn records(clipped: bool, batch: usize, threads: usize) -> f64 {
    let network = NeuralNetwork::new(NeuralSpec::cnn(Shape { channels: 1, height: 28, width: 28 }, 10)).expect("a network");
    let mut state = 1_u64;
    let mut uniform = || unit(&mut state);
    let theta = network.initial_parameters(|| Ok::<_, Infallible>(uniform())).expect("parameters");
    let inputs: Vec<f32> = (0..batch * network.features()).map(|_| uniform() as f32).collect();
    let labels: Vec<u32> = (0..batch).map(|_| (uniform() * 10.0) as u32).collect();
    let fast = NeuralEngine::new(network);
    let threads = NonZeroUsize::new(threads).expect("at least one thread");
    let step = || {
        let batch = Batch::new(fast.neural(), &inputs, &labels);
        if clipped {
            let clip = Clip::new(ClipNorm::L2, 1.0).expect("a bound");
            fast.clipped_gradient_sum(&theta, &batch, clip, threads).sum
        } else {
            fast.mean_gradient(&theta, &batch, threads)
        }
    };
    step();
    let (start, mut times) = (Instant::now(), Vec::new());
    while start.elapsed().as_secs_f64() < SECONDS || times.len() < 5 {
        let begin = Instant::now();
        black_box(step());
        times.push(begin.elapsed().as_secs_f64());
    }
    batch as f64 / median(times)
}
