//! Limits on time and memory for all layers: the cost of a round, and how much of a config is used.
//!
//! A config may have 10⁶ parameters, 10⁹ records a round and 4·10⁹ rounds. Claims follow the records
//! actually held and the weights actually heard, so a smaller scenario tests the same claims.

use super::Effort;
use super::audited_learner::Facts;
use undertone::{Forgetting, MemoryKind};

/// Longer warm-ups are cut to this, or to less for large models.
const WARMUP_MAX: f64 = 2000.0;
const WARMUP_MIN: f64 = 16.0;
/// The most neighbours that are heard; others count as missing.
const NEIGHBOURS_HEARD_MAX: usize = 32;
/// Rounds in which candidates are compared, if the time limit allows it.
const SHORT: u64 = 24;
/// The fewest rounds in which a cost arises and adds up.
const ROUNDS_MIN: u64 = 3;
/// The most bytes of one list of records, messages or residuals.
const MEMORY: f64 = 64e6;
/// The time to check, score and remember one record.
const OBSERVED: f64 = 100.0;

/// How many records and rounds a scenario has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) rounds: u64,
    /// Records in round 0.
    pub(super) first: u64,
    /// Records in each later round.
    pub(super) batch: u64,
}

impl Extent {
    /// As much of the config as `work` allows, for records with this many entries.
    pub(super) fn affordable(facts: &Facts, width: f64, work: f64) -> Extent {
        let mechanism = &facts.mechanism;
        // Even if the config ends before its second charge, two charges must be seen to add up.
        let wanted = facts.rounds.max(2 * facts.interval() + 1);
        // There are many short replays, so each may take only a small part of the work.
        let part = work / 64.0;
        let short = short_rounds(facts, width, 0.0, part).min(wanted) as f64;
        let held = short * record_cost(facts, width) + OBSERVED;
        let warmup_max = (part / held).clamp(WARMUP_MIN, WARMUP_MAX);
        let warmup = mechanism.warmup.min(warmup_max as u64);
        let records_max = MEMORY / (128.0 + 16.0 * width);
        let fits = (records_max - warmup as f64) / short;
        // Over `short` rounds the histories of a batch add up to short/2 times as many records.
        let pays = (part - held * warmup as f64) / (0.5 * short * held);
        let batch = pays.min(fits).clamp(1.0, mechanism.batch.max(1) as f64) as u64;
        let first = warmup + batch;
        let (mut spent, mut rounds, mut records) = (0.0, 0, warmup as f64);
        let in_use = mechanism.forgetting.records_in_use(batch as f64).max(first as f64);
        let followed = account_cost(facts);
        while rounds < wanted {
            records += batch as f64;
            spent += round_cost(facts, width, records.min(in_use)) + followed;
            if rounds >= ROUNDS_MIN * facts.interval() && (spent > work || records > records_max) {
                break;
            }
            rounds += 1;
        }
        Extent { rounds, first, batch }
    }

    /// The work of a twin in the first `rounds` rounds, records included.
    pub(super) fn cost(&self, facts: &Facts, width: f64, rounds: u64) -> f64 {
        let records = |rounds: u64| (self.first + self.batch * rounds) as f64;
        // Histories grow evenly, so the middle one stands for all.
        let rounds_cost = rounds as f64 * round_cost(facts, width, records(rounds / 2));
        rounds_cost + OBSERVED * records(rounds)
    }

    /// Rounds in which candidates are compared.
    pub(super) fn short(&self, facts: &Facts, width: f64, work: f64) -> u64 {
        short_rounds(facts, width, self.first as f64, work / 64.0).min(self.rounds)
    }

    /// What was left out, for the note of a check.
    pub(super) fn cuts(&self, facts: &Facts) -> String {
        let mechanism = &facts.mechanism;
        let mut text = format!("{} of {} rounds", self.rounds.min(facts.rounds), facts.rounds);
        let warmup = self.first - self.batch;
        if warmup < mechanism.warmup {
            text.push_str(&format!(", warm-up cut to {warmup} of {}", mechanism.warmup));
        }
        if self.batch < mechanism.batch {
            text.push_str(&format!(", batch cut to {} of {}", self.batch, mechanism.batch));
        }
        if facts.interval() < planned_interval(facts) {
            let planned = planned_interval(facts);
            text.push_str(&format!(", interval cut to {} of {planned}", facts.interval()));
        }
        let neighbours_heard = neighbours_heard(facts);
        if neighbours_heard < facts.neighbours.len() {
            let neighbours = facts.neighbours.len();
            text.push_str(&format!(", {neighbours_heard} of {neighbours} neighbours heard"));
        }
        text
    }
}

fn planned_interval(facts: &Facts) -> u64 {
    facts.mechanism.method.describe().interval.unwrap_or(1)
}

/// The work of the account in a round. If records are forgotten, each has an entry.
fn account_cost(facts: &Facts) -> f64 {
    match facts.mechanism.forgetting {
        Forgetting::Never => 0.0,
        forgetting @ (Forgetting::Window { .. } | Forgetting::Decaying { .. }) => {
            100.0 * forgetting.limit().unwrap_or(256).min(1 << 17) as f64
        }
    }
}

/// As many rounds as `part` allows: few enough for many replays, and enough for a charge.
fn short_rounds(facts: &Facts, width: f64, records: f64, part: f64) -> u64 {
    let paid = (part / round_cost(facts, width, records)).min(SHORT as f64) as u64;
    paid.max(ROUNDS_MIN * facts.interval())
}

/// The work for one record of the history in each round.
fn record_cost(facts: &Facts, width: f64) -> f64 {
    match facts.memory {
        // Every 32 records are summed into a vector of the model's size.
        MemoryKind::Exact
        | MemoryKind::Anchored { .. }
        | MemoryKind::Window { .. }
        | MemoryKind::Decaying { rounds: Some(_), .. } => {
            4.0 * width + facts.dimension() as f64 / 16.0
        }
        MemoryKind::Arrival
        | MemoryKind::Moments
        | MemoryKind::Recursive
        | MemoryKind::Polynomial { .. }
        | MemoryKind::Decaying { rounds: None, .. } => 0.0,
    }
}

/// The work of one round of a twin, in units of about a nanosecond.
pub(super) fn round_cost(facts: &Facts, width: f64, records: f64) -> f64 {
    let dimension = facts.dimension() as f64;
    let history = match facts.memory {
        MemoryKind::Exact
        | MemoryKind::Arrival
        | MemoryKind::Window { .. }
        | MemoryKind::Decaying { rounds: Some(_), .. } => 0.0,
        MemoryKind::Recursive => 8.0 * dimension,
        MemoryKind::Moments
        | MemoryKind::Anchored { .. }
        | MemoryKind::Decaying { rounds: None, .. } => dimension * dimension,
        MemoryKind::Polynomial { degree } => dimension.powf(f64::from(degree.max(2))).min(1e9),
    };
    let neighbours_heard = neighbours_heard(facts) as f64;
    let neighbours = facts.neighbours.len() as f64;
    let history = history + records * record_cost(facts, width);
    1000.0
        + history
        + (40.0 + 15.0 * neighbours_heard) * dimension
        + 2.0 * neighbours * (neighbours_heard + 4.0)
}

/// How many neighbours are heard: their parameters and messages must fit into memory.
pub(super) fn neighbours_heard(facts: &Facts) -> usize {
    let fit = MEMORY / (32.0 * facts.dimension() as f64);
    facts.neighbours.len().min(NEIGHBOURS_HEARD_MAX).min((fit as usize).max(1))
}

/// How many replays of work `one` the search of a scenario may make at each stage.
pub(super) fn tries(one: f64, work: f64) -> usize {
    (work / one).clamp(4.0, 200.0) as usize
}

/// How many rounds a layer may run in all, if each takes work `one`.
pub(super) fn rounds_in_all(one: f64, effort: &Effort) -> u64 {
    (effort.layer_work / one) as u64
}

/// How many vectors of the model's size one list may hold, at least `least`.
pub(super) fn vectors(facts: &Facts, least: usize) -> usize {
    ((MEMORY / (8.0 * facts.dimension() as f64)) as usize).max(least)
}

/// How many records with this many entries may be copied for each learner.
pub(super) fn own_records(width: f64) -> u64 {
    (0.25 * MEMORY / (128.0 + 16.0 * width)) as u64
}

/// Whether several scenarios or runs fit into memory at once.
pub(super) fn in_parallel(facts: &Facts) -> bool {
    let dimension = facts.dimension() as f64;
    let history = match facts.memory {
        MemoryKind::Exact
        | MemoryKind::Arrival
        | MemoryKind::Recursive
        | MemoryKind::Window { .. }
        | MemoryKind::Decaying { rounds: Some(_), .. } => 0.0,
        MemoryKind::Moments
        | MemoryKind::Anchored { .. }
        | MemoryKind::Decaying { rounds: None, .. } => 16.0 * dimension * dimension,
        MemoryKind::Polynomial { degree } => 8.0 * dimension.powf(f64::from(degree.max(2))),
    };
    let scenario = 200.0 * dimension + history;
    scenario * rayon::current_num_threads() as f64 <= 2.0 * MEMORY
}
