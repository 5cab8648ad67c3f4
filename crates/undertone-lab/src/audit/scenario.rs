//! The surroundings of the learner under audit: the other records, and what its neighbours send.

use super::audited_learner::Facts;
use super::limits::{self, Extent};
use super::subject::Subject;
use crate::entropy::SeededEntropy;
use undertone::method::{Algorithm1, Method};
use undertone::noise::NoiseKind;
use undertone::privacy::{Mechanism, NoiseLaw};
use undertone::{
    Domain, Forgetting, Learner, LearnerId, LearnerSetup, LossConstants, Memory, PowerLaw, Release,
    ReleaseError, Round, Schedule, Score,
};
use undertone_models::{BoundedRecord, Features, Record};

/// The records that both twins share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Background {
    /// Records without features: no curvature.
    Empty,
    /// All along one axis with one label: the most curvature.
    Aligned,
    /// Along one axis, with alternating signs.
    Alternating,
    /// Those of one learner that shares the facts, by its index in the list.
    Own(usize),
}

/// What all neighbours send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// No neighbour is heard.
    Silent,
    /// Zero.
    Still,
    /// Always a point near the edge of Θ along the features of the first axis. Beyond the edge, the
    /// projection would move the twins together.
    Push,
    /// The same along the diagonal.
    PushEvenly,
    /// Far beyond the edge along the first axis, with alternating signs.
    Swing,
}

impl Background {
    fn name(self, facts: &Facts) -> String {
        match self {
            Background::Empty => "empty records".into(),
            Background::Aligned => "aligned records".into(),
            Background::Alternating => "alternating records".into(),
            Background::Own(index) => format!("records of learner {}", facts.own[index].0),
        }
    }

    /// How many entries a record has on average.
    pub(super) fn width(self, facts: &Facts) -> f64 {
        match self {
            Background::Empty | Background::Aligned | Background::Alternating => 4.0,
            Background::Own(index) => average_entries(&facts.own[index].1),
        }
    }
}

/// The average number of stored entries of a record, estimated from the first few.
pub(super) fn average_entries(records: &[BoundedRecord]) -> f64 {
    let looked_at = records.len().min(64);
    let entries: usize =
        records[..looked_at].iter().map(|record| record.features().entries().count()).sum();
    4.0 + entries as f64 / looked_at.max(1) as f64
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

/// The records and the messages heard, round by round.
pub(super) struct Scenario {
    pub(super) name: String,
    /// None, where the subject refuses any of them.
    pub(super) records: Vec<BoundedRecord>,
    pub(super) extent: Extent,
    message: Message,
}

impl Scenario {
    /// A scenario for subjects that check records as this one does.
    pub(super) fn new(
        facts: &Facts,
        subject: &impl Subject,
        background: Background,
        message: Message,
        extent: Extent,
    ) -> Scenario {
        let count = (extent.first + extent.batch * extent.rounds.saturating_sub(1)) as usize;
        let norm = facts.model.bounds().feature_norm;
        let [low, high] = facts.labels();
        let records: Vec<Record> = match background {
            Background::Own(index) => {
                let own = facts.own[index].1.iter().take(count);
                own.map(|record| record.as_record().clone()).collect()
            }
            Background::Empty => vec![record(facts, &[], 0.0, high); count],
            Background::Aligned => vec![record(facts, &[(0, 1.0)], norm, high); count],
            Background::Alternating => (0..count)
                .map(|index| {
                    let (sign, label) = if index % 2 == 0 { (1.0, low) } else { (-1.0, high) };
                    record(facts, &[(0, sign)], norm, label)
                })
                .collect(),
        };
        let name = format!("{}, {}", background.name(facts), message.name());
        let records: Result<Vec<_>, _> =
            records.into_iter().map(|record| subject.check(record)).collect();
        Scenario { name, records: records.unwrap_or_default(), extent, message }
    }

    /// The range of a round's records.
    pub(super) fn range(&self, round: u64) -> std::ops::Range<usize> {
        let end = |round: u64| (self.extent.first + self.extent.batch * round) as usize;
        let start = if round == 0 { 0 } else { end(round - 1) };
        start.min(self.records.len())..end(round).min(self.records.len())
    }

    /// What the neighbours send in rounds 0 to `rounds` − 1.
    pub(super) fn heard(
        &self,
        facts: &Facts,
        rounds: u64,
    ) -> Result<Vec<Vec<Release>>, ReleaseError> {
        let mut neighbours_heard = self.neighbours_heard(facts);
        (0..rounds).map(|_| neighbours_heard.next_releases()).collect()
    }

    pub(super) fn neighbours_heard(&self, facts: &Facts) -> ScriptedNeighbours {
        ScriptedNeighbours::new(facts, self.message)
    }

    /// The sum of the weights of the neighbours that are heard.
    pub(super) fn weight_heard(&self, facts: &Facts) -> f64 {
        let heard = facts.neighbours.iter().take(limits::neighbours_heard(facts));
        if self.message == Message::Silent { 0.0 } else { heard.map(|&(_, weight)| weight).sum() }
    }

    /// The twins' starting point: the point that the neighbours push them to, or the config's.
    pub(super) fn start(&self, facts: &Facts) -> Option<Vec<f64>> {
        let script = Script::new(facts, self.message);
        matches!(self.message, Message::Push | Message::PushEvenly).then(|| {
            let mut point = vec![0.0; facts.dimension()];
            script.target(Round::ZERO, &mut point);
            // The first gradient has the most weight, so it starts as near to the edge as the
            // projection allows.
            point.iter_mut().for_each(|x| *x *= 0.99 / PUSH);
            point
        })
    }
}

/// How far neighbours push, as a share of the radius.
const PUSH: f64 = 0.9;

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

/// Neighbours that send what the auditor wants, through the real `Learner` and `Release`.
///
/// Each follows a script: its step is 1 and its gradient is the difference to the next message, so
/// θ_{t+1} is that message. Its noise is a billionth of the message; both twins hear the same
/// noise.
pub(super) struct ScriptedNeighbours {
    learners: Vec<Learner<Script>>,
    entropy: SeededEntropy,
}

#[derive(Clone)]
struct Script {
    message: Message,
    radius: f64,
    /// The features of the first axis after expansion, of length 1.
    way: Vec<(usize, f64)>,
}

impl Script {
    fn new(facts: &Facts, message: Message) -> Script {
        let axis = record(facts, &[(0, 1.0)], facts.model.bounds().feature_norm, 0.0);
        let features = facts.model.expand(&axis.features);
        let norm = features.norm();
        let way = features.entries().map(|(index, value)| (index, value / norm)).collect();
        Script { message, radius: facts.mechanism.radius, way }
    }

    fn target(&self, round: Round, out: &mut [f64]) {
        out.fill(0.0);
        let mut along = |length: f64| {
            self.way.iter().for_each(|&(index, value)| out[index] = length * value);
        };
        match self.message {
            Message::Silent | Message::Still => {}
            Message::Push => along(PUSH * self.radius),
            Message::PushEvenly => out.fill(PUSH * self.radius / (out.len() as f64).sqrt()),
            Message::Swing if round.0.is_multiple_of(2) => along(4.0 * self.radius),
            Message::Swing => along(-4.0 * self.radius),
        }
    }
}

impl Memory for Script {
    type Record = ();

    fn observe(&mut self, _theta: &[f64], _batch: &[()]) -> Score {
        Score::default()
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

impl ScriptedNeighbours {
    fn new(facts: &Facts, message: Message) -> ScriptedNeighbours {
        let heard = if message == Message::Silent { 0 } else { limits::neighbours_heard(facts) };
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
            method: Method::Algorithm1(Algorithm1::default()),
        };
        let script = Script::new(facts, message);
        let learner = |id: LearnerId| {
            let script = script.clone();
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
        ScriptedNeighbours { learners, entropy: SeededEntropy::new(0) }
    }

    /// The releases of all of them in the next round.
    pub(super) fn next_releases(&mut self) -> Result<Vec<Release>, ReleaseError> {
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
