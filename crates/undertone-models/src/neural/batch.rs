//! Records in the layout of the fast tier.

use super::checked::same_length;
use super::{NeuralError, NeuralNetwork};
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
    /// Checks a batch against a neural network.
    ///
    /// # Errors
    /// When there are not `features` numbers for each label, or a label is not a class.
    pub fn new(
        neural: &NeuralNetwork,
        inputs: &'a [f32],
        labels: &'a [u32],
    ) -> Result<Batch<'a>, NeuralError> {
        let expected = labels.len().saturating_mul(neural.features());
        same_length("inputs of the batch", inputs.len(), expected)?;
        let classes = neural.classes();
        let is_class = |&label: &u32| (label as usize) < classes;
        match labels.iter().position(|label| !is_class(label)) {
            Some(position) => Err(NeuralError::Label { position, classes }),
            None => Ok(Batch { inputs, labels }),
        }
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
