//! Builds a learner on a stream from a few numbers. Everything else has a default, which is tested
//! here.

use crate::declaration::{DECLARATION_SAMPLES, DeclarationError, check_declaration};
use crate::learner_file::{LearnerFileError, SavedLearner};
use crate::load::{LoadError, Strictness, check_agreement};
use crate::online::{OnlineError, OnlineLearner};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;
use undertone_core::ModelSpec;
use undertone_core::agreement::{
    Agreement, OneOrEach, RawAgreement, RawBounds, RawMemory, RawModel, RawNetwork, RawNoise,
    RawParameters, RawPrivacy, RawRecords, RawSchedule,
};
use undertone_core::noise::{Entropy, OsEntropy};
use undertone_models::{DeclaredLoss, Setup, SetupError};

/// The settings of a learner without neighbours. The privacy numbers have no defaults.
///
/// ```
/// use undertone::LearnerBuilder;
///
/// let mut learner = LearnerBuilder::new(2, 4.0, 1e-6).classes(2).build()?;
/// for k in 0..1000u32 {
///     let x = f64::from(k % 10) / 10.0;
///     learner.learn(&[x, 1.0 - x], f64::from(u8::from(x > 0.5)))?;
/// }
/// assert!(learner.accountant().epsilon(1e-6) <= 4.0);
/// let published = learner.public_model().values();
/// # assert_eq!(published.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LearnerBuilder {
    /// How many features a record has.
    pub features: usize,
    /// The most that the learner may ever spend.
    pub epsilon: f64,
    /// At this δ.
    pub delta: f64,
    /// The label: a class, or a number.
    pub label: Label,
    /// The loss, by its name in a config. By default it follows from the label: logistic, softmax
    /// or huber.
    pub loss: Option<String>,
    /// A user-defined loss.
    pub own_loss: Option<OwnLoss>,
    /// Records with larger features are scaled to this norm.
    pub feature_norm: f64,
    /// Whether all records are scaled to that norm.
    pub normalise: bool,
    /// Whether a constant feature is added.
    pub intercept: bool,
    /// Records a round.
    pub batch: u64,
    /// How many rounds' records are remembered.
    pub window: u64,
    /// Records collected before the first round. By default those of all rounds of a window but
    /// one.
    pub warmup: Option<u64>,
    /// Parameters stay in a ball of this radius.
    pub radius: f64,
    /// The weight r of (r/2)‖θ‖².
    pub ridge: f64,
    /// The slope of a record's loss is cut to this.
    pub clip: Option<f64>,
    /// The first step; 4/L by default.
    pub step: Option<f64>,
    /// Steps shrink as (t+1) to the power of minus this.
    pub step_exponent: f64,
    /// For how many rounds the budget must last; for ever by default.
    pub rounds: Option<u64>,
}

/// The kind of a record's label.
#[derive(Clone, Debug, PartialEq)]
pub enum Label {
    /// A class, by name, or by number from 0 if the classes have no names.
    Classes {
        /// How many.
        count: u32,
        /// Their names, if they have any.
        names: Option<Vec<String>>,
    },
    /// A number with at most this absolute value.
    Number {
        /// The bound. A missing bound is reported with all other faults.
        bound: Option<f64>,
    },
}

/// A user-defined loss: what is declared of it, and the function.
#[derive(Clone)]
pub struct OwnLoss {
    /// What is declared of it.
    pub declared: Declared,
    /// The function. Without it the learner has a budget and does not run.
    pub function: Option<Arc<dyn DeclaredLoss>>,
}

/// What is declared of a user-defined loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Declared {
    /// How many parameters.
    pub parameters: usize,
    /// The largest norm of a record's gradient; larger ones are cut to it.
    pub gradient_norm: f64,
    /// L, if known.
    pub smoothness: Option<f64>,
    /// μ, if known.
    pub strong_convexity: Option<f64>,
    /// C, if known to be less than twice the gradient norm.
    pub gradient_spread: Option<f64>,
}

/// Why there is no learner.
#[derive(Debug, Error)]
pub enum BuildError {
    /// Settings are wrong or missing.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// No noise meets the budget, or model and memory do not fit.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// What is declared of a user-defined loss is not true of it.
    #[error(transparent)]
    Declaration(#[from] DeclarationError),
    /// The learner cannot begin.
    #[error(transparent)]
    Online(#[from] OnlineError),
    /// The learner cannot be taken out of its file.
    #[error(transparent)]
    File(#[from] LearnerFileError),
}

impl LearnerBuilder {
    /// Settings for records with this many features and two classes, and a budget for ever.
    #[must_use]
    pub fn new(features: usize, epsilon: f64, delta: f64) -> LearnerBuilder {
        LearnerBuilder {
            features,
            epsilon,
            delta,
            label: Label::Classes { count: 2, names: None },
            loss: None,
            own_loss: None,
            feature_norm: 1.0,
            normalise: false,
            intercept: true,
            batch: 32,
            window: 8,
            warmup: None,
            radius: 20.0,
            ridge: 0.0,
            clip: None,
            step: None,
            step_exponent: 0.4,
            rounds: None,
        }
    }

    /// The label is one of this many classes, numbered from 0.
    #[must_use]
    pub fn classes(self, count: u32) -> LearnerBuilder {
        LearnerBuilder { label: Label::Classes { count, names: None }, ..self }
    }

    /// The label is a number with at most this absolute value.
    #[must_use]
    pub fn label_bound(self, bound: f64) -> LearnerBuilder {
        LearnerBuilder { label: Label::Number { bound: Some(bound) }, ..self }
    }

    /// The loss is a user-defined function. The label is a number: see [`label_bound`](Self::label_bound).
    ///
    /// What is declared of the function is tried on random points and records before the learner begins.
    #[must_use]
    pub fn own_loss(
        self,
        declared: Declared,
        function: impl DeclaredLoss + 'static,
    ) -> LearnerBuilder {
        let own = OwnLoss { declared, function: Some(Arc::new(function)) };
        LearnerBuilder { own_loss: Some(own), ..self }
    }

    /// The agreement of a network of one that these settings ask for.
    #[must_use]
    pub fn agreement(&self) -> RawAgreement {
        let mut raw = self.with_step(self.step.unwrap_or(1.0));
        if self.step.is_none() {
            raw.schedule.step = Some(4.0 / self.smoothness(&raw));
        }
        raw
    }

    /// The agreement with this first step.
    fn with_step(&self, step: f64) -> RawAgreement {
        let names = match &self.label {
            Label::Classes { names, .. } => names.clone(),
            Label::Number { .. } => None,
        };
        let label = match self.label {
            Label::Classes { .. } => None,
            Label::Number { bound } => bound,
        };
        RawAgreement {
            name: Some("learner".into()),
            method: Some("shielded".into()),
            unproven: None,
            network: RawNetwork {
                learners: Some(1),
                topology: Some("alone".into()),
                ..RawNetwork::default()
            },
            records: RawRecords {
                classes: names,
                intercept: Some(self.intercept),
                normalise: Some(self.normalise),
                batch: Some(self.batch),
                // Until a window is full its records have more weight, and would pay more than all
                // later ones.
                warmup: Some(
                    self.warmup.unwrap_or(self.window.saturating_sub(1).saturating_mul(self.batch)),
                ),
                ..RawRecords::default()
            },
            bounds: RawBounds {
                feature_norm: Some(self.feature_norm),
                label,
                out_of_bounds: Some("scale".into()),
            },
            model: self.model(),
            parameters: RawParameters {
                set: Some("ball".into()),
                radius: Some(self.radius),
                ..RawParameters::default()
            },
            memory: RawMemory {
                kind: Some("window".into()),
                window: Some(self.window),
                ..RawMemory::default()
            },
            schedule: RawSchedule {
                step: Some(step),
                step_exponent: Some(self.step_exponent),
                coupling: Some(1.0),
                coupling_exponent: Some(0.0),
                ..RawSchedule::default()
            },
            noise: RawNoise {
                kind: Some("gaussian".into()),
                exponent: Some(OneOrEach::One(0.0)),
                calibrate: Some(if self.rounds.is_none() { "lifetime" } else { "rounds" }.into()),
                rounds: self.rounds,
                ..RawNoise::default()
            },
            privacy: RawPrivacy {
                epsilon: Some(OneOrEach::One(self.epsilon)),
                delta: Some(self.delta),
                ..RawPrivacy::default()
            },
        }
    }

    fn declared(&self) -> Option<Declared> {
        self.own_loss.as_ref().map(|own| own.declared)
    }

    fn loss_name(&self) -> &str {
        match (&self.loss, &self.label) {
            (Some(name), _) => name,
            (None, Label::Number { .. }) => "huber",
            (None, Label::Classes { count: 2, .. }) => "logistic",
            (None, Label::Classes { .. }) => "softmax",
        }
    }

    fn model(&self) -> RawModel {
        let features = Some(self.features.saturating_add(usize::from(self.intercept)).into());
        let ridge = Some(self.ridge);
        if let Some(declared) = self.declared() {
            return RawModel {
                loss: Some("declared".into()),
                features,
                ridge,
                parameters: Some(declared.parameters),
                clip: Some(declared.gradient_norm),
                smoothness: declared.smoothness,
                strong_convexity: declared.strong_convexity,
                gradient_spread: declared.gradient_spread,
                ..RawModel::default()
            };
        }
        let loss = self.loss_name();
        RawModel {
            loss: Some(loss.into()),
            features,
            ridge,
            clip: self.clip,
            threshold: match self.label {
                Label::Number { bound } if loss == "huber" => bound,
                Label::Number { .. } | Label::Classes { .. } => None,
            },
            classes: match self.label {
                Label::Classes { count, .. } if ["softmax", "mlp", "cnn"].contains(&loss) => {
                    Some(count)
                }
                Label::Number { .. } | Label::Classes { .. } => None,
            },
            ..RawModel::default()
        }
    }

    /// L without the ridge, or an estimate of it where there is none or settings are wrong: these are reported later,
    /// all at once.
    fn smoothness(&self, raw: &RawAgreement) -> f64 {
        let estimate = match self.declared() {
            Some(declared) => declared.smoothness.unwrap_or(4.0 * declared.gradient_norm),
            None => {
                let known = Agreement::unchecked_by_theorems(raw).ok().map(|agreement| {
                    let model = ModelSpec { ridge: 0.0, ..agreement.model };
                    model.constants(&agreement.bounds).smoothness
                });
                let curvature_one = self.feature_norm * self.feature_norm;
                known.filter(|smoothness| smoothness.is_finite()).unwrap_or(curvature_one)
            }
        };
        if estimate > 0.0 { estimate } else { 1.0 }
    }

    /// Builds the learner, with noise from the operating system.
    ///
    /// # Errors
    /// When settings are wrong, with all faults at once, or no noise meets the budget.
    pub fn build(&self) -> Result<OnlineLearner, BuildError> {
        self.build_with(OsEntropy)
    }

    /// Builds the learner with another source of keys.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_with<E: Entropy>(&self, entropy: E) -> Result<OnlineLearner<E>, BuildError> {
        Ok(OnlineLearner::new(Arc::new(self.setup()?), entropy)?)
    }

    /// Takes the learner of these settings out of the file that [`OnlineLearner::save`] moved it into, with
    /// noise from the operating system. The file is gone afterwards: a learner is loaded once.
    ///
    /// # Errors
    /// When settings are wrong, or there is no such file, or it is damaged or of other settings. The file then
    /// stays where it is.
    pub fn load(&self, path: &Path) -> Result<OnlineLearner, BuildError> {
        let setup = Arc::new(self.setup()?);
        Ok(SavedLearner::claim(path)?.restore(setup, OsEntropy)?)
    }

    /// Everything that follows from these settings before any record is seen. A user-defined loss is
    /// tried first, and the setup has its function.
    ///
    /// # Errors
    /// When settings are wrong, with all faults at once, no noise meets the budget, or what is declared of a
    /// loss is not true of it.
    pub fn setup(&self) -> Result<Setup, BuildError> {
        let agreement = check_agreement(&self.agreement(), Strictness::Run).map_err(|faults| {
            LoadError::Faults { origin: "the learner's settings".into(), faults }
        })?;
        let setup = Setup::new(agreement)?;
        let Some(function) = self.own_loss.as_ref().and_then(|own| own.function.clone()) else {
            return Ok(setup);
        };
        check_declaration(&setup, function.as_ref(), DECLARATION_SAMPLES, 0)?;
        Ok(setup.with_function(function))
    }
}

impl fmt::Debug for OwnLoss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { declared, function } = self;
        let function = if function.is_some() { "<function>" } else { "none" };
        write!(formatter, "OwnLoss({declared:?}, {function})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use undertone_core::privacy::lifetime;

    fn setup(builder: &LearnerBuilder) -> Setup {
        builder.setup().unwrap()
    }

    #[test]
    fn a_finite_plan_states_its_own_epsilon_first_and_labels_the_one_for_ever() {
        let builder = |rounds| LearnerBuilder { rounds, ..LearnerBuilder::new(5, 4.0, 1e-6) };
        let text = builder(Some(64)).build().unwrap().statement();
        let place = |start: &str| text.iter().position(|sentence| sentence.starts_with(start));
        let planned = place("Planned: ε = 4.0000 at δ = 1e-6 over 64 rounds").unwrap();
        let for_ever = place("For ever: never more than the cap of ε = 4:").unwrap();
        assert!(planned < for_ever, "{text:?}");
        assert!(text[for_ever].contains("if it ran on for ever with the same noise"), "{text:?}");
        // The control: noise chosen for ever has one number.
        let text = builder(None).build().unwrap().statement();
        assert!(text.iter().any(|sentence| sentence.starts_with("For ever: ε = 4.0000 at")));
        assert!(!text.iter().any(|one| one.contains("Planned") || one.contains("cap")), "{text:?}");
    }

    #[test]
    fn defaults_meet_the_budget_for_every_kind_of_label() {
        let base = LearnerBuilder::new(5, 2.0, 1e-6);
        for builder in [base.clone(), base.clone().classes(4), base.clone().label_bound(3.0)] {
            let setup = setup(&builder);
            let epsilon = setup.lifetime_epsilon_max().unwrap();
            assert!(epsilon <= 2.0 && epsilon > 1.99, "{epsilon}");
            assert!(lifetime(&setup.mechanisms[0]).is_ok());
        }
    }

    #[test]
    fn the_loss_follows_from_the_label() {
        let base = LearnerBuilder::new(5, 2.0, 1e-6);
        assert_eq!(base.loss_name(), "logistic");
        assert_eq!(base.clone().classes(3).loss_name(), "softmax");
        assert_eq!(base.clone().label_bound(1.0).loss_name(), "huber");
        let square = LearnerBuilder { loss: Some("ridge".into()), ..base.label_bound(1.0) };
        assert_eq!(square.loss_name(), "ridge");
    }

    #[test]
    fn the_default_step_is_four_over_l_of_the_loss_without_its_ridge() {
        let base =
            LearnerBuilder { feature_norm: 0.3, ridge: 0.7, ..LearnerBuilder::new(5, 2.0, 1e-6) };
        let mlp = LearnerBuilder { loss: Some("mlp".into()), clip: Some(1.0), ..base.clone() };
        let square = LearnerBuilder { loss: Some("ridge".into()), ..base.clone().label_bound(1.0) };
        let norm = |curvature: f64| curvature * 0.3 * 0.3;
        for (builder, smoothness) in [
            (base.clone(), norm(0.25)),
            (base.clone().classes(3), norm(0.5)),
            (base.clone().label_bound(1.0), norm(1.0)),
            (square, norm(1.0)),
            // A neural network has no L.
            (LearnerBuilder { ridge: 0.0, ..mlp }, 0.3 * 0.3),
        ] {
            let step = builder.agreement().schedule.step.unwrap();
            assert_eq!(step.to_bits(), (4.0 / smoothness).to_bits(), "{:?}", builder.loss_name());
        }
        let given = LearnerBuilder { step: Some(0.125), ..base };
        assert_eq!(given.agreement().schedule.step, Some(0.125));
    }

    #[test]
    fn a_window_is_full_before_the_first_round() {
        let builder = LearnerBuilder { window: 5, batch: 10, ..LearnerBuilder::new(2, 1.0, 1e-5) };
        let records = builder.agreement().records;
        assert_eq!((records.batch, records.warmup), (Some(10), Some(40)));
    }

    #[test]
    fn all_wrong_settings_are_named_at_once() {
        let builder = LearnerBuilder {
            window: 0,
            feature_norm: -1.0,
            label: Label::Number { bound: None },
            ..LearnerBuilder::new(2, f64::NAN, 1e-5)
        };
        let text = builder.build().unwrap_err().to_string();
        for path in ["memory.window", "bounds.feature_norm", "bounds.label", "privacy.epsilon"] {
            assert!(text.contains(path), "{path}: {text}");
        }
    }
}
