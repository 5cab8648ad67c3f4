//! Records in the layout of the fast tier.

use super::NeuralNetwork;
use super::checked::assert_length;
use std::fmt;

/// A batch of records whose size and labels fit a neural network.
///
/// Borrows the values: f32, record by record, channel by channel and row by row. They may be non-finite; see
/// [`NeuralEngine::clipped_gradient_sum`](super::NeuralEngine::clipped_gradient_sum).
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    inputs: &'a [f32],
    labels: &'a [u32],
}

impl<'a> Batch<'a> {
    /// A batch of records that were checked.
    ///
    /// # Panics
    /// When there are not `features` numbers for each label, or a label is not a class: bugs in the caller.
    #[must_use]
    pub fn new(neural: &NeuralNetwork, inputs: &'a [f32], labels: &'a [u32]) -> Batch<'a> {
        let expected = labels.len().saturating_mul(neural.features());
        assert_length("inputs of the batch", inputs.len(), expected);
        let classes = neural.classes();
        let are_classes = labels.iter().all(|&label| (label as usize) < classes);
        assert!(are_classes, "every label of the batch is one of {classes} classes");
        Batch { inputs, labels }
    }

    /// The number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there is no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    pub(crate) fn inputs(&self) -> &'a [f32] {
        self.inputs
    }

    pub(crate) fn labels(&self) -> &'a [u32] {
        self.labels
    }
}

/// Shows the size only: records are private.
impl fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch(records={}, <redacted>)", self.len())
    }
}
