//! The fast tier: batches in f32.
//!
//! A [`chunk`] has sixteen records, processed one after another by kernels for the processor's instruction set
//! ([`undertone_simd`]): convolutions forward in [`convolve`] and [`pooled`], backward in [`backward`] and [`taps`].
//! [`threads`] distributes chunks over threads and adds their sums in a fixed order. "Slopes" are the derivatives of the
//! loss in a layer's values; "gradients" are those in the parameters.

mod aligned;
mod backward;
mod chunk;
mod convolve;
mod packed;
mod pooled;
mod scratch;
mod smooth;
mod steps;
mod taps;
#[cfg(test)]
mod tests;
mod threads;
mod unfused;
mod vectors;

use super::checked::assert_length;
use super::{Batch, Clip, ClippedSum, NeuralNetwork};
use chunk::Task;
use packed::{Packed, unpack};
use std::fmt;
use std::num::NonZeroUsize;
use steps::Steps;
use threads::{Job, Outcome};
use undertone_simd::InstructionSet;

/// Values in a short vector, `F32x8`.
const LANES: usize = 8;

/// Values in a long vector, `F32x16`: the output channels of a convolution that are computed together.
const BLOCK: usize = 2 * LANES;

/// A neural network for batches: arithmetic in f32, parameters and sums in f64.
///
/// Results are bit-identical for any number of threads. Whether the processor fuses products and sums changes the last
/// digits of f32.
///
/// # Example
/// ```
/// use std::num::NonZeroUsize;
/// use undertone_models::neural::{Batch, Clip, ClipNorm, NeuralEngine, NeuralNetwork, NeuralSpec};
///
/// let fast = NeuralEngine::new(NeuralNetwork::new(NeuralSpec::mlp(2, &[3], 2))?);
/// let theta = vec![0.1; fast.neural().parameters()];
/// let batch = Batch::new(fast.neural(), &[0.5, -1.0, 0.25, 2.0], &[0, 1]);
/// let clip = Clip::new(ClipNorm::L2, 0.01)?;
/// let clipped = fast.clipped_gradient_sum(&theta, &batch, clip, NonZeroUsize::MIN);
/// let norm = clipped.sum.iter().map(|x| x * x).sum::<f64>().sqrt();
/// assert!(norm <= 2.0 * 0.01 * (1.0 + Clip::ROUNDING));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct NeuralEngine {
    neural: NeuralNetwork,
    steps: Steps,
    set: InstructionSet,
}

impl NeuralEngine {
    /// Prepares a neural network for the instruction set of this processor.
    #[must_use]
    pub fn new(neural: NeuralNetwork) -> NeuralEngine {
        NeuralEngine::with(neural, InstructionSet::best())
    }

    fn with(neural: NeuralNetwork, set: InstructionSet) -> NeuralEngine {
        NeuralEngine { steps: Steps::new(&neural), neural, set }
    }

    /// The neural network.
    #[must_use]
    pub fn neural(&self) -> &NeuralNetwork {
        &self.neural
    }

    /// The logits of records, class by class and record by record.
    ///
    /// # Panics
    /// When θ has the wrong length, or the inputs are not whole records: bugs in the caller.
    #[must_use]
    pub fn logits(&self, theta: &[f64], inputs: &[f32], threads: NonZeroUsize) -> Vec<f32> {
        let whole = inputs.len() - inputs.len() % self.neural.features();
        assert_length("inputs of the batch", inputs.len(), whole);
        self.run(theta, inputs, Task::Logits, threads).logits
    }

    /// The predicted class of each record: the smallest one of equal logits.
    ///
    /// # Panics
    /// When θ has the wrong length, or the inputs are not whole records: bugs in the caller.
    #[must_use]
    pub fn predict(&self, theta: &[f64], inputs: &[f32], threads: NonZeroUsize) -> Vec<u32> {
        let logits = self.logits(theta, inputs, threads);
        let largest = |logits: &[f32]| {
            let mut best = (0, f32::NEG_INFINITY);
            for (class, &logit) in (0_u32..).zip(logits) {
                if logit > best.1 {
                    best = (class, logit);
                }
            }
            best.0
        };
        logits.chunks_exact(self.neural.classes()).map(largest).collect()
    }

    /// The mean of the records' unclipped gradients; zeros for an empty batch.
    ///
    /// Not bounded, and NaN if one record's gradient is NaN: for evaluation, not for releases.
    ///
    /// # Panics
    /// When θ has the wrong length, or the batch is not of this neural network: bugs in the caller.
    #[must_use]
    pub fn mean_gradient(
        &self,
        theta: &[f64],
        batch: &Batch<'_>,
        threads: NonZeroUsize,
    ) -> Vec<f64> {
        let outcome = self.gradients(theta, batch, None, threads);
        #[expect(clippy::cast_precision_loss, reason = "batches are below 2⁵³")]
        let share = 1.0 / batch.len().max(1) as f64;
        self.unpacked(&outcome, share)
    }

    /// The sum of the records' gradients, each clipped: Σ min(1, bound/‖g‖)·g.
    ///
    /// A record whose features or gradient are not finite counts as zero, so that every record keeps the bound;
    /// [`ClippedSum::dropped`] counts them.
    ///
    /// # Guarantee
    /// Each record adds a vector whose norm is at most the bound. Replacing one record moves the sum by at
    /// most 2·bound·(1 + [`Clip::ROUNDING`]) in the clipping norm.
    ///
    /// # Panics
    /// When θ has the wrong length, the batch is not of this neural network, or it has more than
    /// [`Clip::RECORDS_MAX`] records: bugs in the caller, who computes several sums and adds them.
    #[must_use]
    pub fn clipped_gradient_sum(
        &self,
        theta: &[f64],
        batch: &Batch<'_>,
        clip: Clip,
        threads: NonZeroUsize,
    ) -> ClippedSum {
        assert!(batch.len() <= Clip::RECORDS_MAX, "the bound on rounding covers this many records");
        let outcome = self.gradients(theta, batch, Some(clip), threads);
        let sum = self.unpacked(&outcome, 1.0);
        ClippedSum { sum, clipped: outcome.clipped, dropped: outcome.dropped }
    }

    fn gradients(
        &self,
        theta: &[f64],
        batch: &Batch<'_>,
        clip: Option<Clip>,
        threads: NonZeroUsize,
    ) -> Outcome {
        // The batch may have been checked against another neural network.
        let batch = Batch::new(&self.neural, batch.inputs(), batch.labels());
        self.run(theta, batch.inputs(), Task::Gradients(batch.labels(), clip), threads)
    }

    fn run(&self, theta: &[f64], inputs: &[f32], task: Task<'_>, threads: NonZeroUsize) -> Outcome {
        self.neural.assert_fits(theta);
        let packed = Packed::new(&self.steps, theta);
        let job = Job { steps: &self.steps, packed: &packed, set: self.set, inputs, task };
        job.run(threads)
    }

    fn unpacked(&self, outcome: &Outcome, factor: f64) -> Vec<f64> {
        let mut flat = vec![0.0; self.neural.parameters()];
        unpack(&self.steps, &outcome.sum, factor, &mut flat);
        flat
    }
}

impl fmt::Debug for NeuralEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NeuralEngine(parameters={}, {:?})", self.neural.parameters(), self.set)
    }
}
