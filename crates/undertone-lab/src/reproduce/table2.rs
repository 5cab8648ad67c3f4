//! Table II: what noise does to accuracy, and to an attacker.

use super::Watch;
use super::neural::{Extent, NeuralRun, RunPoint, kept, run_missing};
use super::quartiles::Quartiles;
use crate::attack::invert::{Effort, Labels};
use crate::attack::{Line, Settings, attack};
use crate::error::ExperimentError;
use crate::experiment::{LoadedExperiment, RawExperiment};
use crate::presets::load_preset_with;
use crate::run_store::RunStore;
use serde::Serialize;
use undertone::agreement::OneOrEach;

/// One column of the paper's table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Printed {
    /// Noise is multiplied by this.
    pub multiple: f64,
    /// Training accuracy.
    pub training: f64,
    /// Test accuracy.
    pub test: f64,
    /// The attacker's error.
    pub error: f64,
}

/// The table as printed.
pub const PRINTED: [Printed; 4] = [
    Printed { multiple: 0.5, training: 0.9402, test: 0.9449, error: 0.2696 },
    Printed { multiple: 1.0, training: 0.9350, test: 0.9380, error: 0.2786 },
    Printed { multiple: 1.5, training: 0.8862, test: 0.8964, error: 0.2898 },
    Printed { multiple: 2.0, training: 0.8180, test: 0.8259, error: 0.3110 },
];

/// As many rounds as the paper has, with as many records as there are for all of them.
pub const WHOLE: Extent = Extent { rounds: 3000, batch: 3, seeds: 3, shielded_divisor: 1 };
/// Some ten minutes on two cores.
pub const QUICK: Extent = Extent { rounds: 200, batch: 10, seeds: 3, shielded_divisor: 1 };
/// Only the last round counts; the others show that it goes on.
const ROWS: u64 = 4;
/// Seeds of the attack: so many times five victims.
const ATTACK_SEEDS: u64 = 2;
const EFFORT: Effort = Effort { iterations: 300, starts: 2 };

/// The base level of the table's noise is Lap(0.05 (t+1)^(0.1 + 0.01 i)); the paper prints 0.01^i.
const NOISE: f64 = 0.05;
const NOISE_EXPONENTS: [f64; 5] = [0.11, 0.12, 0.13, 0.14, 0.15];

/// One noise level, theirs and ours.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Row {
    /// As printed.
    pub printed: Printed,
    /// Ours after the last round, over seeds.
    pub training: Quartiles,
    /// Learners' own, over seeds.
    pub test_own: Quartiles,
    /// What DLG makes of one record of round 0, from releases alone.
    pub attack: Line,
    /// The same by an attacker who uses that the start is public.
    pub attack_with_start: Line,
}

/// The whole table.
#[derive(Clone, Debug, Serialize)]
pub struct Table2 {
    /// How much was run.
    pub extent: Extent,
    /// Learners for themselves, without noise or messages: training and test accuracy.
    pub local: (Quartiles, Quartiles),
    /// The attack without noise.
    pub attack_without_noise: Line,
    /// The error of guesses that are evenly random.
    pub error_of_random: Option<f64>,
    /// One for each noise level.
    pub rows: Vec<Row>,
}

/// How many measurements and reconstructions there are at most.
#[must_use]
pub fn steps(extent: Extent) -> u64 {
    let runs = (PRINTED.len() as u64 + 1) * extent.seeds;
    runs * ROWS + 2 * ATTACK_SEEDS * 5 * (PRINTED.len() as u64 + 1)
}

/// Runs what is missing of the table and the attack, and puts both together.
///
/// # Errors
/// When interrupted; finished runs are kept.
pub fn table(
    extent: Extent,
    store: &mut RunStore<NeuralRun>,
    watch: &Watch<'_>,
) -> Result<Table2, ExperimentError> {
    let multiples: Vec<f64> = PRINTED.iter().map(|printed| printed.multiple).collect();
    let mut configs = Vec::new();
    for &multiple in &multiples {
        configs.push(config(extent, |raw| {
            raw.agreement.noise.scale = Some(OneOrEach::One(multiple * NOISE))
        })?);
    }
    configs.push(config(extent, |raw| raw.agreement.method = Some("local".into()))?);
    run_missing(&configs, extent.seeds, ROWS, store, watch)?;
    let base = config(extent, |raw| raw.agreement.noise.scale = Some(OneOrEach::One(NOISE)))?;
    let settings = |knows_start| Settings {
        labels: Labels::Dlg,
        multiples: [&[0.0], &multiples[..]].concat(),
        records: 1,
        round: 0,
        seeds: ATTACK_SEEDS,
        knows_start,
        effort: EFFORT,
    };
    let attacked = |knows_start| match attack(&base, settings(knows_start), watch) {
        Err(ExperimentError::Interrupted) => {
            Err(ExperimentError::InterruptedButKept { runs: store.runs.len() })
        }
        other => other,
    };
    let (alone, with_start) = (attacked(false)?, attacked(true)?);
    let mut rows = Vec::new();
    for (place, printed) in PRINTED.into_iter().enumerate() {
        let (training, test_own) = last(store, &configs[place], extent.seeds)?;
        let (attack, attack_with_start) = (alone.lines[place + 1], with_start.lines[place + 1]);
        rows.push(Row { printed, training, test_own, attack, attack_with_start });
    }
    Ok(Table2 {
        extent,
        local: last(store, &configs[PRINTED.len()], extent.seeds)?,
        attack_without_noise: alone.lines[0],
        error_of_random: alone.error_of_random,
        rows,
    })
}

fn config(
    extent: Extent,
    change: impl FnOnce(&mut RawExperiment),
) -> Result<LoadedExperiment, ExperimentError> {
    load_preset_with("paper-mnist", |raw| {
        raw.rounds = Some(extent.rounds);
        raw.agreement.records.batch = Some(extent.batch);
        raw.agreement.noise.exponent = Some(OneOrEach::Each(NOISE_EXPONENTS.to_vec()));
        change(raw);
    })
}

/// Training and test accuracy after the last round, over seeds.
fn last(
    store: &RunStore<NeuralRun>,
    loaded: &LoadedExperiment,
    seeds: u64,
) -> Result<(Quartiles, Quartiles), ExperimentError> {
    let runs = kept(store, loaded, seeds)?;
    let over_seeds = |value: fn(&RunPoint) -> f64| {
        let values: Vec<f64> = runs.iter().filter_map(|run| run.points.last()).map(value).collect();
        Quartiles::of(&values).ok_or(ExperimentError::NothingMeasured)
    };
    Ok((over_seeds(|point| point.training)?, over_seeds(|point| point.test_own)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::table2_page;
    use crate::reproduce::neural;

    #[test]
    fn every_level_has_a_config_and_its_own_noise() {
        for extent in [WHOLE, QUICK] {
            let base =
                config(extent, |raw| raw.agreement.noise.scale = Some(OneOrEach::One(NOISE)))
                    .unwrap();
            let scale = base.checked.setup().unwrap().scales();
            assert!(scale.iter().all(|scale| (scale - NOISE).abs() < 1e-12));
        }
    }

    #[test]
    fn the_page_has_theirs_and_ours() {
        let all = |value| Quartiles { low: value, median: value, high: value };
        let line =
            Line { multiple: 1.0, error: 0.31, error_min: 0.3, error_max: 0.32, labels_found: 0.5 };
        let row = |printed| Row {
            printed,
            training: all(0.81),
            test_own: all(0.82),
            attack: line,
            attack_with_start: line,
        };
        let table = Table2 {
            extent: QUICK,
            local: (all(0.7), all(0.71)),
            attack_without_noise: Line { error: 1e-8, labels_found: 1.0, ..line },
            error_of_random: Some(0.3),
            rows: PRINTED.map(row).to_vec(),
        };
        let page = table2_page(&table);
        for text in ["93.5%", "0.279", "81.0%", "none", "no certificate", "NOT PRIVATE"] {
            assert!(page.contains(text), "{text}");
        }
        let csv = super::super::spreadsheet::table2(&table).unwrap();
        assert_eq!(String::from_utf8(csv).unwrap().lines().count(), 1 + PRINTED.len());
    }

    #[test]
    fn without_all_runs_there_is_no_table() {
        let folder = tempfile::tempdir().unwrap();
        let store = neural::open(folder.path(), "table2").unwrap();
        let loaded = config(QUICK, |_| ()).unwrap();
        assert!(matches!(last(&store, &loaded, 1), Err(ExperimentError::NothingMeasured)));
    }
}
