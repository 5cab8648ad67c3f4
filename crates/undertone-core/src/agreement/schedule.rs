//! Checking `[schedule]`, apart from keys that only one method reads.

use super::{Faults, Range, RawSchedule};
use crate::{PowerLaw, Schedule};

pub(super) fn schedule(raw: &RawSchedule, faults: &mut Faults) -> Schedule {
    let step = faults.number("schedule.step", raw.step, Range::Positive);
    let step_exponent = faults.number("schedule.step_exponent", raw.step_exponent, Range::Exponent);
    let coupling = faults.number("schedule.coupling", raw.coupling, Range::Positive);
    let coupling_exponent =
        faults.number("schedule.coupling_exponent", raw.coupling_exponent, Range::Exponent);
    Schedule {
        step: PowerLaw::decaying(step, step_exponent),
        coupling: PowerLaw::decaying(coupling, coupling_exponent),
    }
}
