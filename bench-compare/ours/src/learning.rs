//! Learning: one learner's stream, whole networks, and memories early and late.

use crate::network::Network;
use crate::{MEASURED, configs, median, unit};
use std::sync::Arc;
use std::time::{Duration, Instant};
use undertone::noise::OsEntropy;
use undertone::{LearnerId, Round};
use undertone::OnlineLearner;
use undertone_lab::{RunEntropy, Setup};
use undertone_models::{BoundedRecord, Features, Record};

/// Dense rows of norm about a half, with linearly separable labels.
pub(crate) fn rows(count: usize, features: usize) -> Vec<Record> {
    let mut state = 7;
    let scale = 1.7 / (features as f64).sqrt();
    let mut row = || -> Vec<f64> { (0..features).map(|_| (unit(&mut state) - 0.5) * scale).collect() };
    let line = row();
    (0..count)
        .map(|_| {
            let values = row();
            let score: f64 = values.iter().zip(&line).map(|(a, b)| a * b).sum();
            Record::new(Features::Dense(values.into()), f64::from(score > 0.0))
        })
        .collect()
}

/// The same for the learners of a setup, checked.
pub(crate) fn bounded_rows(setup: &Setup, count: usize) -> Vec<BoundedRecord> {
    let checker = setup.record_checker();
    let rows = rows(count, setup.agreement.model.features).into_iter();
    rows.map(|row| checker.check(row).expect("a record")).collect()
}

/// Rows a second of a private logistic regression that takes one row at a time: every gradient once, a paid
/// and noisy step for every 32 rows.
///
/// The learner takes ownership of rows, so they are made before the clock starts, as for the other
/// systems.
pub(crate) fn logistic(features: usize) -> f64 {
    let mut learner = OnlineLearner::new(configs::alone(features), RunEntropy::new(None)).expect("a learner");
    let rows = rows(4096, features);
    let (mut taken, mut time) = (0, Duration::ZERO);
    while time < MEASURED {
        let handed_over = rows.clone();
        let begin = Instant::now();
        for row in handed_over {
            learner.learn_record(row).expect("within the budget");
        }
        // The first pass warms up.
        time += if taken > 0 { begin.elapsed() } else { Duration::ZERO };
        taken += rows.len();
    }
    (taken - rows.len()) as f64 / time.as_secs_f64()
}

/// Two learners, n = 112, with a memory given by name.
pub(crate) fn pair(memory: &str) -> Arc<Setup> {
    ring(2, memory)
}

fn ring(learners: usize, memory: &str) -> Arc<Setup> {
    configs::ring(learners, 112, configs::loss_of(memory), configs::memory(memory))
}

/// Rounds a second of Algorithm 1 from the first round on, n = 112, with that memory.
///
/// The records of all learners are the same, which changes no cost. Few learners run in one thread.
pub(crate) fn rounds(learners: usize, count: u64, memory: &str) -> f64 {
    let setup = ring(learners, memory);
    let records = bounded_rows(&setup, count as usize + 1);
    let mut network = Network::new(setup, learners >= 50);
    let begin = Instant::now();
    // One more, because the last is not absorbed.
    for record in &records {
        network.round(|_| std::slice::from_ref(record));
    }
    count as f64 / begin.elapsed().as_secs_f64()
}

/// Microseconds a round of one learner with a memory, after so many rounds: the median of fresh learners, each over a
/// fixed stretch that begins there.
pub(crate) fn memory(kind: &str, start: u64) -> f64 {
    let setup = pair(kind);
    let rows = bounded_rows(&setup, 1024);
    median((0..FRESH_LEARNERS).map(|_| seconds_of_rounds(&setup, &rows, start)).collect()) * 1e6
}

const FRESH_LEARNERS: usize = 5;
const STRETCH_MOST: u64 = 2000;

fn seconds_of_rounds(setup: &Setup, rows: &[BoundedRecord], start: u64) -> f64 {
    let mut learner = setup.learner(LearnerId(0)).expect("a learner");
    let mut other = setup.learner(LearnerId(1)).expect("a learner");
    let mut next = 0;
    let mut round = || {
        let row = &rows[next % rows.len()..=next % rows.len()];
        next += 1;
        learner.observe(row);
        let own = learner.release(&mut OsEntropy).expect("a release");
        let theirs = other.release(&mut OsEntropy).expect("a release");
        learner.absorb(&[&theirs]);
        other.absorb(&[&own]);
        learner.round()
    };
    while round() < Round(start) {}
    let stretch = start.min(STRETCH_MOST);
    let begin = Instant::now();
    (0..stretch).for_each(|_| {
        round();
    });
    begin.elapsed().as_secs_f64() / stretch as f64
}
