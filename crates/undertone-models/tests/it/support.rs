//! Random models, records and parameters from one seed.

use std::sync::Arc;
use undertone_core::{DataBounds, Loss, MemoryKind, ModelSpec};
use undertone_models::{BoundedRecord, Features, Model, PublicRandom, Record};

pub(crate) const LOSSES: [Loss; 6] = [
    Loss::Squared,
    Loss::Power { degree: 4 },
    Loss::Power { degree: 6 },
    Loss::Huber { threshold: 0.7 },
    Loss::Logistic,
    Loss::Softmax { classes: 3 },
];

/// What the data of tests are drawn from.
pub(crate) struct Dice(PublicRandom);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(PublicRandom::new(seed))
    }

    /// Uniform in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0.next_u64() % limit
    }

    /// About normal, with variance 1.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// A vector of random direction and the given norm.
    pub(crate) fn direction(&mut self, n: usize, norm: f64) -> Vec<f64> {
        let mut vector: Vec<f64> = (0..n).map(|_| self.normal() + 1e-9).collect();
        let length = norm_of(&vector);
        vector.iter_mut().for_each(|x| *x *= norm / length);
        vector
    }

    /// A record within the bounds, often on them.
    pub(crate) fn record(&mut self, model: &Model) -> Record {
        let (spec, bounds) = (model.spec(), model.bounds());
        let share = if self.below(2) == 0 { 1.0 } else { self.unit() };
        let mut features =
            Features::Dense(self.direction(spec.features, bounds.feature_norm * share).into());
        features.clip_norm(bounds.feature_norm);
        Record { features, label: self.label(model) }
    }

    /// Like `record`, with about a third of the coordinates, in the sparse form.
    pub(crate) fn sparse_record(&mut self, model: &Model) -> Record {
        let dimension = u32::try_from(model.spec().features).unwrap();
        let indices: Vec<u32> = (0..dimension).filter(|_| self.below(3) == 0).collect();
        let norm = model.bounds().feature_norm;
        let values = if indices.is_empty() { vec![] } else { self.direction(indices.len(), norm) };
        let mut features =
            Features::Sparse { dimension, indices: indices.into(), values: values.into() };
        features.clip_norm(norm);
        Record { features, label: self.label(model) }
    }

    fn label(&mut self, model: &Model) -> f64 {
        let classes = match model.spec().loss {
            Loss::Logistic => 2,
            Loss::Softmax { classes } => classes,
            Loss::Squared
            | Loss::Power { .. }
            | Loss::Huber { .. }
            | Loss::Neural { .. }
            | Loss::Declared { .. } => return model.bounds().label * (2.0 * self.unit() - 1.0),
        };
        f64::from(u32::try_from(self.below(classes.into())).unwrap())
    }

    /// Parameters in Θ.
    pub(crate) fn theta(&mut self, model: &Model) -> Vec<f64> {
        let norm = model.bounds().radius * self.unit() * (1.0 - 1e-12);
        self.direction(model.parameters(), norm)
    }
}

pub(crate) fn spec(loss: Loss, features: usize) -> ModelSpec {
    ModelSpec { loss, features, degree: 1, ridge: 0.1, lasso: 0.0, clip: f64::INFINITY }
}

pub(crate) fn model(loss: Loss, features: usize) -> Arc<Model> {
    let bounds = DataBounds { feature_norm: 1.5, label: 1.0, radius: 2.0 };
    Arc::new(Model::new(spec(loss, features), bounds).unwrap())
}

/// Records for any memory but the recursive one.
pub(crate) fn checked(model: &Model, records: &[Record]) -> Vec<BoundedRecord> {
    let checker = model.record_checker(MemoryKind::Exact);
    records.iter().map(|record| checker.check(record.clone()).unwrap()).collect()
}

pub(crate) fn dense_form(record: &Record) -> Record {
    let mut values = vec![0.0; record.features.dimension()];
    record.features.add_scaled_to(1.0, &mut values);
    Record { features: Features::Dense(values.into()), label: record.label }
}

pub(crate) fn norm_of(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

pub(crate) fn distance(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}
