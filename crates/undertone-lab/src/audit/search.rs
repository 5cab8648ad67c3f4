//! Searches for the worst pair of neighbouring histories.
//!
//! In every scenario (other records × messages) a list of pairs is tried over a few rounds:
//! opposite directions, flipped labels, coordinates, the diagonal, with parts along ±θ where a
//! saturated loss has its largest gradient. The best pair is improved by hill climbing, and then
//! replayed over the whole run, as the first record and as later ones.

use super::Effort;
use super::audited_learner::Facts;
use super::candidates::{Point, candidate, candidates, moved};
use super::limits::{Extent, in_parallel, tries};
use super::replay::{Make, Measured, Outcome, replay};
use super::scenario::{Background, Message, Scenario};
use super::subject::{Subject, Trial};
use rayon::prelude::*;
use undertone::privacy::worst_record;
use undertone::{Forgetting, ReleaseError};
use undertone_models::PublicRandom;

/// Rounds after the arrival of a later record.
const AFTER_ARRIVAL: u64 = 48;

/// The worst results, each with its scenario.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) distance: (Measured, String),
    pub(super) pure: (Measured, String),
    pub(super) zcdp: (Measured, String),
    pub(super) radius: (Measured, String),
    pub(super) power: (Measured, String),
    pub(super) pairs: u64,
    /// Rounds of the longest replay, and how many of them cost anything.
    pub(super) rounds: u64,
    pub(super) paid: u64,
    /// How much of the config the longest scenario holds.
    pub(super) cuts: String,
}

impl Found {
    fn measured(&mut self) -> [&mut (Measured, String); 5] {
        [&mut self.distance, &mut self.pure, &mut self.zcdp, &mut self.radius, &mut self.power]
    }

    fn include(&mut self, outcome: &Outcome, found_at: &str) {
        let Outcome { distance, pure, zcdp, radius, power, .. } = *outcome;
        for (slot, mark) in self.measured().into_iter().zip([distance, pure, zcdp, radius, power]) {
            slot.0.keep_worse(mark);
            if slot.1.is_empty() || slot.0.ratio().to_bits() == mark.ratio().to_bits() {
                *slot = (slot.0, found_at.to_string());
            }
        }
        self.pairs += 1;
        self.rounds = self.rounds.max(outcome.rounds);
        self.paid = self.paid.max(outcome.paid);
    }

    fn merge(mut self, mut other: Found) -> Found {
        for (slot, theirs) in self.measured().into_iter().zip(other.measured()) {
            let before = slot.0.ratio().to_bits();
            slot.0.keep_worse(theirs.0);
            if slot.1.is_empty() || slot.0.ratio().to_bits() != before {
                slot.1 = std::mem::take(&mut theirs.1);
            }
        }
        self.pairs += other.pairs;
        if other.rounds > self.rounds {
            self.cuts = other.cuts;
        }
        self.rounds = self.rounds.max(other.rounds);
        self.paid = self.paid.max(other.paid);
        self
    }
}

/// Tries to break the claims of the layer `replay`.
///
/// # Errors
/// As [`replay`].
pub(super) fn search<S: Subject>(
    facts: &Facts,
    make: Make<'_, S>,
    effort: &Effort,
) -> Result<Found, ReleaseError> {
    let mut scenarios = vec![
        (Background::Empty, Message::Push),
        (Background::Empty, Message::PushEvenly),
        (Background::Empty, Message::Swing),
        (Background::Empty, Message::Silent),
        (Background::Aligned, Message::Still),
        (Background::Aligned, Message::Push),
        (Background::Alternating, Message::Swing),
        (Background::Alternating, Message::Silent),
    ];
    for (index, (_, records)) in facts.own.iter().enumerate() {
        if !records.is_empty() {
            scenarios.push((Background::Own(index), Message::Push));
            scenarios.push((Background::Own(index), Message::Still));
        }
    }
    let hunt = |(number, &(background, message)): (usize, &(Background, Message))| {
        let width = background.width(facts);
        let extent = Extent::affordable(facts, width, effort.work);
        let subject = make(&Trial::default());
        let scenario = Scenario::new(facts, &subject, background, message, extent);
        let random = PublicRandom::new(facts.seed.wrapping_add(number as u64));
        let found = Found { cuts: extent.cuts(facts), ..Found::default() };
        PairSearch { facts, make, subject, scenario, width, random, found }.run(effort)
    };
    let found: Result<Vec<Found>, ReleaseError> = if in_parallel(facts) {
        scenarios.par_iter().enumerate().map(hunt).collect()
    } else {
        scenarios.iter().enumerate().map(hunt).collect()
    };
    Ok(found?.into_iter().fold(Found::default(), Found::merge))
}

struct PairSearch<'a, S> {
    facts: &'a Facts,
    make: Make<'a, S>,
    /// Checks the records of all.
    subject: S,
    scenario: Scenario,
    width: f64,
    random: PublicRandom,
    found: Found,
}

impl<S: Subject> PairSearch<'_, S> {
    fn run(mut self, effort: &Effort) -> Result<Found, ReleaseError> {
        let facts = self.facts;
        if self.scenario.records.is_empty() {
            return Ok(self.found);
        }
        let extent = self.scenario.extent;
        let short = extent.short(facts, self.width, effort.work);
        let affordable = tries(extent.cost(facts, self.width, short), effort.work);
        let count = candidates(facts);
        let mut best: Option<(f64, Point, Vec<f64>)> = None;
        for number in (0..count).step_by(count.div_ceil(affordable)) {
            self.try_point(candidate(facts, number), short, &mut best)?;
        }
        for step in 0..effort.climb_steps.min(affordable) {
            let Some((_, point, theta)) = &best else { break };
            let reach = 0.5 * 0.96_f64.powi(i32::try_from(step).unwrap_or(i32::MAX));
            let moved = moved(point, theta, facts, reach, &mut self.random);
            self.try_point(moved, short, &mut best)?;
        }
        let Some((_, point, _)) = best else { return Ok(self.found) };
        self.replay(&point, 0, extent.rounds)?;
        // A record is followed until it is forgotten, and for some rounds after that.
        let after = AFTER_ARRIVAL + facts.mechanism.forgetting.limit().unwrap_or(0);
        for (index, arrival) in self.later_arrivals().into_iter().take(affordable) {
            let rounds = extent.rounds.min(arrival.saturating_add(after));
            self.replay(&point, index, rounds)?;
        }
        Ok(self.found)
    }

    /// Other positions of the record, with their rounds: in the warm-up, and in later rounds.
    fn later_arrivals(&self) -> Vec<(usize, u64)> {
        let Extent { rounds, first, .. } = self.scenario.extent;
        let first = first as usize;
        let mut places = vec![(first / 2, 0), (first.saturating_sub(1), 0)];
        // If records are forgotten, the worst record need not be the first.
        let worst = match self.facts.mechanism.forgetting {
            Forgetting::Never => None,
            Forgetting::Window { .. } | Forgetting::Decaying { .. } => {
                Some(worst_record(&self.facts.mechanism, rounds).0)
            }
        };
        for arrival in worst.into_iter().chain([1, 2, 7, rounds / 2]) {
            places.push((self.scenario.range(arrival).start, arrival));
        }
        places.retain(|&(index, arrival)| {
            index < self.scenario.records.len() && arrival + 1 < rounds
        });
        places.dedup();
        places
    }

    fn try_point(
        &mut self,
        point: Point,
        rounds: u64,
        best: &mut Option<(f64, Point, Vec<f64>)>,
    ) -> Result<(), ReleaseError> {
        if let Some(outcome) = self.replay(&point, 0, rounds)? {
            let score = outcome.score();
            if best.as_ref().is_none_or(|(known, ..)| !(score <= *known)) {
                *best = Some((score, point, outcome.point));
            }
        }
        Ok(())
    }

    /// Replays the pair of a point at a place. `None` when a record of it is refused.
    fn replay(
        &mut self,
        point: &Point,
        index: usize,
        rounds: u64,
    ) -> Result<Option<Outcome>, ReleaseError> {
        let Some(pair) = point.pair(self.facts, index, &self.subject) else { return Ok(None) };
        let outcome = replay(self.facts, self.make, &self.scenario, &pair, rounds)?;
        self.found.include(&outcome, &format!("{}, record {index}", self.scenario.name));
        Ok(Some(outcome))
    }
}
