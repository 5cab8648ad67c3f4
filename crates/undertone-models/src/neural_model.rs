//! A neural network as a model: scores records, and computes their gradients.

use crate::neural::{Batch, Clip, ClipNorm, NeuralEngine, NeuralNetwork, NeuralSpec};
use crate::record_bounds::RecordBounds;
use crate::{BoundedRecord, Features, RecordError, SetupError};
use std::num::NonZeroUsize;
use undertone_core::persist::{Fields, Persist};
use undertone_core::{DataBounds, Loss, ModelSpec, Score};

/// A neural network with its data bounds and the bound on each record's gradient.
#[derive(Debug)]
pub struct NeuralModel {
    engine: NeuralEngine,
    spec: ModelSpec,
    bounds: DataBounds,
    record_bounds: RecordBounds,
    clip: Clip,
}

/// Records in the layout of the engine.
///
/// **Private**: has no `Debug`.
#[derive(Clone, Default)]
pub(crate) struct PackedRecords {
    inputs: Vec<f32>,
    labels: Vec<u32>,
}

impl PackedRecords {
    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    pub(crate) fn append(&mut self, other: &mut PackedRecords) {
        self.inputs.append(&mut other.inputs);
        self.labels.append(&mut other.labels);
    }

    /// Drops the oldest records.
    pub(crate) fn drop_first(&mut self, records: usize, features: usize) {
        self.labels.drain(..records);
        self.inputs.drain(..records * features);
    }
}

/// Threads of one learner: learners run in parallel, so each uses one.
const THREADS: NonZeroUsize = NonZeroUsize::MIN;

impl NeuralModel {
    /// A neural network under public bounds; `spec.clip` bounds each record's gradient.
    ///
    /// # Errors
    /// When the layers do not fit together or to the spec, or the clipping bound is out of range.
    pub fn new(
        layers: NeuralSpec,
        spec: ModelSpec,
        bounds: DataBounds,
    ) -> Result<NeuralModel, SetupError> {
        let neural = NeuralNetwork::new(layers)?;
        let Loss::Neural { classes, parameters } = spec.loss else {
            return Err(SetupError::NoLayers);
        };
        let fits = parameters == neural.parameters()
            && classes as usize == neural.classes()
            && spec.features == neural.features();
        if !fits {
            return Err(SetupError::NoLayers);
        }
        let clip = Clip::new(ClipNorm::L2, spec.clip)?;
        let record_bounds = RecordBounds::new(&spec, &bounds)?;
        Ok(NeuralModel { engine: NeuralEngine::new(neural), spec, bounds, record_bounds, clip })
    }

    /// The neural network itself.
    #[must_use]
    pub fn neural(&self) -> &NeuralNetwork {
        self.engine.neural()
    }

    /// The specification of the model, without layers.
    #[must_use]
    pub fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    /// The public bounds on records and parameters.
    #[must_use]
    pub fn bounds(&self) -> &DataBounds {
        &self.bounds
    }

    pub(crate) fn record_bounds(&self) -> &RecordBounds {
        &self.record_bounds
    }

    /// Scores a batch and appends it to `pending`.
    pub(crate) fn observe(
        &self,
        theta: &[f64],
        batch: &[BoundedRecord],
        pending: &mut PackedRecords,
    ) -> Score {
        let mut packed = self.pack(batch);
        let score = self.score(theta, &packed);
        pending.append(&mut packed);
        score
    }

    fn pack(&self, batch: &[BoundedRecord]) -> PackedRecords {
        let mut packed = PackedRecords::default();
        for record in batch {
            record.assert_keeps_to(&self.record_bounds);
            self.pack_features(record.features(), &mut packed.inputs);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a class was checked to be a small whole number"
            )]
            packed.labels.push(record.label() as u32);
        }
        packed
    }

    fn pack_features(&self, features: &Features, inputs: &mut Vec<f32>) {
        let start = inputs.len();
        inputs.resize(start + self.spec.features, 0.0);
        for (index, value) in features.entries() {
            #[expect(clippy::cast_possible_truncation, reason = "the engine computes in f32")]
            let value = value as f32;
            inputs[start + index] = value;
        }
    }

    /// The probability of each class.
    ///
    /// # Errors
    /// When the features do not fit the neural network.
    ///
    /// # Panics
    /// If θ does not have one entry for each parameter.
    pub fn probabilities(
        &self,
        theta: &[f64],
        features: &Features,
    ) -> Result<Vec<f64>, RecordError> {
        self.record_bounds.check_features(features)?;
        let mut inputs = Vec::new();
        self.pack_features(features, &mut inputs);
        let logits = self.engine.logits(theta, &inputs, THREADS);
        let largest = logits.iter().copied().fold(f32::MIN, f32::max);
        let scores: Vec<f64> = logits.iter().map(|&one| f64::from(one - largest).exp()).collect();
        let sum: f64 = scores.iter().sum();
        Ok(scores.into_iter().map(|score| score / sum).collect())
    }

    /// The score of θ on records.
    ///
    /// # Panics
    /// If θ does not have one entry for each parameter.
    pub(crate) fn score(&self, theta: &[f64], records: &PackedRecords) -> Score {
        let classes = self.neural().classes();
        let logits = self.engine.logits(theta, &records.inputs, THREADS);
        let mut score = Score::default();
        for (logits, &label) in logits.chunks_exact(classes).zip(&records.labels) {
            let label = label as usize;
            let largest = logits.iter().copied().fold(f32::MIN, f32::max);
            let sum: f64 = logits.iter().map(|&logit| f64::from(logit - largest).exp()).sum();
            score.records += 1;
            score.loss_sum += sum.ln() - f64::from(logits[label] - largest);
            let predicted = logits.iter().position(|&logit| logit >= largest);
            score.correct += u64::from(predicted == Some(label));
        }
        score
    }

    /// The sum of the gradients of records at θ, each clipped.
    ///
    /// # Panics
    /// If θ does not have one entry for each parameter.
    pub(crate) fn gradient_sum(&self, theta: &[f64], records: &PackedRecords) -> Vec<f64> {
        assert_eq!(theta.len(), self.neural().parameters(), "θ has one entry for each parameter");
        let features = self.spec.features;
        let mut total = vec![0.0; theta.len()];
        let inputs = records.inputs.chunks(features * CHUNK);
        for (inputs, labels) in inputs.zip(records.labels.chunks(CHUNK)) {
            // Lengths and labels were checked when the records arrived.
            let batch = Batch::new(self.neural(), inputs, labels);
            let clipped = self.engine.clipped_gradient_sum(theta, &batch, self.clip, THREADS);
            for (slot, value) in total.iter_mut().zip(clipped.sum) {
                *slot += value;
            }
        }
        total
    }
}

/// Records per sum of the engine, limited by its bound on rounding.
const CHUNK: usize = Clip::RECORDS_MAX;

impl Persist for PackedRecords {
    fn visit(&mut self, fields: &mut dyn Fields) {
        fields.whole_numbers(&mut self.labels);
        let length = fields.length(self.inputs.len(), 4);
        self.inputs.resize(length, 0.0);
        for value in &mut self.inputs {
            let mut bytes = value.to_bits().to_le_bytes();
            fields.bytes(&mut bytes);
            *value = f32::from_bits(u32::from_le_bytes(bytes));
        }
    }
}
