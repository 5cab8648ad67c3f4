//! Reconstructs records from releases, to show on a run's own data what noise protects from.
//!
//! `overhear.rs` computes what an attacker on the wire observes; [`mod@invert`] reconstructs
//! records from it.

pub mod invert;
mod overhear;

use crate::data::MIDDLE_GREY;
use crate::error::ExperimentError;
use crate::experiment::LoadedExperiment;
use crate::metrics::squared_distance;
use crate::reproduce::Watch;
use crate::seeded_run::prepare;
use crate::stream::Streams;
use invert::{Effort, Evidence, Labels, Reconstruction, invert};
use overhear::{Overheard, Script, View, overhear};
use rayon::prelude::*;
use serde::Serialize;
use std::fmt;
use thiserror::Error;
use undertone::MemoryKind;
use undertone::method::Perturbs;
use undertone::neural::{LayerSpec, Shape};
use undertone_models::Setup;
use undertone_models::neural::NeuralNetwork;
use undertone_models::{AnyModel, BoundedRecord};

/// The most records behind one gradient: no known attack reconstructs more, and each costs time.
pub const RECORDS_MAX: usize = 16;

/// Why an attack is not possible.
#[derive(Debug, Error)]
pub enum AttackError {
    /// A linear model.
    #[error("the attack is on neural networks: model.loss must be \"cnn\" or \"mlp\"")]
    NotNeural,
    /// The method sends nothing.
    #[error("method = \"local\" sends nothing, and nothing can be overheard")]
    NothingSent,
    /// The gradient is a mean over different points.
    #[error("after round 0 the attack needs memory.kind = \"exact\": other memories mix gradients")]
    Memory,
    /// A round of a shielded learner without a gradient.
    #[error("no gradient is released after round {round}; the next one is after round {next}")]
    NoGradient {
        /// The round requested.
        round: u64,
        /// The next round with a gradient.
        next: u64,
    },
    /// The start matters in round 0 only.
    #[error("only round 0 starts at the public start")]
    StartIsLongAgo,
    /// A learner runs out of records before the round.
    #[error("a learner has {found} records, and this round comes after {needed}")]
    TooFewRecords {
        /// How many it has.
        found: u64,
        /// How many are drawn until then.
        needed: u64,
    },
    /// iDLG needs a bias for each class.
    #[error("idlg reads the label off the last layer, which must be dense: use dlg")]
    NoBiases,
    /// Too many records behind the gradient.
    #[error(
        "the gradient of round {round} is the mean over {found} records, and the attack takes at most {most}: \
         choose fewer, or an earlier round"
    )]
    TooManyRecords {
        /// Which round.
        round: u64,
        /// How many records.
        found: u64,
        /// The most allowed.
        most: usize,
    },
    /// iDLG with several records.
    #[error("idlg reads one label off the gradient, and there are {0} records behind it: use dlg")]
    OneRecordOnly(u64),
    /// A multiple of the noise that is negative or not finite.
    #[error("noise multiples must be numbers from 0 to 1e6")]
    Multiple,
}

/// What is attacked, and with how much effort.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    /// DLG or iDLG.
    pub labels: Labels,
    /// Multiples of the config's noise; 0 means no noise on the victim.
    pub multiples: Vec<f64>,
    /// Records that a learner takes in each round, instead of the config's batch; there is no warm-up.
    pub records: u64,
    /// The round whose gradient is attacked.
    pub round: u64,
    /// Seeds 1 to this, each with other records and other noise.
    pub seeds: u64,
    /// Whether the attacker uses the public start θ_0: in round 0 it then has one noisy value fewer
    /// to deal with.
    pub knows_start: bool,
    /// How long to look.
    pub effort: Effort,
}

/// One learner's records and the attempts to reconstruct them. Holds private records: for the
/// laboratory only.
#[derive(Clone, Serialize)]
pub struct Victim {
    /// Which run.
    pub seed: u64,
    /// Which learner.
    pub learner: usize,
    /// One for each multiple of the noise.
    pub attempts: Vec<Attempt>,
    /// The records that were attacked.
    #[serde(skip)]
    pub originals: Vec<Vec<f64>>,
}

/// The attack on one learner at one noise level. Holds reconstructed records.
#[derive(Clone, Serialize)]
pub struct Attempt {
    /// The noise, as a multiple of the config's.
    pub multiple: f64,
    /// Mean squared error of a feature, over all records.
    pub error: f64,
    /// The share of labels that were found.
    pub labels_found: f64,
    /// ‖gradient of the guess − observed gradient‖² / ‖observed gradient‖².
    pub mismatch: f64,
    /// The guesses, each beside the original that it is closest to.
    #[serde(skip)]
    pub found: Vec<Vec<f64>>,
}

/// One line of the result: all victims at one noise level.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Line {
    /// The noise, as a multiple of the config's.
    pub multiple: f64,
    /// Mean over victims of the mean squared error.
    pub error: f64,
    /// The smallest error of any victim, the one that is protected least.
    pub error_min: f64,
    /// The largest error of any victim.
    pub error_max: f64,
    /// Mean share of labels found.
    pub labels_found: f64,
}

/// The result of an attack.
#[derive(Clone, Serialize)]
pub struct Attack {
    /// What was attacked.
    pub name: String,
    /// How.
    pub settings: Settings,
    /// Records behind each gradient.
    pub records: u64,
    /// The error of uniformly random guesses, for comparison; absent if values have no known range.
    pub error_of_random: Option<f64>,
    /// One for each multiple.
    pub lines: Vec<Line>,
    /// One for each learner and seed.
    pub victims: Vec<Victim>,
    /// The shape of a record.
    #[serde(skip)]
    pub shape: Shape,
    /// The value that pictures show as black.
    #[serde(skip)]
    pub black: f64,
}

/// Shows shapes only: records are private, originals and reconstructions alike.
impl fmt::Debug for Victim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Victim(seed={}, learner={}, <redacted>)", self.seed, self.learner)
    }
}

/// Attacks every learner of a config, with every multiple of its noise.
///
/// # Errors
/// When an attack is not possible, or when interrupted.
pub fn attack(
    loaded: &LoadedExperiment,
    settings: Settings,
    watch: &Watch<'_>,
) -> Result<Attack, ExperimentError> {
    let records = check(loaded, &settings)?;
    let mut jobs = Vec::new();
    let mut victims = Vec::new();
    let mut model = None;
    for seed in 1..=settings.seeds {
        let (mut setup, mut streams) = prepare(&loaded.checked, &loaded.folder, seed)?;
        if (watch.interrupted)() {
            return Err(ExperimentError::Interrupted);
        }
        // The caps are removed: half the noise may cost more than they allow, and this is only an
        // experiment.
        setup.agreement.caps.fill(None);
        shorten(&mut streams, settings.records * (settings.round + 1))?;
        let first = victims.len();
        for (number, &multiple) in settings.multiples.iter().enumerate() {
            let heard = hear(&setup, &streams, seed, &settings, multiple)?;
            for (learner, heard) in heard.into_iter().enumerate() {
                if number == 0 {
                    let originals = heard.truth.iter().map(features).collect();
                    victims.push(Victim { seed, learner, attempts: Vec::new(), originals });
                }
                jobs.push((first + learner, multiple, heard));
            }
        }
        model = Some(setup.model);
    }
    let Some(AnyModel::Neural(model)) = model else {
        return Err(AttackError::NotNeural.into());
    };
    let neural = model.neural();
    let attempts: Result<Vec<(usize, Attempt)>, ExperimentError> = jobs
        .into_par_iter()
        .map(|(victim, multiple, heard)| {
            let attempt = attempt(neural, &settings, multiple, &heard, victim as u64, watch)?;
            (watch.done)();
            Ok((victim, attempt))
        })
        .collect();
    for (victim, attempt) in attempts? {
        victims[victim].attempts.push(attempt);
    }
    let lines = (0..settings.multiples.len()).map(|index| line(&victims, index)).collect();
    let name = loaded.checked.agreement.name.clone();
    let shape = neural.spec().input;
    let originals = || victims.iter().flat_map(|victim| &victim.originals);
    let error_of_random =
        range_of(originals()).map(|_| mean(originals().map(|one| of_random(one))));
    let black = if loaded.checked.agreement.records.centre { -MIDDLE_GREY } else { 0.0 };
    Ok(Attack { name, settings, records, error_of_random, lines, victims, shape, black })
}

/// Keeps only the records that will be drawn.
fn shorten(streams: &mut Streams, needed: u64) -> Result<(), AttackError> {
    streams.test = Vec::new();
    for stream in &mut streams.learners {
        let found = stream.shorten(needed);
        if found < needed {
            return Err(AttackError::TooFewRecords { found, needed });
        }
    }
    Ok(())
}

/// Pixels lie between 0 and 1, which an attacker knows. Other data have no such range.
fn range_of<'a>(mut records: impl Iterator<Item = &'a Vec<f64>>) -> Option<(f64, f64)> {
    let within = |record: &Vec<f64>| record.iter().all(|value| (0.0..=1.0).contains(value));
    records.all(within).then_some((0.0, 1.0))
}

/// A multiple of the noise, as shown in tables.
#[must_use]
pub fn multiple_in_words(multiple: f64) -> String {
    if multiple > 0.0 { format!("×{multiple}") } else { "none".into() }
}

/// How many reconstructions an attack makes.
#[must_use]
pub fn reconstructions(loaded: &LoadedExperiment, settings: &Settings) -> u64 {
    settings.seeds * (loaded.checked.agreement.graph.learners() * settings.multiples.len()) as u64
}

/// Checks that an attack is possible. Returns how many records are behind a gradient.
fn check(loaded: &LoadedExperiment, settings: &Settings) -> Result<u64, AttackError> {
    let agreement = &loaded.checked.agreement;
    let Some(neural) = &agreement.neural else { return Err(AttackError::NotNeural) };
    if !settings.multiples.iter().all(|multiple| (0.0..=1e6).contains(multiple)) {
        return Err(AttackError::Multiple);
    }
    let method = agreement.method.describe();
    let newest_only = method.gradients.are_of_newest_batch();
    if method.perturbs == Perturbs::Nothing {
        return Err(AttackError::NothingSent);
    }
    // A gradient follows every `interval` rounds; `ahead` is how many rounds are missing.
    let interval = method.interval.unwrap_or(1).max(1);
    let ahead = interval - 1 - settings.round % interval;
    if ahead > 0 {
        let next = settings.round.saturating_add(ahead);
        return Err(AttackError::NoGradient { round: settings.round, next });
    }
    if settings.round > 0 && !newest_only && agreement.memory != MemoryKind::Exact {
        return Err(AttackError::Memory);
    }
    let rounds = if newest_only { 1 } else { settings.round.saturating_add(1) };
    let found = settings.records.saturating_mul(rounds);
    let round = settings.round;
    if settings.knows_start && round > 0 {
        return Err(AttackError::StartIsLongAgo);
    }
    let needed = settings.records.saturating_mul(round.saturating_add(1));
    if needed > u64::from(u32::MAX) {
        return Err(AttackError::TooManyRecords { round, found: needed, most: RECORDS_MAX });
    }
    if found > RECORDS_MAX as u64 {
        return Err(AttackError::TooManyRecords { round, found, most: RECORDS_MAX });
    }
    if settings.labels == Labels::Idlg {
        if found != 1 {
            return Err(AttackError::OneRecordOnly(found));
        }
        if !matches!(neural.layers.last(), Some(LayerSpec::Dense { .. })) {
            return Err(AttackError::NoBiases);
        }
    }
    Ok(found)
}

/// Runs and observes all learners at a multiple of the config's noise.
fn hear(
    setup: &Setup,
    streams: &Streams,
    seed: u64,
    settings: &Settings,
    multiple: f64,
) -> Result<Vec<Overheard>, ExperimentError> {
    let mut setup = setup.clone();
    let view = match (multiple > 0.0, settings.knows_start) {
        (false, _) => View::Unprotected,
        (true, true) => View::ReleasesAndStart,
        (true, false) => View::Releases,
    };
    if view != View::Unprotected {
        for mechanism in &mut setup.mechanisms {
            mechanism.noise.scale.initial *= multiple;
            mechanism.noise_max.initial *= multiple;
        }
    }
    // The noise stays as calibrated for the config's own batch and warm-up, although there are
    // fewer records.
    let script = Script { seed, round: settings.round, records: settings.records };
    overhear(&setup, streams.clone(), script, view)
}

fn attempt(
    neural: &NeuralNetwork,
    settings: &Settings,
    multiple: f64,
    heard: &Overheard,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<Attempt, ExperimentError> {
    let originals: Vec<Vec<f64>> = heard.truth.iter().map(features).collect();
    let evidence = Evidence {
        neural,
        theta: &heard.theta,
        gradient: &heard.gradient,
        records: heard.truth.len(),
        range: range_of(originals.iter()),
    };
    let found = invert(evidence, settings.labels, settings.effort, seed, watch.interrupted);
    if (watch.interrupted)() {
        return Err(ExperimentError::Interrupted);
    }
    Ok(judge(multiple, &heard.truth, &originals, found))
}

/// Matches originals with guesses, the closest pair first, and computes errors and the share of
/// labels found.
fn judge(
    multiple: f64,
    truth: &[BoundedRecord],
    originals: &[Vec<f64>],
    reconstruction: Reconstruction,
) -> Attempt {
    let Reconstruction { inputs, labels, mismatch } = reconstruction;
    let mut pairs = Vec::new();
    for (record, original) in originals.iter().enumerate() {
        for (guess, input) in inputs.iter().enumerate() {
            let error = squared_distance(original, input) / original.len() as f64;
            pairs.push((error, record, guess));
        }
    }
    pairs.sort_by(|left, right| left.0.total_cmp(&right.0));
    let mut partners: Vec<Option<usize>> = vec![None; truth.len()];
    let (mut error, mut hits) = (0.0, 0.0);
    for (apart, record, guess) in pairs {
        if partners[record].is_none() && !partners.contains(&Some(guess)) {
            partners[record] = Some(guess);
            error += apart;
            hits += f64::from(u8::from((labels[guess] as f64 - truth[record].label()).abs() < 0.5));
        }
    }
    let count = truth.len() as f64;
    let found = partners.into_iter().flatten().map(|guess| inputs[guess].clone()).collect();
    Attempt { multiple, error: error / count, labels_found: hits / count, mismatch, found }
}

fn features(record: &BoundedRecord) -> Vec<f64> {
    let mut dense = vec![0.0; record.features().dimension()];
    record.features().add_scaled_to(1.0, &mut dense);
    dense
}

/// The expected squared error of a uniformly random guess in [0, 1].
fn of_random(original: &[f64]) -> f64 {
    mean(original.iter().map(|x| x * x - x + 1.0 / 3.0))
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

fn line(victims: &[Victim], index: usize) -> Line {
    let attempts = || victims.iter().map(|victim| &victim.attempts[index]);
    Line {
        multiple: attempts().next().map_or(f64::NAN, |attempt| attempt.multiple),
        error: mean(attempts().map(|attempt| attempt.error)),
        error_min: attempts().map(|attempt| attempt.error).fold(f64::INFINITY, f64::min),
        error_max: attempts().map(|attempt| attempt.error).fold(0.0, f64::max),
        labels_found: mean(attempts().map(|attempt| attempt.labels_found)),
    }
}
