//! What is measured while learners run.

use super::Scenario;
use serde_json::{Value, json};
use std::time::Duration;
use undertone::LearnerId;
use undertone::graph::Graph;
use undertone_node::protocol::{Halt, RoundEnd};
use undertone_simulation::{Observer, Occasion, Sent, SimulatedNode};

/// All that is counted.
pub(super) struct Measures {
    /// For each learner: the first round whose end was not counted yet, and when it last ended a
    /// round.
    next: Vec<u64>,
    last_end: Vec<Option<Duration>>,
    finished: Vec<Option<Duration>>,
    /// How many rounds each learner runs.
    rounds: u64,
    unfinished: usize,
    /// For each learner: rounds that it skipped, rounds that it ended, and releases that it heard
    /// in them.
    parts: Vec<[u32; 3]>,
    /// Which learners have never been away.
    steady: Vec<bool>,
    /// The learners' parameters at the start and after each round, for all of them and for those
    /// never away.
    all: Vec<Sums>,
    all_steady: Vec<Sums>,
    durations: Vec<f32>,
    heard: u64,
    could_be_heard: u64,
    made_up: u64,
    sat_out: u64,
    pub(super) requests: u64,
    replies: u64,
    pub(super) bytes: u64,
    pub(super) went_away: u64,
}

/// The number of learners, the sums of their parameters, and the sum of all squares.
#[derive(Clone)]
struct Sums {
    count: u64,
    sums: Vec<f64>,
    squares: f64,
}

impl Measures {
    pub(super) fn new(scenario: &Scenario) -> Measures {
        let (learners, rounds) = (scenario.learners, scenario.rounds as usize);
        let none = Sums { count: 0, sums: vec![0.0; scenario.dimension], squares: 0.0 };
        Measures {
            next: vec![0; learners],
            last_end: vec![None; learners],
            finished: vec![None; learners],
            rounds: scenario.rounds,
            unfinished: learners,
            parts: vec![[0; 3]; learners],
            steady: vec![true; learners],
            all: vec![none.clone(); rounds + 1],
            all_steady: vec![none; rounds + 1],
            durations: Vec::new(),
            heard: 0,
            could_be_heard: 0,
            made_up: 0,
            sat_out: 0,
            requests: 0,
            replies: 0,
            bytes: 0,
            went_away: 0,
        }
    }

    /// A learner's starting point, and whether it is present from the start.
    pub(super) fn start(&mut self, learner: LearnerId, parameters: &[f64], is_there: bool) {
        let place = learner.0 as usize;
        self.steady[place] = is_there;
        self.add(place, 0, parameters);
    }

    fn add(&mut self, place: usize, round: usize, parameters: &[f64]) {
        self.all[round].add(parameters);
        if self.steady[place] {
            self.all_steady[round].add(parameters);
        }
    }

    pub(super) fn unfinished(&self) -> usize {
        self.unfinished
    }

    /// Disagreement of all learners: at the start, and after each round.
    pub(super) fn disagreement(&self) -> Vec<f64> {
        curve(&self.all)
    }

    /// The learners that set the pace: how many took part in every round, and how many releases
    /// they heard in one.
    fn never_sat_out(&self) -> Value {
        let parts: Vec<_> = self.parts.iter().filter(|part| part[0] == 0 && part[1] > 0).collect();
        let sum = |place: usize| parts.iter().map(|part| f64::from(part[place])).sum::<f64>();
        json!({"learners": parts.len(), "heard_per_round": sum(2) / sum(1).max(1.0)})
    }

    pub(super) fn report(&self, scenario: &Scenario) -> Value {
        let mut durations = self.durations.clone();
        durations.sort_unstable_by(f32::total_cmp);
        let mut finished: Vec<f64> = self.finished.iter().flatten().map(|at| at.as_nanos() as f64 * 1e-9).collect();
        finished.sort_unstable_by(f64::total_cmp);
        let per = |count: u64| count as f64 / (scenario.learners as f64 * scenario.rounds as f64);
        let shown = |share: f64| at_share(&durations, share);
        let median = finished.get(finished.len() / 2);
        json!({
            "rounds_per_second": median.map(|median| scenario.rounds as f64 / median),
            "median_finished_seconds": median,
            "last_finished_seconds": finished.last(),
            "unfinished": self.unfinished,
            "round_seconds": {
                "p1": shown(0.01), "p10": shown(0.1), "p50": shown(0.5), "p90": shown(0.9), "p99": shown(0.99),
                "p999": shown(0.999), "mean": durations.iter().map(|&one| f64::from(one)).sum::<f64>() / durations.len().max(1) as f64,
            },
            "round_seconds_curve": (0..=100).map(|percent| shown(f64::from(percent) / 100.0)).collect::<Vec<_>>(),
            "heard_share": self.heard as f64 / self.could_be_heard.max(1) as f64,
            "made_up_share": self.made_up as f64 / self.could_be_heard.max(1) as f64,
            "sat_out_share": per(self.sat_out),
            "never_sat_out": self.never_sat_out(),
            "asks_per_learner_round": per(self.requests),
            "answers_per_learner_round": per(self.replies),
            "bytes_per_learner_round": per(self.bytes),
            "went_away": self.went_away,
            "disagreement": self.disagreement(),
            "disagreement_never_away": curve(&self.all_steady),
            "never_away_share": self.steady.iter().filter(|&&steady| steady).count() as f64 / scenario.learners as f64,
        })
    }
}

impl Observer for Measures {
    fn sent(&mut self, sent: &Sent<'_>) {
        if sent.occasion == Occasion::Requested {
            self.replies += 1;
        }
    }

    fn requested(&mut self, _by: LearnerId) {
        self.requests += 1;
    }

    fn ended(&mut self, node: &SimulatedNode, end: RoundEnd, is_last: bool, now: Duration) {
        let learner = node.learner();
        let (place, round, now_in) = (learner.id().0 as usize, end.report.round.0, learner.round().0);
        // The end of a round that was lost in a crash happens again, but is counted once.
        if round >= self.next[place] {
            self.next[place] = round + 1;
            self.heard += end.heard.len() as u64;
            self.could_be_heard += node.wire().setup().agreement.graph.neighbours(learner.id()).len() as u64;
            self.made_up += end.late.len() as u64;
            self.parts[place][1] += 1;
            self.parts[place][2] += end.heard.len() as u32;
            if let Some(last) = self.last_end[place].replace(now) {
                self.durations.push(((now - last).as_nanos() as f64 * 1e-9) as f32);
            }
            // Its parameters are those after this round, unless it has started another since.
            if is_last {
                let sat_out = now_in - round - 1;
                self.sat_out += sat_out;
                self.parts[place][0] += sat_out as u32;
                self.add(place, round as usize + 1, learner.private_parameters().for_owner());
            }
        }
        if now_in >= self.rounds && self.finished[place].is_none() {
            self.finished[place] = Some(now);
            self.unfinished -= 1;
        }
    }

    fn halted(&mut self, learner: LearnerId, halt: &Halt) {
        panic!("learner {learner}: {halt}");
    }

    /// A learner goes away: the length of its round no longer depends on the network.
    fn stopping(&mut self, node: &mut SimulatedNode, _open_again: impl FnOnce() -> SimulatedNode) {
        let place = node.learner().id().0 as usize;
        self.went_away += 1;
        self.steady[place] = false;
        self.last_end[place] = None;
    }
}

impl Sums {
    fn add(&mut self, parameters: &[f64]) {
        self.count += 1;
        for (sum, value) in self.sums.iter_mut().zip(parameters) {
            *sum += value;
            self.squares += value * value;
        }
    }

    /// The root mean square distance of a coordinate from its mean over the learners.
    fn spread(&self) -> f64 {
        let count = self.count as f64;
        let of_mean: f64 = self.sums.iter().map(|sum| (sum / count).powi(2)).sum();
        ((self.squares / count - of_mean).max(0.0) / self.sums.len() as f64).sqrt()
    }
}

fn curve(rounds: &[Sums]) -> Vec<f64> {
    rounds.iter().take_while(|sums| sums.count > 1).map(Sums::spread).collect()
}

fn at_share(sorted: &[f32], share: f64) -> Option<f32> {
    let place = (share * sorted.len().saturating_sub(1) as f64).round() as usize;
    sorted.get(place).copied()
}

/// Disagreement when the same starting points are averaged over the same edges, round by round with coupling 1, with
/// no loss function, no noise and no faults.
pub(super) fn averaging(graph: &Graph, starts: &[Vec<f64>], rounds: u64) -> Vec<f64> {
    let mut now = starts.to_vec();
    let mut curve = vec![spread(&now)];
    for _ in 0..rounds {
        let before = now.clone();
        for id in graph.ids() {
            let own = id.0 as usize;
            for &(neighbour, weight) in graph.neighbours(id) {
                let theirs = &before[neighbour.0 as usize];
                for ((value, was), other) in now[own].iter_mut().zip(&before[own]).zip(theirs) {
                    *value += weight * (other - was);
                }
            }
        }
        curve.push(spread(&now));
    }
    curve
}

fn spread(points: &[Vec<f64>]) -> f64 {
    let (count, dimension) = (points.len() as f64, points[0].len());
    let squares = |axis: usize| {
        let mean = points.iter().map(|point| point[axis]).sum::<f64>() / count;
        points.iter().map(|point| (point[axis] - mean).powi(2)).sum::<f64>()
    };
    ((0..dimension).map(squares).sum::<f64>() / (count * dimension as f64)).sqrt()
}
