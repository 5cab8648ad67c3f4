//! The cost of a round for each memory, with a history of 1 000 and of 100 000 records.
//!
//! `cargo bench -p undertone-models --bench memory` first prints whole simulated rounds (observe one
//! record, then the history gradient; for the anchored memory with every re-expansion), then
//! micro-benchmarks. Records are like those of the mushroom data: 21 ones of 112, scaled to norm 1.

#![expect(clippy::print_stdout, reason = "a bench reports on standard output")]
#![allow(clippy::unwrap_used, reason = "a bench may stop at once")]

use divan::{Bencher, black_box};
use std::sync::Arc;
use std::time::{Duration, Instant};
use undertone_core::{DataBounds, Loss, Memory, MemoryKind, ModelSpec, PowerLaw, Round};
use undertone_models::{AnyMemory, BoundedRecord, Features, Model, PublicRandom, Record};

const FEATURES: usize = 112;
const GROUPS: usize = 21;
const EARLY: u64 = 1_000;
const LATE: u64 = 100_000;
const WINDOW: u64 = 1_000;
const TOLERANCE: PowerLaw = PowerLaw { initial: 0.01, exponent: 0.0 };

fn main() {
    // Only `cargo bench` says so; in test mode the micro-benchmarks alone run, once each.
    if std::env::args().any(|argument| argument == "--bench") {
        report();
    }
    divan::main();
}

/// What the data of a bench are drawn from.
#[derive(Clone)]
struct Dice(PublicRandom);

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice(PublicRandom::new(seed))
    }

    fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.0.next_u64() % limit as u64).unwrap()
    }

    fn direction(&mut self, norm: f64) -> Vec<f64> {
        let mut vector: Vec<f64> =
            (0..FEATURES).map(|_| (0..12).map(|_| self.unit()).sum::<f64>() - 6.0).collect();
        let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        vector.iter_mut().for_each(|x| *x *= norm / length);
        vector
    }

    /// One category set in each of 21 groups, as one-hot encoded data has.
    fn record(&mut self, kind: MemoryKind) -> BoundedRecord {
        let groups = if kind == MemoryKind::Recursive { 1 } else { GROUPS };
        let indices: Box<[u32]> = (0..groups)
            .map(|group| {
                let (start, end) = (group * FEATURES / groups, (group + 1) * FEATURES / groups);
                u32::try_from(start + self.below(end - start)).unwrap()
            })
            .collect();
        let values = vec![1.0; groups].into();
        let dimension = u32::try_from(FEATURES).unwrap();
        let mut features = Features::Sparse { dimension, indices, values };
        features.clip_norm(1.0);
        let label = if self.0.next_u64() & 1 == 0 { 0.0 } else { 1.0 };
        model(kind).record_checker(kind).check(Record { features, label }).unwrap()
    }
}

/// θ moving as under Algorithm 1: shrinking random steps and a pull to a fixed point.
#[derive(Clone)]
struct Walk {
    theta: Vec<f64>,
    centre: Vec<f64>,
}

impl Walk {
    fn new(dice: &mut Dice) -> Walk {
        Walk { theta: vec![0.0; FEATURES], centre: dice.direction(3.0) }
    }

    #[expect(clippy::cast_precision_loss, reason = "small rounds")]
    fn step(&mut self, round: u64, dice: &mut Dice) {
        let t = (round + 1) as f64;
        let (noise, keep) = (dice.direction(0.5 * t.powf(-0.54)), 1.0 - 0.6 * t.powf(-0.65));
        for ((x, &centre), noise) in self.theta.iter_mut().zip(&self.centre).zip(noise) {
            *x = centre + keep * (*x - centre) + noise;
        }
    }
}

fn model(kind: MemoryKind) -> Model {
    let loss = match kind {
        MemoryKind::Moments => Loss::Squared,
        MemoryKind::Recursive => Loss::Power { degree: 4 },
        MemoryKind::Exact
        | MemoryKind::Polynomial { .. }
        | MemoryKind::Arrival
        | MemoryKind::Anchored { .. }
        | MemoryKind::Window { .. }
        | MemoryKind::Decaying { .. } => Loss::Logistic,
    };
    let spec = ModelSpec {
        loss,
        features: FEATURES,
        degree: 1,
        ridge: 0.01,
        lasso: 0.0,
        clip: f64::INFINITY,
    };
    let bounds = DataBounds { feature_norm: 1.0, label: 1.0, radius: 10.0 };
    Model::new(spec, bounds).unwrap()
}

fn memory(kind: MemoryKind) -> AnyMemory {
    AnyMemory::new(kind, Arc::new(model(kind))).unwrap()
}

fn dense_record(kind: MemoryKind, features: Vec<f64>, label: f64) -> BoundedRecord {
    model(kind).record_checker(kind).check(Record::dense(features, label)).unwrap()
}

fn expansions(memory: &AnyMemory) -> u64 {
    if let AnyMemory::Anchored(memory) = memory { memory.expansions() } else { 0 }
}

/// One learner between two rounds; a copy replays the rounds that follow.
#[derive(Clone)]
struct Run {
    kind: MemoryKind,
    memory: AnyMemory,
    dice: Dice,
    walk: Walk,
    round: u64,
    out: Vec<f64>,
}

impl Run {
    fn new(kind: MemoryKind) -> Run {
        let mut dice = Dice::new(7);
        let walk = Walk::new(&mut dice);
        Run { kind, memory: memory(kind), dice, walk, round: 0, out: vec![0.0; FEATURES] }
    }

    /// Runs to a round, with a gradient in every `every`-th one, and returns the time spent.
    fn advance(&mut self, to: u64, every: u64) -> Duration {
        let mut spent = Duration::ZERO;
        while self.round < to {
            let record = [self.dice.record(self.kind)];
            let started = Instant::now();
            self.memory.observe(&self.walk.theta, &record);
            if self.round.is_multiple_of(every) {
                let theta = black_box(&self.walk.theta);
                self.memory.gradient(Round(self.round), theta, &mut self.out);
            }
            spent += started.elapsed();
            self.walk.step(self.round, &mut self.dice);
            self.round += 1;
        }
        spent
    }

    /// Microseconds a round over the next window: the fastest of several replays of all of it.
    fn window(&mut self) -> f64 {
        // The exact memory is so slow late that one gradient in fifty must do.
        let every = if self.kind == MemoryKind::Exact { 50 } else { 1 };
        let replays = if self.kind == MemoryKind::Exact { 2 } else { 9 };
        let end = self.round + WINDOW;
        let fastest = (0..replays).map(|_| self.clone().advance(end, every)).min().unwrap();
        self.advance(end, every);
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let gradients = (WINDOW / every) as f64;
        fastest.as_secs_f64() * 1e6 / gradients
    }
}

/// Runs every round up to the end of the late window and prints the cost in both windows.
fn report() {
    println!("one round (observe one record, gradient), n = {FEATURES}, {GROUPS} non-zeros");
    println!("expansions: before t = 1 000, from there to 2 000, to 100 000, to 101 000");
    let anchored =
        |initial| MemoryKind::Anchored { tolerance: PowerLaw { initial, exponent: 0.0 } };
    let kinds = [
        ("exact", MemoryKind::Exact),
        ("moments", MemoryKind::Moments),
        ("recursive", MemoryKind::Recursive),
        ("polynomial", MemoryKind::Polynomial { degree: 2 }),
        ("anchored 1e-2", anchored(1e-2)),
        ("anchored 1e-3", anchored(1e-3)),
        ("anchored 1e-4", anchored(1e-4)),
        ("anchored 1e-5", anchored(1e-5)),
    ];
    let mut exact = vec![f64::NAN; FEATURES];
    for (name, kind) in kinds {
        let mut run = Run::new(kind);
        // Outside its windows the exact memory only collects: its gradients change nothing.
        let every = if kind == MemoryKind::Exact { u64::MAX } else { 1 };
        let mut whole = run.advance(EARLY, every);
        let before = expansions(&run.memory);
        let early = run.window();
        let until_early = expansions(&run.memory);
        whole += run.advance(LATE, every);
        let until_late = expansions(&run.memory);
        let late = run.window();
        // Records and walk are the same for every logistic memory, so gradients can be compared.
        run.memory.gradient(Round(run.round), &run.walk.theta, &mut run.out);
        let error = match kind {
            MemoryKind::Moments | MemoryKind::Recursive => f64::NAN,
            MemoryKind::Exact
            | MemoryKind::Polynomial { .. }
            | MemoryKind::Arrival
            | MemoryKind::Anchored { .. }
            | MemoryKind::Window { .. }
            | MemoryKind::Decaying { .. } => {
                run.out.iter().zip(&exact).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
            }
        };
        if kind == MemoryKind::Exact {
            exact.clone_from(&run.out);
        }
        println!(
            "{name:<14} t=1 000: {early:>8.2} µs   t=100 000: {late:>8.2} µs   ratio {:>6.2}   expansions {before}, {}, {}, {}   final error {error:.1e}   rounds before the windows {:.2} s",
            late / early,
            until_early - before,
            until_late - until_early,
            expansions(&run.memory) - until_late,
            whole.as_secs_f64(),
        );
    }
}

fn filled(kind: MemoryKind, records: u64) -> (AnyMemory, Vec<f64>, Dice) {
    let mut dice = Dice::new(3);
    let mut memory = memory(kind);
    let theta = dice.direction(3.0);
    for _ in 0..records {
        memory.observe(&theta, &[dice.record(kind)]);
    }
    (memory, theta, dice)
}

#[divan::bench(args = [EARLY, LATE], sample_count = 20)]
fn exact_gradient(bencher: Bencher<'_, '_>, records: u64) {
    let (mut memory, theta, _) = filled(MemoryKind::Exact, records);
    let mut out = vec![0.0; FEATURES];
    bencher.bench_local(|| memory.gradient(Round(records), black_box(&theta), &mut out));
}

/// Rows without zeros, as tables of numbers have.
#[divan::bench(args = [EARLY], sample_count = 20)]
fn exact_gradient_of_dense_records(bencher: Bencher<'_, '_>, records: u64) {
    let mut dice = Dice::new(3);
    let mut memory = memory(MemoryKind::Exact);
    let theta = dice.direction(3.0);
    for k in 0..records {
        let label = f64::from(k % 2 == 0);
        memory.observe(&theta, &[dense_record(MemoryKind::Exact, dice.direction(0.9), label)]);
    }
    let mut out = vec![0.0; FEATURES];
    bencher.bench_local(|| memory.gradient(Round(records), black_box(&theta), &mut out));
}

#[divan::bench(args = [
    MemoryKind::Moments,
    MemoryKind::Recursive,
    MemoryKind::Polynomial { degree: 2 },
    MemoryKind::Anchored { tolerance: TOLERANCE },
])]
fn constant_gradient(bencher: Bencher<'_, '_>, kind: MemoryKind) {
    let (mut memory, mut theta, _) = filled(kind, EARLY);
    theta[0] += 0.01;
    let mut out = vec![0.0; FEATURES];
    bencher.bench_local(|| memory.gradient(Round(EARLY), black_box(&theta), &mut out));
}

#[divan::bench(args = [EARLY, LATE], sample_count = 20)]
fn anchored_expansion(bencher: Bencher<'_, '_>, records: u64) {
    let tolerance = PowerLaw { initial: 1e-300, exponent: 0.0 };
    let (mut memory, mut theta, _) = filled(MemoryKind::Anchored { tolerance }, records);
    let mut out = vec![0.0; FEATURES];
    bencher.bench_local(|| {
        theta[0] += 1e-3;
        memory.gradient(Round(records), black_box(&theta), &mut out);
    });
}

#[divan::bench(args = [MemoryKind::Moments, MemoryKind::Anchored { tolerance: TOLERANCE }])]
fn observe_one_dense_record(bencher: Bencher<'_, '_>, kind: MemoryKind) {
    let (mut memory, theta, mut dice) = filled(kind, EARLY);
    let record = [dense_record(kind, dice.direction(0.9), 1.0)];
    bencher.bench_local(|| memory.observe(black_box(&theta), &record));
}

#[divan::bench(args = [MemoryKind::Moments, MemoryKind::Anchored { tolerance: TOLERANCE }])]
fn observe_one_record(bencher: Bencher<'_, '_>, kind: MemoryKind) {
    let (mut memory, theta, mut dice) = filled(kind, EARLY);
    let record = [dice.record(kind)];
    bencher.bench_local(|| memory.observe(black_box(&theta), &record));
}
