//! What one thread needs beside the parameters: a record's values and slopes, and a chunk's sum.

use super::aligned::Aligned;
use super::backward::{Entry, GROUP};
use super::lanes::{BLOCK, LANES};
use super::plan::{Kind, Plan};

/// The buffers of one thread.
pub(super) struct Scratch {
    /// What each step gets, then the logits. Padded to vectors; the padding stays zero.
    pub(super) values: Vec<Aligned>,
    /// The slopes of the loss in `values`.
    pub(super) slopes: Vec<Aligned>,
    /// For each step: where its maxima came from, −1 for none.
    pub(super) winners: Vec<Vec<i32>>,
    /// For each step: the padded input of a convolution with padding, and the slopes in it.
    pub(super) bordered: Vec<(Aligned, Aligned)>,
    /// Two rows of pixels before pooling.
    pub(super) band: Vec<[f32; BLOCK]>,
    /// Where the slopes of a convolution act.
    pub(super) entries: Vec<Entry>,
    /// One record's gradient, of convolutions only: that of dense layers is a product of two vectors.
    pub(super) gradient: Aligned,
    /// The sum over a chunk, packed.
    pub(super) sum: Aligned,
    /// The logits of a chunk.
    pub(super) logits: Vec<f32>,
    pub(super) clipped: usize,
    pub(super) dropped: usize,
}

impl Scratch {
    pub(super) fn new(plan: &Plan) -> Scratch {
        // Kernel rows are read in whole vectors, and the last may reach over the end by less than one.
        let room = |len: usize| Aligned::zeros(len.next_multiple_of(LANES) + LANES);
        let shapes = || plan.steps.iter().map(|step| step.input.count()).chain([plan.classes]);
        let bordered = plan.steps.iter().map(|step| match &step.kind {
            Kind::Conv(conv) if conv.padding > 0 => {
                (room(conv.padded.count()), room(conv.padded.count()))
            }
            _ => (Aligned::zeros(0), Aligned::zeros(0)),
        });
        let winners = plan.steps.iter().map(|step| match &step.kind {
            Kind::Conv(conv) if conv.pooled.is_some() => vec![-1; step.output.count() + GROUP],
            Kind::MaxPool { .. } => vec![0; step.output.count()],
            _ => Vec::new(),
        });
        let convolutions = || {
            plan.steps.iter().filter_map(|step| match &step.kind {
                Kind::Conv(conv) => Some(conv),
                _ => None,
            })
        };
        let pooled = convolutions().filter_map(|conv| conv.pooled);
        let band = pooled.map(|(_, columns)| 4 * columns).max().unwrap_or(0);
        let positions = convolutions().map(|conv| conv.positions());
        Scratch {
            values: shapes().map(room).collect(),
            slopes: shapes().map(room).collect(),
            winners: winners.collect(),
            bordered: bordered.collect(),
            band: vec![[0.0; BLOCK]; band],
            entries: vec![(0, 0.0); GROUP * positions.max().unwrap_or(0)],
            gradient: Aligned::zeros(plan.packed),
            sum: Aligned::zeros(plan.packed),
            logits: Vec::new(),
            clipped: 0,
            dropped: 0,
        }
    }
}
