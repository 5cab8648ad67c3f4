//! The search for the worst pair of neighbouring histories.
//!
//! In every world (other records × messages) a list of pairs is tried over a few rounds: opposite
//! directions, flipped labels, coordinates, the diagonal, with parts along ±θ where a saturated loss
//! has its largest gradient. The best is improved by hill climbing and then replayed over the
//! whole run, at the first place and at later ones.

use super::Effort;
use super::replay::{Make, Mark, Outcome, Pair, replay};
use super::subject::{Facts, Subject};
use super::world::{Background, Message, World, record};
use crate::entropy::Shuffle;
use rayon::prelude::*;
use undertone::privacy::worst_record;
use undertone::{Forgetting, ReleaseError};

/// Rounds in which candidates are compared.
const SHORT: u64 = 24;
/// Rounds after the arrival of a later record.
const AFTER_ARRIVAL: u64 = 48;

/// The worst found, each with the world it was found in.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) distance: (Mark, String),
    pub(super) pure: (Mark, String),
    pub(super) zcdp: (Mark, String),
    pub(super) radius: (Mark, String),
    pub(super) pairs: u64,
}

impl Found {
    fn include(&mut self, outcome: &Outcome, place: &str) {
        for (slot, mark) in [
            (&mut self.distance, outcome.distance),
            (&mut self.pure, outcome.pure),
            (&mut self.zcdp, outcome.zcdp),
            (&mut self.radius, outcome.radius),
        ] {
            slot.0.keep_worse(mark);
            if slot.1.is_empty() || slot.0.ratio().to_bits() == mark.ratio().to_bits() {
                *slot = (slot.0, place.to_string());
            }
        }
        self.pairs += 1;
    }

    fn merge(mut self, other: Found) -> Found {
        for (slot, theirs) in [
            (&mut self.distance, other.distance),
            (&mut self.pure, other.pure),
            (&mut self.zcdp, other.zcdp),
            (&mut self.radius, other.radius),
        ] {
            let before = slot.0.ratio().to_bits();
            slot.0.keep_worse(theirs.0);
            if slot.1.is_empty() || slot.0.ratio().to_bits() != before {
                slot.1 = theirs.1;
            }
        }
        self.pairs += other.pairs;
        self
    }
}

/// Tries to break the claims of layer 1.
///
/// # Errors
/// As [`replay`].
pub(super) fn search<S: Subject>(
    facts: &Facts,
    make: Make<'_, S>,
    effort: &Effort,
) -> Result<Found, ReleaseError> {
    let mut worlds = vec![
        (Background::Empty, Message::Push),
        (Background::Empty, Message::PushEvenly),
        (Background::Empty, Message::Swing),
        (Background::Empty, Message::Silent),
        (Background::Aligned, Message::Still),
        (Background::Aligned, Message::Push),
        (Background::Alternating, Message::Swing),
        (Background::Alternating, Message::Silent),
    ];
    if facts.own.as_ref().is_some_and(|own| !own.is_empty()) {
        worlds.extend([(Background::Own, Message::Push), (Background::Own, Message::Still)]);
    }
    let found: Result<Vec<Found>, ReleaseError> = (0_u64..)
        .zip(worlds)
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|(number, (background, message))| {
            let rounds = affordable_rounds(facts, background, effort);
            let world = World::new(facts, background, message, rounds);
            let random = Shuffle::new(facts.seed.wrapping_add(number));
            Hunt { facts, make, world, rounds, random, found: Found::default() }.run(effort)
        })
        .collect();
    Ok(found?.into_iter().fold(Found::default(), Found::merge))
}

/// How much one round costs, in units of about a nanosecond.
fn round_cost(facts: &Facts, background: Background, records: f64) -> f64 {
    let width = if background == Background::Own { facts.dimension() as f64 } else { 4.0 };
    2.0 * records * width + 40.0 * facts.dimension() as f64
}

/// As many of the config's rounds as the effort allows.
fn affordable_rounds(facts: &Facts, background: Background, effort: &Effort) -> u64 {
    let (mut spent, mut rounds) = (0.0, 0);
    let batch = facts.mechanism.batch as f64;
    let mut records = facts.mechanism.warmup as f64;
    let most = facts.mechanism.forgetting.records_in_use(batch).max(records);
    while rounds < facts.rounds.max(2) && (spent < effort.work || rounds < SHORT) {
        records = (records + batch).min(most);
        spent += round_cost(facts, background, records);
        rounds += 1;
    }
    rounds
}

/// Two records that take turns at one place.
#[derive(Clone, Debug)]
struct Point {
    directions: [Vec<f64>; 2],
    labels: [f64; 2],
}

impl Point {
    fn pair(&self, facts: &Facts, place: usize) -> Pair {
        let norm = facts.model.bounds().feature_norm * (1.0 - 1e-12);
        let one = |side: usize| {
            let entries: Vec<(usize, f64)> =
                self.directions[side].iter().copied().enumerate().collect();
            record(facts, &entries, norm, self.labels[side])
        };
        Pair { place, records: [one(0), one(1)] }
    }
}

struct Hunt<'a, S> {
    facts: &'a Facts,
    make: Make<'a, S>,
    world: World,
    rounds: u64,
    random: Shuffle,
    found: Found,
}

impl<S: Subject> Hunt<'_, S> {
    fn run(mut self, effort: &Effort) -> Result<Found, ReleaseError> {
        let facts = self.facts;
        if self.world.records.is_empty() {
            return Ok(self.found);
        }
        let short = self.rounds.min(SHORT);
        let records = self.world.first as f64;
        let one = short as f64 * round_cost(facts, self.world.background, records);
        let affordable = (effort.work / one).clamp(8.0, 200.0) as usize;
        let candidates = candidates(facts);
        let stride = candidates.len().div_ceil(affordable);
        let mut best: Option<(f64, Point, Vec<f64>)> = None;
        for point in candidates.into_iter().step_by(stride) {
            self.try_point(point, short, &mut best)?;
        }
        for step in 0..effort.climb_steps.min(affordable) {
            let Some((_, point, theta)) = &best else { break };
            let reach = 0.5 * 0.96_f64.powi(i32::try_from(step).unwrap_or(i32::MAX));
            let moved = moved(point, theta, facts, reach, &mut self.random);
            self.try_point(moved, short, &mut best)?;
        }
        let Some((_, point, _)) = best else { return Ok(self.found) };
        self.replay(&point.pair(facts, 0), self.rounds)?;
        // A record that is forgotten is followed until it is, and on.
        let after = AFTER_ARRIVAL + facts.mechanism.forgetting.limit().unwrap_or(0);
        for (place, arrival) in self.later_places() {
            let rounds = self.rounds.min(arrival + after);
            self.replay(&point.pair(facts, place), rounds)?;
        }
        Ok(self.found)
    }

    /// Other places for the record, with their rounds: in the warm-up, and in later rounds.
    fn later_places(&self) -> Vec<(usize, u64)> {
        let mut places = vec![(self.world.first / 2, 0), (self.world.first.saturating_sub(1), 0)];
        // Where records are forgotten, the worst need not be the first.
        let worst = match self.facts.mechanism.forgetting {
            Forgetting::Never => None,
            Forgetting::Window { .. } | Forgetting::Decaying { .. } => {
                Some(worst_record(&self.facts.mechanism, self.rounds).arrival.0)
            }
        };
        for arrival in [1, 2, 7, self.rounds / 2].into_iter().chain(worst) {
            places.push((self.world.range(arrival).start, arrival));
        }
        places.retain(|&(place, arrival)| {
            place < self.world.records.len() && arrival + 1 < self.rounds
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
        let pair = point.pair(self.facts, 0);
        if let Some(outcome) = self.replay(&pair, rounds)? {
            let score = outcome.score();
            if best.as_ref().is_none_or(|(known, ..)| !(score <= *known)) {
                *best = Some((score, point, outcome.theta));
            }
        }
        Ok(())
    }

    fn replay(&mut self, pair: &Pair, rounds: u64) -> Result<Option<Outcome>, ReleaseError> {
        let outcome = replay(self.facts, self.make, &self.world, pair, rounds)?;
        if let Some(outcome) = &outcome {
            self.found.include(outcome, &format!("{}, record {}", self.world.name, pair.place));
        }
        Ok(outcome)
    }
}

/// Pairs worth trying anywhere.
fn candidates(facts: &Facts) -> Vec<Point> {
    let features = facts.model.spec().features;
    let axis = |place: usize, value: f64| {
        let mut direction = vec![0.0; features];
        direction[place] = value;
        direction
    };
    // Directions across the first axis: the last axis, and the diagonal of all others.
    let mut across = Vec::new();
    if features > 1 {
        across.push(axis(features - 1, 1.0));
    }
    if features > 2 {
        let mut diagonal = vec![1.0 / ((features - 1) as f64).sqrt(); features];
        diagonal[0] = 0.0;
        across.push(diagonal);
    }
    let [low, high] = facts.labels();
    let labels = [[low, low], [high, high], [low, high], [high, low]];
    let mut points = Vec::new();
    for labels in labels {
        points.push(Point { directions: [axis(0, 1.0), axis(0, -1.0)], labels });
        points.push(Point { directions: [axis(0, 1.0), axis(0, 1.0)], labels });
    }
    for across in &across {
        for along in [0.0, 0.15, -0.15, 0.3, -0.3, 0.6, -0.6, 0.9, -0.9_f64] {
            let rest = (1.0 - along * along).sqrt();
            let combine = |sign: f64| {
                let mut direction: Vec<f64> = across.iter().map(|x| sign * rest * x).collect();
                direction[0] += along;
                direction
            };
            for labels in labels {
                points.push(Point { directions: [combine(1.0), combine(-1.0)], labels });
            }
        }
    }
    points
}

/// A neighbouring point: one or both records turned a little, along ±θ, an axis or at random.
fn moved(point: &Point, theta: &[f64], facts: &Facts, reach: f64, random: &mut Shuffle) -> Point {
    let mut moved = point.clone();
    let features = facts.model.spec().features;
    let kind = random.next_u64() % 5;
    let sides = random.next_u64() % 3;
    let mut signed = || 2.0 * random.unit() - 1.0;
    let mut way = vec![0.0; features];
    match kind {
        0 if theta.len() == features => {
            let norm = theta.iter().map(|x| x * x).sum::<f64>().sqrt();
            let sign = signed();
            if norm > 0.0 {
                way.iter_mut().zip(theta).for_each(|(slot, x)| *slot = sign * x / norm);
            }
        }
        1 => {
            let place = (random.next_u64() % features as u64) as usize;
            way[place] = 2.0 * random.unit() - 1.0;
        }
        2 => {
            let labels = facts.labels();
            let side = (random.next_u64() % 2) as usize;
            moved.labels[side] = labels[(random.next_u64() % 2) as usize];
        }
        _ => {
            let scale = (3.0 / features as f64).sqrt();
            way.iter_mut().for_each(|slot| *slot = scale * signed());
        }
    }
    for (side, direction) in moved.directions.iter_mut().enumerate() {
        if sides as usize != side {
            direction.iter_mut().zip(&way).for_each(|(slot, x)| *slot += reach * x);
        }
    }
    moved
}
