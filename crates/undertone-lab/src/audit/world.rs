//! Everything around the learner under audit: the other records, and what its neighbours say.

use super::subject::Facts;
use crate::entropy::SeededEntropy;
use undertone::noise::NoiseKind;
use undertone::privacy::{Mechanism, NoiseLaw, Rule};
use undertone::{
    Domain, Forgetting, Learner, LearnerId, LearnerSetup, LossConstants, Memory, PowerLaw,
    RecordError, Release, ReleaseError, Round, Schedule, Score,
};
use undertone_models::{Features, Record};

/// Longer warm-ups are cut: the account follows the records actually held, so its claims stay sharp.
const WARMUP_MAX: u64 = 2000;
/// With more neighbours than this the others count as missing, which the account follows as well.
const SPEAKERS_MAX: usize = 32;

/// The records that do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Background {
    /// Records without features: no curvature.
    Empty,
    /// All along one axis with one label: the most curvature.
    Aligned,
    /// Along one axis, to and fro.
    Alternating,
    /// The learner's own.
    Own,
}

/// What all neighbours say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// Nobody is heard.
    Silent,
    /// Zero.
    Still,
    /// Nearly at the edge of Θ along the first axis, always. Beyond it the projection would draw the
    /// twins together.
    Push,
    /// The same along the diagonal.
    PushEvenly,
    /// Far beyond the edge along the first axis, to and fro.
    Swing,
}

impl Background {
    fn name(self) -> &'static str {
        match self {
            Background::Empty => "empty records",
            Background::Aligned => "aligned records",
            Background::Alternating => "alternating records",
            Background::Own => "own records",
        }
    }
}

impl Message {
    fn name(self) -> &'static str {
        match self {
            Message::Silent => "nobody heard",
            Message::Still => "neighbours at zero",
            Message::Push => "neighbours pushing along an axis",
            Message::PushEvenly => "neighbours pushing along the diagonal",
            Message::Swing => "neighbours swinging",
        }
    }
}

/// A stream and what is heard, round by round.
pub(super) struct World {
    pub(super) name: String,
    pub(super) background: Background,
    pub(super) records: Vec<Record>,
    pub(super) first: usize,
    batch: usize,
    message: Message,
}

impl World {
    /// A world of `rounds` rounds, with as many records as the config plans.
    pub(super) fn new(
        facts: &Facts,
        background: Background,
        message: Message,
        rounds: u64,
    ) -> World {
        let first = facts.mechanism.warmup.min(WARMUP_MAX) + facts.mechanism.batch;
        World::with_first(facts, background, message, rounds, first)
    }

    /// The same with `first` records in round 0.
    pub(super) fn with_first(
        facts: &Facts,
        background: Background,
        message: Message,
        rounds: u64,
        first: u64,
    ) -> World {
        let count = (first + facts.mechanism.batch * rounds.saturating_sub(1)) as usize;
        let norm = facts.model.bounds().feature_norm;
        let [low, high] = facts.labels();
        let records = match (background, &facts.own) {
            (Background::Own, Some(own)) => own.iter().take(count).cloned().collect(),
            (Background::Empty | Background::Own, _) => {
                vec![record(facts, &[], 0.0, high); count]
            }
            (Background::Aligned, _) => vec![record(facts, &[(0, 1.0)], norm, high); count],
            (Background::Alternating, _) => (0..count)
                .map(|place| {
                    let (sign, label) = if place % 2 == 0 { (1.0, low) } else { (-1.0, high) };
                    record(facts, &[(0, sign)], norm, label)
                })
                .collect(),
        };
        World {
            name: format!("{}, {}", background.name(), message.name()),
            background,
            records,
            first: first as usize,
            batch: facts.mechanism.batch as usize,
            message,
        }
    }

    /// Where the records of a round lie.
    pub(super) fn range(&self, round: u64) -> std::ops::Range<usize> {
        let end = |round: u64| self.first + self.batch * round as usize;
        let start = if round == 0 { 0 } else { end(round - 1) };
        start.min(self.records.len())..end(round).min(self.records.len())
    }

    /// What the neighbours send in rounds 0 to `rounds` − 1.
    pub(super) fn heard(
        &self,
        facts: &Facts,
        rounds: u64,
    ) -> Result<Vec<Vec<Release>>, ReleaseError> {
        let mut speakers = Speakers::new(facts, self.message);
        (0..rounds).map(|_| speakers.say()).collect()
    }

    pub(super) fn speakers(&self, facts: &Facts) -> Speakers {
        Speakers::new(facts, self.message)
    }
}

/// A sparse record along some axes, of the given norm.
pub(super) fn record(facts: &Facts, entries: &[(usize, f64)], norm: f64, label: f64) -> Record {
    let length = entries.iter().map(|(_, x)| x * x).sum::<f64>().sqrt();
    let factor = if length > 0.0 { norm / length } else { 0.0 };
    let kept = || entries.iter().filter(|(_, value)| value.abs() > 0.0);
    let mut features = Features::Sparse {
        dimension: facts.model.spec().features as u32,
        indices: kept().map(|&(axis, _)| axis as u32).collect(),
        values: kept().map(|(_, value)| value * factor).collect(),
    };
    features.clip_norm(norm);
    Record { features, label }
}

/// Neighbours that say what the auditor wants, through the same `Learner` and the same `Release`.
///
/// Each follows a script: its step is 1 and its gradient is the way to the next message, so θ_{t+1}
/// is that message. Their noise is a billionth of the message; both twins hear the same anyway.
pub(super) struct Speakers {
    learners: Vec<Learner<Script>>,
    entropy: SeededEntropy,
}

struct Script {
    message: Message,
    radius: f64,
}

impl Script {
    fn target(&self, round: Round, out: &mut [f64]) {
        out.fill(0.0);
        match self.message {
            Message::Silent | Message::Still => {}
            Message::Push => out[0] = 0.9 * self.radius,
            Message::PushEvenly => out.fill(0.9 * self.radius / (out.len() as f64).sqrt()),
            Message::Swing => {
                out[0] =
                    if round.0.is_multiple_of(2) { 4.0 * self.radius } else { -4.0 * self.radius };
            }
        }
    }
}

impl Memory for Script {
    type Record = ();

    fn observe(&mut self, _theta: &[f64], _batch: &[()]) -> Result<Score, RecordError> {
        Ok(Score::default())
    }

    fn gradient(&mut self, round: Round, theta: &[f64], out: &mut [f64]) {
        self.target(round.next(), out);
        for (slot, own) in out.iter_mut().zip(theta) {
            *slot = own - *slot;
        }
    }

    fn records(&self) -> u64 {
        0
    }

    fn forgetting(&self) -> Forgetting {
        Forgetting::Never
    }

    fn error_bound(&self) -> PowerLaw {
        PowerLaw::ZERO
    }
}

impl Speakers {
    fn new(facts: &Facts, message: Message) -> Speakers {
        let heard = if message == Message::Silent { 0 } else { SPEAKERS_MAX };
        let radius = facts.mechanism.radius;
        let scale = PowerLaw { initial: radius * (-30f64).exp2(), exponent: 0.0 };
        let mechanism = Mechanism {
            dimension: facts.dimension(),
            radius: 8.0 * radius,
            constants: LossConstants {
                smoothness: 0.0,
                strong_convexity: 0.0,
                gradient_spread: 0.0,
                gradient_norm: 0.0,
            },
            schedule: Schedule {
                step: PowerLaw { initial: 1.0, exponent: 0.0 },
                coupling: PowerLaw::ZERO,
            },
            weight: 0.0,
            weight_min: 0.0,
            warmup: 0,
            batch: 0,
            memory_error: PowerLaw::ZERO,
            forgetting: Forgetting::Never,
            noise: NoiseLaw { kind: NoiseKind::Laplace, scale },
            noise_max: scale,
            rule: Rule::Tight,
        };
        let learner = |id: LearnerId| {
            let script = Script { message, radius };
            let mut start = vec![0.0; mechanism.dimension];
            script.target(Round::ZERO, &mut start);
            let domain = Domain::Ball { radius: mechanism.radius };
            let setup = LearnerSetup {
                id,
                neighbours: Vec::new(),
                mechanism,
                cap: None,
                domain,
                lasso: 0.0,
            };
            Learner::new(setup, script).starting_at(&start)
        };
        let learners = facts.neighbours.iter().take(heard).map(|&(id, _)| learner(id)).collect();
        Speakers { learners, entropy: SeededEntropy::new(0) }
    }

    /// What all of them send in the next round.
    pub(super) fn say(&mut self) -> Result<Vec<Release>, ReleaseError> {
        let entropy = &mut self.entropy;
        self.learners
            .iter_mut()
            .map(|learner| {
                let release = learner.release(entropy)?;
                learner.absorb(&[]);
                Ok(release)
            })
            .collect()
    }
}
