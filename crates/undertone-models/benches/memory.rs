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
use undertone::{DataBounds, Loss, Memory, MemoryKind, ModelSpec, PowerLaw, Round};
use undertone_models::{AnyMemory, Features, Model, Record};

const FEATURES: usize = 112;
const GROUPS: usize = 21;
const EARLY: u64 = 1_000;
const LATE: u64 = 100_000;
const WINDOW: u64 = 1_000;
const TOLERANCE: PowerLaw = PowerLaw { initial: 0.01, exponent: 0.0 };

fn main() {
    // In test mode (`cargo test --benches`) only the micro-benchmarks run, once each.
    if !std::env::args().any(|argument| argument == "--test" || argument == "--list") {
        report();
    }
    divan::main();
}

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.bits() % limit as u64).unwrap()
    }

    fn direction(&mut self, norm: f64) -> Vec<f64> {
        let mut vector: Vec<f64> =
            (0..FEATURES).map(|_| (0..12).map(|_| self.unit()).sum::<f64>() - 6.0).collect();
        let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        vector.iter_mut().for_each(|x| *x *= norm / length);
        vector
    }

    /// One category set in each of 21 groups, as one-hot encoded data has.
    fn record(&mut self, kind: MemoryKind) -> Record {
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
        Record { features, label: if self.bits() & 1 == 0 { 0.0 } else { 1.0 } }
    }
}

/// θ moving as under Algorithm 1: shrinking random steps and a pull to a fixed point.
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

fn memory(kind: MemoryKind) -> AnyMemory {
    let loss = match kind {
        MemoryKind::Moments => Loss::Squared,
        MemoryKind::Recursive => Loss::Power { degree: 4 },
        _ => Loss::Logistic,
    };
    let spec = ModelSpec { loss, features: FEATURES, degree: 1, ridge: 0.01, lasso: 0.0 };
    let bounds = DataBounds { feature_norm: 1.0, label: 1.0, radius: 10.0 };
    AnyMemory::new(kind, Arc::new(Model::new(spec, bounds).unwrap())).unwrap()
}

fn expansions(memory: &AnyMemory) -> u64 {
    match memory {
        AnyMemory::Anchored(memory) => memory.expansions(),
        _ => 0,
    }
}

/// Runs every round up to the end of the late window and prints the cost in both windows.
fn report() {
    println!("one round (observe one record, gradient), n = {FEATURES}, {GROUPS} non-zeros");
    println!(
        "memory        t = 1 000    t = 100 000   ratio   expansions (before, early window, between, late window)"
    );
    let kinds = [
        ("exact", MemoryKind::Exact),
        ("moments", MemoryKind::Moments),
        ("recursive", MemoryKind::Recursive),
        ("polynomial", MemoryKind::Polynomial { degree: 2 }),
        ("anchored", MemoryKind::Anchored { tolerance: TOLERANCE }),
    ];
    for (name, kind) in kinds {
        let mut memory = memory(kind);
        let mut dice = Dice(7);
        let mut walk = Walk::new(&mut dice);
        let mut out = vec![0.0; FEATURES];
        let (mut early, mut late, mut whole) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        let mut counts = [0; 4];
        for round in 0..LATE + WINDOW {
            let record = [dice.record(kind)];
            // Outside its windows the exact memory only collects: its gradients change nothing.
            let measured = (EARLY..EARLY + WINDOW).contains(&round) || round >= LATE;
            let started = Instant::now();
            memory.observe(&walk.theta, &record).unwrap();
            if kind != MemoryKind::Exact || measured && round % 10 == 0 {
                memory.gradient(Round(round), black_box(&walk.theta), &mut out);
            }
            let spent = started.elapsed();
            whole += spent;
            if round < EARLY {
                counts[0] = expansions(&memory);
            } else if round < EARLY + WINDOW {
                early += spent;
                counts[1] = expansions(&memory);
            } else if round < LATE {
                counts[2] = expansions(&memory);
            } else {
                late += spent;
                counts[3] = expansions(&memory);
            }
            walk.step(round, &mut dice);
        }
        let sampled = if kind == MemoryKind::Exact { 10.0 } else { 1.0 };
        let micros = |time: Duration| time.as_secs_f64() * 1e6 * sampled / 1e3;
        println!(
            "{name:<12} {:>8.2} µs   {:>9.2} µs   {:>6.2}   {}, {}, {}, {}   whole run {:.2} s",
            micros(early),
            micros(late),
            micros(late) / micros(early),
            counts[0],
            counts[1].max(counts[0]) - counts[0],
            counts[2].max(counts[1]) - counts[1],
            counts[3].max(counts[2]) - counts[2],
            whole.as_secs_f64(),
        );
    }
}

fn filled(kind: MemoryKind, records: u64) -> (AnyMemory, Vec<f64>, Dice) {
    let mut dice = Dice(3);
    let mut memory = memory(kind);
    let theta = dice.direction(3.0);
    for _ in 0..records {
        memory.observe(&theta, &[dice.record(kind)]).unwrap();
    }
    (memory, theta, dice)
}

#[divan::bench(args = [EARLY, LATE], sample_count = 20)]
fn exact_gradient(bencher: Bencher<'_, '_>, records: u64) {
    let (mut memory, theta, _) = filled(MemoryKind::Exact, records);
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
fn observe_one_record(bencher: Bencher<'_, '_>, kind: MemoryKind) {
    let (mut memory, theta, mut dice) = filled(kind, EARLY);
    let record = [dice.record(kind)];
    bencher.bench_local(|| memory.observe(black_box(&theta), &record).unwrap());
}
