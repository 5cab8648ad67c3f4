//! Checking `[records]`.

use super::{Faults, RawRecords, RecordForm};

/// The largest batch and warm-up.
const COUNT_MAX: u64 = 1_000_000_000;

pub(super) fn records(raw: &RawRecords, faults: &mut Faults) -> RecordForm {
    let batch = raw.batch.unwrap_or(1);
    if batch == 0 {
        faults.push("records.batch", batch, "must be at least 1");
    }
    let warmup = raw.warmup.unwrap_or(0);
    for (path, value) in [("records.batch", batch), ("records.warmup", warmup)] {
        if value > COUNT_MAX {
            faults.push(path, value, format!("must be at most {COUNT_MAX}"));
        }
    }
    RecordForm {
        label: raw.label.clone(),
        person: raw.person.clone(),
        classes: raw.classes.clone(),
        categorical: raw.categorical.clone(),
        drop: raw.drop.clone().unwrap_or_default(),
        intercept: raw.intercept.unwrap_or(false),
        centre: raw.centre.unwrap_or(false),
        normalise: raw.normalise.unwrap_or(false),
        warmup: warmup.min(COUNT_MAX),
        batch: batch.clamp(1, COUNT_MAX),
    }
}
