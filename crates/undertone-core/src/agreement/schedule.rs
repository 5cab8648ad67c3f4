//! Checking `[schedule]`, apart from keys that only one method reads.

use super::RawSchedule;
use super::faults::{EXPONENT, Faults, POSITIVE};
use crate::{PowerLaw, Schedule};

pub(super) fn schedule(raw: &RawSchedule, faults: &mut Faults) -> Schedule {
    let step = faults.number("schedule.step", raw.step, &POSITIVE);
    let step_exponent = faults.number("schedule.step_exponent", raw.step_exponent, &EXPONENT);
    let coupling = faults.number("schedule.coupling", raw.coupling, &POSITIVE);
    let coupling_exponent =
        faults.number("schedule.coupling_exponent", raw.coupling_exponent, &EXPONENT);
    Schedule {
        step: PowerLaw::decaying(step, step_exponent),
        coupling: PowerLaw::decaying(coupling, coupling_exponent),
    }
}
