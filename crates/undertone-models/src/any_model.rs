//! One type for all models.

use crate::neural::NeuralSpec;
use crate::neural_model::NeuralModel;
use crate::{DeclaredFault, Features, Model, RecordChecker, RecordError, SetupError};
use std::sync::Arc;
use undertone_core::{DataBounds, MemoryKind, ModelSpec};

/// A linear model or a neural network.
#[derive(Clone, Debug)]
pub enum AnyModel {
    /// A model that is linear in the parameters, or user-defined.
    Linear(Arc<Model>),
    /// A neural network.
    Neural(Arc<NeuralModel>),
}

/// The prediction for one record's features. Private: only for the owner of the model.
#[derive(Clone, PartialEq)]
pub enum Prediction {
    /// A number, for regression.
    Value(f64),
    /// A class: the smallest one of the most probable ones.
    Class {
        /// The class, from 0.
        class: usize,
        /// The probability of each class.
        probabilities: Vec<f64>,
    },
}

impl AnyModel {
    /// The model of a spec; the layers of a neural network are passed separately.
    ///
    /// # Errors
    /// When a setting is outside its range, or layers do not fit together.
    pub fn new(
        spec: ModelSpec,
        layers: Option<&NeuralSpec>,
        bounds: DataBounds,
    ) -> Result<AnyModel, SetupError> {
        Ok(match layers {
            Some(layers) => NeuralModel::new(layers.clone(), spec, bounds)?.into(),
            None => Model::new(spec, bounds)?.into(),
        })
    }

    /// The number n of parameters.
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.spec().parameters()
    }

    /// The specification of the model, without layers.
    #[must_use]
    pub fn spec(&self) -> &ModelSpec {
        match self {
            AnyModel::Linear(model) => model.spec(),
            AnyModel::Neural(model) => model.spec(),
        }
    }

    /// The linear model, unless it is a neural network.
    #[must_use]
    pub fn linear(&self) -> Option<&Arc<Model>> {
        match self {
            AnyModel::Linear(model) => Some(model),
            AnyModel::Neural(_) => None,
        }
    }

    /// Checks records for this model and a kind of memory; refuses every record above the bounds.
    #[must_use]
    pub fn record_checker(&self, memory: MemoryKind) -> RecordChecker {
        let bounds = match self {
            AnyModel::Linear(model) => model.record_bounds(),
            AnyModel::Neural(model) => model.record_bounds(),
        };
        RecordChecker::refusing(*bounds, memory)
    }

    /// The prediction at θ for features.
    ///
    /// # Errors
    /// When the features do not fit the model.
    ///
    /// # Panics
    /// If θ does not have one entry for each parameter.
    pub fn predict(&self, theta: &[f64], features: &Features) -> Result<Prediction, RecordError> {
        let probabilities = match self {
            AnyModel::Linear(model) => {
                model.record_bounds().check_features(features)?;
                match model.probabilities(theta, features) {
                    Some(probabilities) => probabilities,
                    None => return Ok(Prediction::Value(model.predict(theta, features))),
                }
            }
            AnyModel::Neural(model) => model.probabilities(theta, features)?,
        };
        let largest = probabilities.iter().copied().fold(f64::MIN, f64::max);
        let class = probabilities.iter().position(|&one| one >= largest).unwrap_or(0);
        Ok(Prediction::Class { class, probabilities })
    }

    /// The first fault of a user-defined loss. All results after it are invalid.
    #[must_use]
    pub fn declared_fault(&self) -> Option<DeclaredFault> {
        self.linear().and_then(|model| model.declared_fault())
    }

    /// The public bounds on records and parameters.
    #[must_use]
    pub fn bounds(&self) -> &DataBounds {
        match self {
            AnyModel::Linear(model) => model.bounds(),
            AnyModel::Neural(model) => model.bounds(),
        }
    }
}

impl From<Model> for AnyModel {
    fn from(model: Model) -> AnyModel {
        AnyModel::Linear(Arc::new(model))
    }
}

impl From<Arc<Model>> for AnyModel {
    fn from(model: Arc<Model>) -> AnyModel {
        AnyModel::Linear(model)
    }
}

impl From<NeuralModel> for AnyModel {
    fn from(model: NeuralModel) -> AnyModel {
        AnyModel::Neural(Arc::new(model))
    }
}
