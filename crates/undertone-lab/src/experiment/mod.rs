//! An experiment: data, partition and rounds of a simulation around an agreement.
//!
//! One file holds the keys of both: `rounds` and `[data]` belong to the experiment, all others to the
//! agreement.

mod resolved;
#[cfg(test)]
mod tests;

pub use resolved::{resolved, resolved_agreement};

use serde::{Deserialize, Serialize};
use std::path::Path;
use undertone::agreement::{Agreement, Faults, OneOrEach, Range, RawAgreement};
use undertone::load::{Document, Loaded, Parse, Source, Strictness, check_agreement, load};
use undertone::privacy::NoCertificate;
use undertone::{LoadError, Round};
use undertone_models::{Setup, SetupError};

/// An experiment as it stands in a file, before anything is checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RawExperiment {
    /// How many rounds to run.
    pub rounds: Option<u64>,
    /// What all learners share.
    #[serde(flatten)]
    pub agreement: RawAgreement,
    /// Where records come from and how they are distributed.
    pub data: RawData,
}

/// The keys of an experiment that are not the agreement's.
#[derive(Deserialize)]
struct OwnKeys {
    rounds: Option<u64>,
    #[serde(default)]
    data: RawData,
}

/// `[data]`: where records come from and how they are distributed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "keys are explained in the starter config and in docs/config.md")]
#[serde(default)]
pub struct RawData {
    pub source: Option<String>,
    pub format: Option<String>,
    pub partition: Option<String>,
    pub alpha: Option<f64>,
    pub share: Option<f64>,
    pub order: Option<String>,
    pub test_fraction: Option<f64>,
    pub repeat: Option<bool>,
}

/// An experiment, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// What all learners share.
    pub agreement: Agreement,
    /// How many rounds to run.
    pub rounds: u64,
    /// Where records come from and how they are distributed.
    pub data: Data,
}

/// Where records come from and how they are distributed.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// The name of a known data set, or the path of a file or of a folder of images.
    pub source: String,
    /// The file's format; `None` takes it from the extension.
    pub format: Option<String>,
    /// How records are distributed among the learners.
    pub partition: Partition,
    /// The order in which records arrive; `None` uses the data set's own.
    pub order: Option<RecordOrder>,
    /// The share of records kept for testing; `None` uses the data set's own test records.
    pub test_fraction: Option<f64>,
    /// Whether records are drawn again when they run out.
    pub repeat: bool,
}

/// How records are distributed among the learners.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Partition {
    /// Evenly and at random.
    Iid,
    /// In turn and in the order of the data, which every learner keeps: for data in order of time.
    InOrder,
    /// Every learner holds one class, as in the paper.
    ByClass,
    /// Class shares drawn from a Dirichlet distribution.
    Dirichlet {
        /// Small values give learners few classes each.
        alpha: f64,
    },
    /// A share of class i goes to learner i, the rest evenly to the others.
    OwnClass {
        /// The share.
        share: f64,
    },
}

impl Partition {
    /// Whether a record's label decides which learner holds it: then labels are public.
    #[must_use]
    pub fn depends_on_labels(self) -> bool {
        match self {
            Partition::Iid | Partition::InOrder => false,
            Partition::ByClass | Partition::Dirichlet { .. } | Partition::OwnClass { .. } => true,
        }
    }
}

/// The order in which a learner's records arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordOrder {
    /// Random; test records are random too.
    Shuffled,
    /// As in the file; the last records are for testing.
    File,
}

/// An experiment as written and as checked.
pub type LoadedExperiment = Loaded<RawExperiment>;

/// What the command line may change in an experiment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overrides {
    /// How many learners, in a network given by its topology.
    pub learners: Option<usize>,
    /// How many rounds to run.
    pub rounds: Option<u64>,
    /// The target or cap ε, at the agreement's δ.
    pub epsilon: Option<f64>,
    /// The δ.
    pub delta: Option<f64>,
}

impl Overrides {
    /// Applies the changes to an experiment.
    pub fn apply(&self, raw: &mut RawExperiment) {
        if self.rounds.is_some() {
            raw.rounds = self.rounds;
        }
        self.apply_to_agreement(&mut raw.agreement);
    }

    /// Applies the changes to an agreement, which has no rounds to change.
    pub fn apply_to_agreement(&self, raw: &mut RawAgreement) {
        if self.learners.is_some() {
            raw.network.learners = self.learners;
        }
        if let Some(epsilon) = self.epsilon {
            raw.privacy.epsilon = Some(OneOrEach::One(epsilon));
            raw.privacy.pure_epsilon = None;
        }
        if self.delta.is_some() {
            raw.privacy.delta = self.delta;
        }
    }
}

/// Reads and checks an experiment file.
///
/// # Errors
/// When the file cannot be read or anything in it is wrong; every fault is reported at once.
pub fn load_file(path: &Path, overrides: &Overrides) -> Result<LoadedExperiment, LoadError> {
    load(&Source::File(path.into()), |raw| overrides.apply(raw), Strictness::Run)
}

impl Document for RawExperiment {
    type Checked = Experiment;

    /// Reads the text twice, once for each type. A key is unknown if neither type knows it.
    fn read<P: Parse>(parse: P) -> Result<(RawExperiment, Vec<String>), P::Error> {
        let (own, not_own) = parse.parse::<OwnKeys>()?;
        let (agreement, not_shared) = parse.parse::<RawAgreement>()?;
        let known = |path: &str, unknown: &[String]| {
            let within = |other: &String| {
                path.strip_prefix(other.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            !unknown.iter().any(within)
        };
        let mut unknown: Vec<String> = not_own.iter().chain(&not_shared).cloned().collect();
        unknown.retain(|path| !known(path, &not_own) && !known(path, &not_shared));
        unknown.sort();
        unknown.dedup();
        Ok((RawExperiment { rounds: own.rounds, agreement, data: own.data }, unknown))
    }

    fn unknown_key(path: &str) -> &'static str {
        match path {
            "data.label" => "unknown key; it is records.label",
            "data.classes" => "unknown key; it is records.classes",
            "data.categorical" => "unknown key; it is records.categorical",
            "data.drop" => "unknown key; it is records.drop",
            "data.intercept" => "unknown key; it is records.intercept",
            "data.centre" => "unknown key; it is records.centre",
            "data.normalise" => "unknown key; it is records.normalise",
            "data.warmup" => "unknown key; it is records.warmup",
            "data.batch" => "unknown key; it is records.batch",
            "privacy.rule" => "unknown key; it is privacy.bound",
            _ => "unknown key",
        }
    }

    fn agreement_mut(&mut self) -> &mut RawAgreement {
        &mut self.agreement
    }

    fn check(&self, strictness: Strictness) -> Result<Experiment, Faults> {
        let mut faults = Faults::default();
        let rounds = check_rounds(self, &mut faults);
        let data = check_data(self, &mut faults);
        match check_agreement(&self.shared(), strictness) {
            Ok(agreement) => {
                if data.repeat && agreement.caps.iter().any(Option::is_some) {
                    faults.push(
                        "data.repeat",
                        true,
                        "a cap or target holds for records used once; drop privacy.epsilon, or repeat",
                    );
                }
                let experiment = Experiment { agreement, rounds, data };
                if faults.0.is_empty() { Ok(experiment) } else { Err(faults) }
            }
            Err(more) => {
                faults.0.extend(more.0);
                Err(faults)
            }
        }
    }
}

impl RawExperiment {
    /// The agreement. Noise that is calibrated for rounds without saying how many is calibrated for the
    /// experiment's.
    #[must_use]
    pub fn shared(&self) -> RawAgreement {
        let mut agreement = self.agreement.clone();
        if agreement.noise.calibrate.as_deref() == Some("rounds") {
            agreement.noise.rounds = agreement.noise.rounds.or(self.rounds);
        }
        agreement
    }
}

fn check_rounds(raw: &RawExperiment, faults: &mut Faults) -> u64 {
    let rounds = raw.rounds.unwrap_or_else(|| {
        faults.missing("rounds", "how many rounds to run");
        1
    });
    if rounds == 0 || rounds >= Round::LIMIT.0 {
        faults.push("rounds", rounds, format!("must be at least 1 and below {}", Round::LIMIT));
    }
    rounds.clamp(1, Round::LIMIT.0)
}

fn check_data(experiment: &RawExperiment, faults: &mut Faults) -> Data {
    let raw = &experiment.data;
    let source = raw.source.clone().unwrap_or_else(|| {
        faults.missing(
            "data.source",
            "the name of a data set, or the path of a file or a folder of images",
        );
        String::new()
    });
    if source == "mushrooms" {
        let only = "a file as the source";
        let form = &experiment.agreement.records;
        faults.unused("data.format", raw.format.as_ref(), only);
        faults.unused("records.label", form.label.as_ref(), only);
        faults.unused("records.classes", form.classes.as_ref(), only);
        faults.unused("records.categorical", form.categorical.as_ref(), only);
        faults.unused("records.drop", form.drop.as_ref(), only);
        faults.unused("records.intercept", form.intercept.filter(|&is| is).as_ref(), only);
    }
    Data {
        source,
        format: raw.format.clone(),
        partition: check_partition(raw, faults),
        order: raw.order.as_deref().map(|order| {
            let choices = [("shuffled", RecordOrder::Shuffled), ("file", RecordOrder::File)];
            faults.word("data.order", Some(order), &choices)
        }),
        test_fraction: raw
            .test_fraction
            .map(|fraction| faults.number("data.test_fraction", Some(fraction), Range::Fraction)),
        repeat: raw.repeat.unwrap_or(false),
    }
}

fn check_partition(raw: &RawData, faults: &mut Faults) -> Partition {
    let kind = raw.partition.as_deref();
    if kind != Some("dirichlet") {
        faults.unused("data.alpha", raw.alpha.as_ref(), "partition = \"dirichlet\"");
    }
    if kind != Some("own-class") {
        faults.unused("data.share", raw.share.as_ref(), "partition = \"own-class\"");
    }
    match kind {
        Some("dirichlet") => {
            Partition::Dirichlet { alpha: faults.number("data.alpha", raw.alpha, Range::Positive) }
        }
        Some("own-class") => Partition::OwnClass {
            share: faults.number("data.share", raw.share, Range::Probability),
        },
        other => faults.word(
            "data.partition",
            other,
            &[
                ("iid", Partition::Iid),
                ("in-order", Partition::InOrder),
                ("by-class", Partition::ByClass),
                // The last two are handled above; they complete the list of choices.
                ("dirichlet", Partition::Iid),
                ("own-class", Partition::Iid),
            ],
        ),
    }
}

impl Experiment {
    /// Everything that follows from the experiment before any record is seen.
    ///
    /// # Errors
    /// When model and memory do not fit, no noise scale meets a target, or the sampler cannot draw the noise
    /// of the last round.
    pub fn setup(&self) -> Result<Setup, SetupError> {
        let mut setup = Setup::new(self.agreement.clone())?;
        setup.check_sampler(Round(self.rounds))?;
        if self.data.repeat {
            setup.lifetimes.fill(Err(NoCertificate::RecordsRepeat));
        }
        Ok(setup)
    }

    /// χ of the planner's model: 0 where all learners see the same distribution, 1 where each sees one class.
    #[must_use]
    pub fn heterogeneity(&self) -> f64 {
        match self.data.partition {
            Partition::Iid | Partition::InOrder => 0.0,
            Partition::ByClass => 1.0,
            // The variance of a Dirichlet share, relative to that of a learner with one class.
            Partition::Dirichlet { alpha } => {
                let classes = f64::from(self.agreement.model.loss.classes().unwrap_or(2));
                (1.0 / (classes * alpha + 1.0)).sqrt()
            }
            Partition::OwnClass { share } => {
                #[expect(clippy::cast_precision_loss, reason = "a model, not an account")]
                let others = self.agreement.graph.learners().saturating_sub(1).max(1) as f64;
                (share - (1.0 - share) / others).abs()
            }
        }
    }
}
