//! The experiment as it was run, for run folders and plans.

use super::{LoadedExperiment, Partition, RawExperiment, RecordOrder};
use crate::stream::source::{DataSource, find_source, record_order};
use std::path::PathBuf;
use undertone::MemoryKind;
use undertone::agreement::{Agreement, MEMORY_CUTOFF, OneOrEach, RawAgreement};
use undertone::privacy::Unit;

/// The experiment as it was run: overrides applied, defaults filled in, noise scales as calibrated.
#[must_use]
pub fn resolved(loaded: &LoadedExperiment, scales: &[f64]) -> RawExperiment {
    let mut raw = loaded.raw.clone();
    raw.agreement = resolved_agreement(&raw.agreement, &loaded.checked.agreement, scales);
    raw.data.repeat = Some(loaded.checked.data.repeat);
    fill_in_source(loaded, &mut raw);
    raw
}

/// An agreement with defaults filled in and noise scales as calibrated.
#[must_use]
pub fn resolved_agreement(
    raw: &RawAgreement,
    agreement: &Agreement,
    scales: &[f64],
) -> RawAgreement {
    let mut raw = raw.clone();
    raw.name = Some(agreement.name.clone());
    raw.unproven = Some(agreement.unproven);
    raw.records.warmup = Some(agreement.records.warmup);
    raw.records.batch = Some(agreement.records.batch);
    raw.records.centre = Some(agreement.records.centre);
    raw.records.normalise = Some(agreement.records.normalise);
    // Neural networks have neither.
    if agreement.neural.is_none() {
        raw.model.ridge = Some(agreement.model.ridge);
        raw.model.lasso = Some(agreement.model.lasso);
        raw.parameters.start_spread = Some(agreement.start_spread);
    }
    match agreement.memory {
        MemoryKind::Anchored { tolerance } => {
            raw.memory.tolerance_exponent = Some(-tolerance.exponent);
        }
        MemoryKind::Decaying { rounds: Some(_), .. } => {
            raw.memory.cutoff.get_or_insert(MEMORY_CUTOFF);
        }
        MemoryKind::Exact
        | MemoryKind::Arrival
        | MemoryKind::Moments
        | MemoryKind::Recursive
        | MemoryKind::Polynomial { .. }
        | MemoryKind::Window { .. }
        | MemoryKind::Decaying { rounds: None, .. } => {}
    }
    if matches!(raw.network.topology.as_deref(), Some("random-regular" | "erdos-renyi")) {
        raw.network.seed.get_or_insert(0);
    }
    raw.memory.kind.get_or_insert_with(|| "exact".into());
    if agreement.graph.edges() > 0 {
        raw.network.weights.get_or_insert_with(|| "uniform".into());
    }
    agreement.method.write(&mut raw);
    fill_in_unit(&mut raw, agreement.unit);
    if agreement.method.describe().gradients.are_of_newest_batch() {
        raw.memory.kind = Some("window".into());
        raw.memory.window = Some(1);
    }
    raw.noise.calibrate = None;
    raw.noise.rounds = None;
    raw.noise.scale = Some(match scales {
        [first, rest @ ..] if rest.iter().all(|scale| scale.to_bits() == first.to_bits()) => {
            OneOrEach::One(*first)
        }
        scales => OneOrEach::Each(scales.to_vec()),
    });
    raw
}

/// Writes out what every budget is about.
fn fill_in_unit(raw: &mut RawAgreement, unit: Unit) {
    raw.privacy.unit = Some(unit.kind().noun().into());
    match unit {
        Unit::Record => {}
        Unit::LimitedPerson { records } => raw.privacy.records_per_person = Some(records),
        Unit::GroupedPerson { warmup, per_round } => {
            raw.privacy.persons_warmup = Some(warmup);
            raw.privacy.persons_per_round = Some(per_round);
        }
    }
}

/// Writes out path, order and test fraction, so that the file means the same from any folder.
fn fill_in_source(loaded: &LoadedExperiment, raw: &mut RawExperiment) {
    let (in_time_order, own_test_rows) = match find_source(&loaded.checked.data, &loaded.folder) {
        Ok(DataSource::Known(recipe)) => (recipe.in_time_order, recipe.test_rows),
        Ok(DataSource::File(path)) => {
            // A relative path would not work from the run folder.
            let path: PathBuf = std::path::absolute(&path).unwrap_or(path);
            raw.data.source = Some(path.display().to_string());
            (false, 0)
        }
        // Nothing is known about data that were not found.
        Err(_) => (false, 0),
    };
    let data = &loaded.checked.data;
    let order = match record_order(data, in_time_order) {
        RecordOrder::Shuffled => "shuffled",
        RecordOrder::File => "file",
    };
    // The partition `in-order` implies its own order.
    if data.partition != Partition::InOrder || data.order.is_some() {
        raw.data.order = Some(order.to_string());
    }
    // Without a fraction the data set's own test records are used, where it has any.
    if own_test_rows == 0 {
        raw.data.test_fraction.get_or_insert(0.0);
    }
}
