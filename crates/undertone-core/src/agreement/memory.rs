//! Checking `[memory]`.

use super::{Faults, Range, RawMemory};
use crate::{Loss, MemoryKind, ModelSpec, PowerLaw};

/// The longest window and the slowest decay. The account holds this many entries.
const ROUNDS_MAX: u64 = 100_000;
/// The default of `memory.cutoff`: a record is dropped when its weight is below this share of a new one's.
pub const MEMORY_CUTOFF: f64 = 1e-3;

pub(super) fn memory(raw: &RawMemory, model: &ModelSpec, faults: &mut Faults) -> MemoryKind {
    refuse_meaningless_keys(raw, faults);
    match raw.kind.as_deref() {
        None | Some("exact") => MemoryKind::Exact,
        Some("moments") => MemoryKind::Moments,
        Some("recursive") => MemoryKind::Recursive,
        Some("polynomial") => match raw.degree {
            Some(degree @ (2 | 4 | 6)) => MemoryKind::Polynomial { degree },
            found => {
                let value = found.map_or(String::new(), |degree| degree.to_string());
                faults.push("memory.degree", value, "must be 2, 4 or 6");
                MemoryKind::Exact
            }
        },
        Some("anchored") => {
            let initial = faults.number("memory.tolerance", raw.tolerance, Range::Positive);
            let exponent = Some(raw.tolerance_exponent.unwrap_or(0.0));
            let exponent = faults.number("memory.tolerance_exponent", exponent, Range::Exponent);
            MemoryKind::Anchored { tolerance: PowerLaw::decaying(initial, exponent) }
        }
        Some("arrival") => MemoryKind::Arrival,
        Some("window") => MemoryKind::Window { rounds: window(raw, faults) },
        Some("decaying") => decaying(raw, model, faults),
        Some(other) => {
            let needed = "must be one of exact, moments, recursive, polynomial, anchored, arrival, window, decaying";
            faults.push("memory.kind", format!("\"{other}\""), needed);
            MemoryKind::Exact
        }
    }
}

/// The memory of methods whose steps use the newest batch only.
pub(super) fn newest_batch(raw: &RawMemory, faults: &mut Faults) -> MemoryKind {
    if let Some(other) = raw.kind.as_deref().filter(|&kind| kind != "window") {
        let needed = "this method steps along the newest batch; remove it";
        faults.push("memory.kind", format!("\"{other}\""), needed);
    }
    if let Some(rounds) = raw.window.filter(|&rounds| rounds != 1) {
        faults.push("memory.window", rounds, "this method steps along the newest batch: 1");
    }
    MemoryKind::Window { rounds: 1 }
}

fn window(raw: &RawMemory, faults: &mut Faults) -> u64 {
    let needed = format!("must be 1 to {ROUNDS_MAX} rounds");
    match raw.window {
        Some(rounds) if (1..=ROUNDS_MAX).contains(&rounds) => return rounds,
        Some(rounds) => faults.push("memory.window", rounds, needed),
        None => faults.missing("memory.window", needed),
    }
    1
}

fn decaying(raw: &RawMemory, model: &ModelSpec, faults: &mut Faults) -> MemoryKind {
    let factor = faults.number("memory.factor", raw.factor, Range::Factor);
    match model.loss {
        // Statistics of all records cost no more than statistics of some.
        Loss::Squared => {
            let only = "a loss other than the squared one";
            faults.unused("memory.cutoff", raw.cutoff.as_ref(), only);
            MemoryKind::Decaying { factor, rounds: None }
        }
        Loss::Power { .. }
        | Loss::Huber { .. }
        | Loss::Logistic
        | Loss::Softmax { .. }
        | Loss::Declared { .. }
        | Loss::Neural { .. } => {
            let cutoff = Some(raw.cutoff.unwrap_or(MEMORY_CUTOFF));
            let cutoff = faults.number("memory.cutoff", cutoff, Range::Probability);
            let rounds = cutoff_rounds(factor, cutoff);
            if rounds > ROUNDS_MAX {
                let needed = format!(
                    "with factor {factor} records would be kept for {rounds} rounds, and {ROUNDS_MAX} is the most"
                );
                faults.push("memory.cutoff", cutoff, needed);
            }
            MemoryKind::Decaying { factor, rounds: Some(rounds.clamp(1, ROUNDS_MAX)) }
        }
    }
}

/// The first age at which the weight is below the cut-off.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive number; casts saturate"
)]
fn cutoff_rounds(factor: f64, cutoff: f64) -> u64 {
    // A weight that is equal to the cut-off on paper must not fall below it by a rounding error.
    let ages = cutoff.ln() / factor.ln() * (1.0 + 1e-12);
    (ages.floor() as u64).saturating_add(1)
}

fn refuse_meaningless_keys(raw: &RawMemory, faults: &mut Faults) {
    let kind = raw.kind.as_deref();
    if kind != Some("anchored") {
        faults.unused("memory.tolerance", raw.tolerance.as_ref(), "kind = \"anchored\"");
        let exponent = raw.tolerance_exponent.as_ref();
        faults.unused("memory.tolerance_exponent", exponent, "kind = \"anchored\"");
    }
    if kind != Some("polynomial") {
        faults.unused("memory.degree", raw.degree.as_ref(), "kind = \"polynomial\"");
    }
    if kind != Some("window") {
        faults.unused("memory.window", raw.window.as_ref(), "kind = \"window\"");
    }
    if kind != Some("decaying") {
        faults.unused("memory.factor", raw.factor.as_ref(), "kind = \"decaying\"");
        faults.unused("memory.cutoff", raw.cutoff.as_ref(), "kind = \"decaying\"");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_kept_while_their_weight_is_not_below_the_cutoff() {
        for (factor, cutoff) in [(0.5, 0.25), (0.9, 1e-3), (0.999, 1e-3), (0.3, 0.9)] {
            let rounds = cutoff_rounds(factor, cutoff);
            let weight = |age: u64| f64::powf(factor, age as f64);
            assert!(weight(rounds) < cutoff && weight(rounds - 1) >= cutoff * (1.0 - 1e-9));
        }
    }
}
