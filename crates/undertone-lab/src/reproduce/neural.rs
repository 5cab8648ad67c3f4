//! Figures 2 and 3: a neural network on MNIST and CIFAR-10, by six methods. Also the runs of Table II.
//!
//! Runs take minutes, so finished runs are kept, and an interrupted experiment can be continued.

use super::other_methods::apply_method;
use super::quartiles::Quartiles;
use super::{Watch, run, setup};
use crate::compare::settings::ComparedMethod;
use crate::error::{ExperimentError, FileError};
use crate::experiment::{LoadedExperiment, RawExperiment};
use crate::presets::load_preset_with;
use crate::run_store::{Identity, RunStore, config_digest};
use crate::simulate::{Measuring, Outcome, RoundRow};
use serde::{Deserialize, Serialize};
use std::path::Path;
use undertone::Round;
use undertone::method::Perturbs;
use undertone::neural::Shape;

/// The methods of the figures: the paper's four, then two more.
pub const METHODS: [ComparedMethod; 6] = [
    ComparedMethod::Algorithm1,
    ComparedMethod::Dsgd,
    ComparedMethod::Dola,
    ComparedMethod::Pdop,
    ComparedMethod::Local,
    ComparedMethod::Shielded,
];
/// Measured rounds per run: a measurement takes as long as many rounds.
pub const ROWS: u64 = 20;

/// Increased whenever the same experiment would give other numbers, so that old and new runs are not mixed.
const RESULTS: u32 = 1;

/// The exponent that DOLA's authors suggest for losses that are not strongly convex.
const DOLA_STEP_EXPONENT: f64 = 0.5;
/// The data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Images {
    /// Figure 2.
    Mnist,
    /// Figure 3.
    #[serde(rename = "cifar-10")]
    Cifar10,
}

/// The extent of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Extent {
    /// Rounds; `shielded` has its own number.
    pub rounds: u64,
    /// Records of a learner per round, which the paper does not state.
    pub batch: u64,
    /// Runs of each method.
    pub seeds: u64,
    /// `shielded` uses this many times fewer records than its preset.
    pub shielded_divisor: u64,
}

impl Extent {
    /// The rounds of the paper, in about one pass over the data.
    #[must_use]
    pub fn whole(images: Images) -> Extent {
        let batch = match images {
            Images::Mnist => 19,
            Images::Cifar10 => 16,
        };
        Extent { rounds: 600, batch, seeds: 3, shielded_divisor: 1 }
    }

    /// About ten minutes on two cores.
    #[must_use]
    pub fn quick(images: Images) -> Extent {
        let (rounds, shielded_divisor) = match images {
            Images::Mnist => (150, 6),
            Images::Cifar10 => (100, 12),
        };
        Extent { rounds, batch: 20, seeds: 3, shielded_divisor }
    }
}

/// One measured round of one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPoint {
    /// The round t.
    pub round: u64,
    /// Accuracy of the learners' own parameters on records seen so far, mean over learners.
    pub training: f64,
    /// The same on the test set.
    pub test_own: f64,
    /// Accuracy of the average of all releases on the test set.
    pub test_public: f64,
}

/// One finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NeuralRun {
    /// The digest of its experiment.
    pub digest: String,
    /// Its seed.
    pub seed: u64,
    /// The lifetime ε at the agreement's δ, the largest of any learner; absent without a certificate.
    pub certified: Option<f64>,
    /// Whether a learner's records ran out before the last round.
    pub ran_dry: bool,
    /// By round.
    pub points: Vec<RunPoint>,
}

/// One method in one measured round.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Point {
    /// The round t.
    pub round: u64,
    /// Training accuracy over seeds.
    pub training: Quartiles,
    /// Over seeds.
    pub test_own: Quartiles,
    /// Over seeds.
    pub test_public: Quartiles,
    /// The sum of all rounds' costs with every constant set to 1, as in the paper's Table I: a shape, not an ε.
    /// Absent for methods that are not in the paper.
    pub unit_budget: Option<f64>,
}

/// One method of a figure.
#[derive(Clone, Debug, Serialize)]
pub struct Curve {
    /// Which method.
    pub method: ComparedMethod,
    /// The lifetime ε at δ of one record; absent without a certificate.
    pub certified: Option<f64>,
    /// Whether a learner's records ran out before the last round in any run.
    pub ran_dry: bool,
    /// By round.
    pub points: Vec<Point>,
}

/// A whole figure.
#[derive(Clone, Debug, Serialize)]
pub struct NeuralFigure {
    /// The data set.
    pub images: Images,
    /// The extent.
    pub extent: Extent,
    /// The δ of the certificates.
    pub delta: f64,
    /// One for each method.
    pub curves: Vec<Curve>,
}

/// Opens the folder of an experiment's finished runs.
///
/// # Errors
/// When it belongs to another experiment, or cannot be read or written.
pub fn open(folder: &Path, experiment: &str) -> Result<RunStore<NeuralRun>, FileError> {
    let fingerprint = format!("{experiment} {} {RESULTS}", env!("CARGO_PKG_VERSION"));
    let format = "undertone reproduction";
    RunStore::open_as(folder, Identity { format, schema_version: 1, fingerprint })
}

/// Makes the missing runs of a figure and assembles it.
///
/// # Errors
/// When interrupted; finished runs are kept.
pub fn figure(
    images: Images,
    extent: Extent,
    store: &mut RunStore<NeuralRun>,
    watch: &Watch<'_>,
) -> Result<NeuralFigure, ExperimentError> {
    let experiments: Result<Vec<LoadedExperiment>, ExperimentError> =
        METHODS.iter().map(|&method| experiment_of(method, images, extent)).collect();
    let experiments = experiments?;
    run_missing(&experiments, extent.seeds, ROWS, store, watch)?;
    let mut curves = Vec::new();
    for (method, loaded) in METHODS.into_iter().zip(&experiments) {
        let runs = kept(store, loaded, extent.seeds)?;
        let unit = unit_budget(loaded)?;
        let each: Option<Vec<f64>> = runs.iter().map(|run| run.certified).collect();
        let certified = each.map(|each| each.into_iter().fold(0.0, f64::max));
        let ran_dry = runs.iter().any(|run| run.ran_dry);
        curves.push(Curve { method, certified, ran_dry, points: points(&runs, &unit) });
    }
    let delta = experiments[0].checked.agreement.delta;
    Ok(NeuralFigure { images, extent, delta, curves })
}

/// How many measurements are missing.
///
/// # Errors
/// When an experiment has faults, which does not happen.
pub fn missing(
    images: Images,
    extent: Extent,
    store: &RunStore<NeuralRun>,
) -> Result<u64, ExperimentError> {
    let mut runs = 0;
    for method in METHODS {
        let loaded = experiment_of(method, images, extent)?;
        runs += extent.seeds - kept(store, &loaded, extent.seeds)?.len() as u64;
    }
    Ok(runs * ROWS)
}

/// The experiment of a method.
fn experiment_of(
    method: ComparedMethod,
    images: Images,
    extent: Extent,
) -> Result<LoadedExperiment, ExperimentError> {
    let preset = match (method, images) {
        (ComparedMethod::Shielded, Images::Mnist) => "shielded-mnist",
        (ComparedMethod::Shielded, Images::Cifar10) => "shielded-cifar10",
        (
            ComparedMethod::Algorithm1
            | ComparedMethod::Dsgd
            | ComparedMethod::Dola
            | ComparedMethod::Pdop
            | ComparedMethod::Local,
            Images::Mnist | Images::Cifar10,
        ) => "paper-mnist",
    };
    let loaded = load_preset_with(preset, |raw| {
        if method == ComparedMethod::Shielded {
            let divide = |count: &mut Option<u64>| {
                *count = count.map(|count| (count / extent.shielded_divisor).max(1));
            };
            divide(&mut raw.agreement.records.warmup);
            divide(&mut raw.agreement.records.batch);
            return;
        }
        if images == Images::Cifar10 {
            on_cifar10(raw);
        }
        raw.rounds = Some(extent.rounds);
        raw.agreement.records.batch = Some(extent.batch);
        match method {
            ComparedMethod::Dsgd | ComparedMethod::Dola | ComparedMethod::Pdop => {
                apply_method(method, raw, DOLA_STEP_EXPONENT, 1.0);
            }
            ComparedMethod::Local => raw.agreement.method = Some(method.name().into()),
            ComparedMethod::Algorithm1 | ComparedMethod::Shielded => {}
        }
    })?;
    Ok(loaded)
}

/// Changes the data, as the paper does, and nothing else.
fn on_cifar10(raw: &mut RawExperiment) {
    raw.data.source = Some("cifar-10".into());
    raw.agreement.model.input = Some(Shape { channels: 3, height: 32, width: 32 });
    raw.agreement.bounds.feature_norm = Some(3072f64.sqrt().ceil());
}

/// Makes all missing runs, one after the other: the learners of a run share the cores.
pub(super) fn run_missing(
    experiments: &[LoadedExperiment],
    seeds: u64,
    rows: u64,
    store: &mut RunStore<NeuralRun>,
    watch: &Watch<'_>,
) -> Result<(), ExperimentError> {
    for seed in 1..=seeds {
        for loaded in experiments {
            let digest = config_digest(&loaded.raw)?;
            if store.runs.iter().any(|run| run.seed == seed && run.digest == digest) {
                continue;
            }
            let quiet = Watch { done: &|| (), ..*watch };
            let outcome = run(loaded, seed, Measuring::Evenly(rows), &quiet, |_| {
                (watch.done)();
                false
            });
            let outcome = match outcome {
                Err(ExperimentError::Interrupted) => {
                    return Err(ExperimentError::InterruptedButKept { runs: store.runs.len() });
                }
                other => other?,
            };
            store.add(NeuralRun {
                digest,
                seed,
                certified: certified(loaded, &outcome)?,
                ran_dry: outcome.ran_dry(),
                points: outcome.rows.iter().filter_map(run_point).collect(),
            })?;
        }
    }
    Ok(())
}

/// The finished runs of an experiment, by seed.
pub(super) fn kept<'a>(
    store: &'a RunStore<NeuralRun>,
    loaded: &LoadedExperiment,
    seeds: u64,
) -> Result<Vec<&'a NeuralRun>, ExperimentError> {
    let digest = config_digest(&loaded.raw)?;
    let of_seed = |seed| store.runs.iter().find(|run| run.seed == seed && run.digest == digest);
    Ok((1..=seeds).filter_map(of_seed).collect())
}

/// The lifetime ε of one record, if there is a certificate.
fn certified(loaded: &LoadedExperiment, outcome: &Outcome) -> Result<Option<f64>, ExperimentError> {
    // A method that sends nothing has nothing to certify.
    let silent = loaded.checked.agreement.method.describe().perturbs == Perturbs::Nothing;
    if silent || outcome.ran_dry() {
        return Ok(None);
    }
    Ok(setup(loaded)?.lifetime_epsilon_max())
}

fn run_point(row: &RoundRow) -> Option<RunPoint> {
    Some(RunPoint {
        round: row.round,
        training: row.metrics.training_accuracy?,
        test_own: row.metrics.test_accuracy_private?,
        test_public: row.metrics.test_accuracy_public?,
    })
}

fn points(runs: &[&NeuralRun], unit_budget: &[f64]) -> Vec<Point> {
    let rows = runs.first().map_or(&[][..], |run| &run.points[..]);
    let over_seeds = |index: usize, value: fn(&RunPoint) -> f64| {
        let values: Vec<f64> =
            runs.iter().filter_map(|run| run.points.get(index)).map(value).collect();
        Quartiles::of(&values)
    };
    let point = |(index, row): (usize, &RunPoint)| {
        Some(Point {
            round: row.round,
            training: over_seeds(index, |point| point.training)?,
            test_own: over_seeds(index, |point| point.test_own)?,
            test_public: over_seeds(index, |point| point.test_public)?,
            unit_budget: unit_budget.get(usize::try_from(row.round).ok()?).copied(),
        })
    };
    rows.iter().enumerate().filter_map(point).collect()
}

/// By round, for the learner with the least noise: Σ (t+1)^−(1+v−u) / ρ_t for Algorithm 1, by the rate of its
/// Theorem 5, and Σ λ_t / ρ_{t+1} for methods that step along the newest batch. Empty for other methods.
fn unit_budget(loaded: &LoadedExperiment) -> Result<Vec<f64>, ExperimentError> {
    let setup = setup(loaded)?;
    let schedule = &loaded.checked.agreement.schedule;
    let decay = 1.0 + schedule.coupling.exponent - schedule.step.exponent;
    let most = |t: u64| {
        let of_learner = setup.mechanisms.iter().map(|mechanism| {
            if mechanism.method.describe().theorems_apply {
                ((t + 1) as f64).powf(-decay) / mechanism.noise_scale(Round(t))
            } else {
                mechanism.step(Round(t)) / mechanism.noise_scale(Round(t + 1))
            }
        });
        of_learner.fold(0.0, f64::max)
    };
    if loaded.checked.agreement.method.describe().perturbs != Perturbs::Parameters {
        return Ok(Vec::new());
    }
    let mut sum = 0.0;
    let running = |t| {
        sum += most(t);
        sum
    };
    Ok((0..loaded.checked.rounds).map(running).collect())
}

#[cfg(test)]
mod tests {
    use super::super::other_methods;
    use super::*;

    const TINY: Extent = Extent { rounds: 30, batch: 2, seeds: 2, shielded_divisor: 6 };

    fn made_up(digest: String, seed: u64) -> NeuralRun {
        let point = |round| RunPoint {
            round,
            training: 0.5,
            test_own: 0.25 * seed as f64,
            test_public: 0.1,
        };
        NeuralRun {
            digest,
            seed,
            certified: None,
            ran_dry: false,
            points: vec![point(0), point(29)],
        }
    }

    #[test]
    fn every_method_has_an_experiment_on_both_data_sets() {
        for images in [Images::Mnist, Images::Cifar10] {
            for extent in [Extent::whole(images), Extent::quick(images)] {
                for method in METHODS {
                    let loaded = experiment_of(method, images, extent).unwrap();
                    setup(&loaded).unwrap();
                }
            }
        }
    }

    #[test]
    fn kept_runs_are_not_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = open(folder.path(), "fig2").unwrap();
        assert_eq!(missing(Images::Mnist, TINY, &store).unwrap(), 12 * ROWS);
        for method in METHODS {
            let digest =
                config_digest(&experiment_of(method, Images::Mnist, TINY).unwrap().raw).unwrap();
            for seed in 1..=2 {
                store.add(made_up(digest.clone(), seed)).unwrap();
            }
        }
        drop(store);
        let mut store = open(folder.path(), "fig2").unwrap();
        assert_eq!(missing(Images::Mnist, TINY, &store).unwrap(), 0);
        let longer = Extent { rounds: 31, ..TINY };
        assert!(missing(Images::Mnist, longer, &store).unwrap() > 0);
        // When no run is missing, the figure needs no data.
        let watch = Watch { done: &|| (), interrupted: &|| true };
        let found = figure(Images::Mnist, TINY, &mut store, &watch).unwrap();
        let last = found.curves[0].points.last().unwrap();
        assert!((last.test_own.median - 0.375).abs() < 1e-12 && last.round == 29);
        let page = crate::report::neural_page(&found);
        assert!(page.contains("no certificate") && !page.contains("NaN"));
        drop(store);
        assert!(matches!(open(folder.path(), "fig3"), Err(FileError::OtherRuns { .. })));
    }

    #[test]
    fn the_shape_of_a_budget_is_the_sum_of_its_rounds() {
        let of =
            |method| unit_budget(&experiment_of(method, Images::Mnist, TINY).unwrap()).unwrap();
        let ours = of(ComparedMethod::Algorithm1);
        let noise = std::f64::consts::SQRT_2;
        let second = 1.0 / noise + 2f64.powf(-1.01 - 0.12) / noise;
        assert!((ours[0] - 1.0 / noise).abs() < 1e-12 && (ours[1] - second).abs() < 1e-12);
        // DOLA: 1/√(t+1) over 0.35/(t+2).
        let dola = of(ComparedMethod::Dola);
        assert!((dola[0] - 2.0 / other_methods::DOLA_NOISE).abs() < 1e-9, "{}", dola[0]);
        assert!(of(ComparedMethod::Local).is_empty() && of(ComparedMethod::Shielded).is_empty());
    }
}
