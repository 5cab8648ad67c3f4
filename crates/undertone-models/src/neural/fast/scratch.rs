//! The buffers of one thread: a record's values and slopes, and a chunk's sum.

use super::aligned::Aligned;
use super::backward::Entry;
use super::steps::{Kind, Steps};
use super::{BLOCK, LANES};

/// The buffers of one thread.
pub(super) struct Scratch {
    /// The input of each step, then the logits. Padded to vectors; the padding stays zero.
    pub(super) values: Vec<Aligned>,
    /// The slopes of the loss in `values`.
    pub(super) slopes: Vec<Aligned>,
    /// For each step: the input index of each maximum, −1 for none.
    pub(super) argmax: Vec<Vec<i32>>,
    /// For each step: the padded input of a convolution with padding, and the slopes in it.
    pub(super) padded_inputs: Vec<(Aligned, Aligned)>,
    /// The slopes of one channel of a convolution, with their input positions.
    pub(super) entries: Vec<Entry>,
    /// One record's gradient, for convolutions only: that of a dense layer is a product of two vectors.
    pub(super) gradient: Aligned,
    /// The sum over a chunk, packed.
    pub(super) sum: Aligned,
    /// The logits of a chunk.
    pub(super) logits: Vec<f32>,
    pub(super) clipped: usize,
    pub(super) dropped: usize,
}

impl Scratch {
    pub(super) fn new(steps: &Steps) -> Scratch {
        // Kernel rows and blocks of channels are read in whole vectors; the last one may end after the last value.
        let padded = |len: usize| Aligned::zeros(len.next_multiple_of(LANES) + BLOCK);
        let shapes = || steps.steps.iter().map(|step| step.input.count()).chain([steps.classes]);
        let padded_inputs = steps.steps.iter().map(|step| match &step.kind {
            Kind::Conv(conv) if conv.padding > 0 => {
                (padded(conv.padded.count()), padded(conv.padded.count()))
            }
            Kind::Conv(_)
            | Kind::Relu
            | Kind::Tanh
            | Kind::Sigmoid
            | Kind::MaxPool { .. }
            | Kind::AveragePool { .. }
            | Kind::Dense(_) => (Aligned::zeros(0), Aligned::zeros(0)),
        });
        let argmax = steps.steps.iter().map(|step| match &step.kind {
            Kind::Conv(conv) if conv.pooled.is_some() => vec![-1; step.output.count() + BLOCK],
            Kind::MaxPool { .. } => vec![0; step.output.count()],
            Kind::Conv(_)
            | Kind::Relu
            | Kind::Tanh
            | Kind::Sigmoid
            | Kind::AveragePool { .. }
            | Kind::Dense(_) => Vec::new(),
        });
        let convolutions = || {
            steps.steps.iter().filter_map(|step| match &step.kind {
                Kind::Conv(conv) => Some(conv),
                Kind::Relu
                | Kind::Tanh
                | Kind::Sigmoid
                | Kind::MaxPool { .. }
                | Kind::AveragePool { .. }
                | Kind::Dense(_) => None,
            })
        };
        let positions = convolutions().map(|conv| conv.positions());
        Scratch {
            values: shapes().map(padded).collect(),
            slopes: shapes().map(padded).collect(),
            argmax: argmax.collect(),
            padded_inputs: padded_inputs.collect(),
            entries: vec![0; positions.max().unwrap_or(0)],
            gradient: Aligned::zeros(steps.packed),
            sum: Aligned::zeros(steps.packed),
            logits: Vec::new(),
            clipped: 0,
            dropped: 0,
        }
    }
}
