//! Whole rounds of large networks: rounds per second, and memory per learner against its state.
//!
//! `cargo bench -p undertone-lab --bench network`
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark speaks and may stop")]

use rayon::prelude::*;
use std::sync::Arc;
use undertone::graph::{Graph, Topology, Weights};
use undertone::method::{Algorithm1, Bound, Method};
use undertone::noise::{NoiseKind, OsEntropy};
use undertone::privacy::{Mechanism, NoiseLaw, Unit};
use undertone::{
    DataBounds, Domain, Forgetting, Learner, LearnerSetup, Loss, MemoryKind, ModelSpec, PowerLaw,
    Release, Schedule,
};
use undertone_models::{AnyMemory, BoundedRecord, Features, Model, Record, RecordChecker};

const LEARNERS: usize = 10_000;
const DIMENSION: usize = 112;

fn main() {
    report_memory();
    divan::main();
}

#[divan::bench(args = [100, LEARNERS], sample_count = 10, sample_size = 1)]
fn round_of_a_ring_with_moments(bencher: divan::Bencher, learners: usize) {
    let mut network = Network::new(learners);
    network.round();
    bencher.counter(divan::counter::ItemsCount::new(learners)).bench_local(|| network.round());
}

struct Network {
    graph: Graph,
    checker: RecordChecker,
    learners: Vec<Learner<AnyMemory>>,
    round: u64,
}

impl Network {
    fn new(count: usize) -> Network {
        let graph = Graph::new(count, &Topology::Ring, &Weights::Uniform(0.25)).unwrap();
        let spec = ModelSpec {
            loss: Loss::Squared,
            features: DIMENSION,
            degree: 1,
            ridge: 1e-3,
            lasso: 0.0,
            clip: f64::INFINITY,
        };
        let bounds = DataBounds { feature_norm: 1.0, label: 1.0, radius: 10.0 };
        let model = Arc::new(Model::new(spec, bounds).unwrap());
        let mechanism = Mechanism {
            dimension: DIMENSION,
            radius: 10.0,
            unit: Unit::Record,
            constants: spec.constants(&bounds),
            schedule: Schedule {
                step: PowerLaw::decaying(0.5, 0.77),
                coupling: PowerLaw::decaying(1.0, 0.65),
            },
            weight: 0.5,
            weight_min: 0.5,
            warmup: 0,
            batch: 1,
            memory_error: PowerLaw::ZERO,
            forgetting: Forgetting::Never,
            noise: NoiseLaw { kind: NoiseKind::Laplace, scale: PowerLaw::growing(1.0, 0.1) },
            noise_max: PowerLaw::growing(1.0, 0.1),
            method: Method::Algorithm1(Algorithm1 { bound: Bound::Tight }),
        };
        let learners = graph
            .ids()
            .map(|id| {
                let setup = LearnerSetup {
                    id,
                    neighbours: graph.neighbours(id).to_vec(),
                    mechanism,
                    cap: None,
                    domain: Domain::Ball { radius: 10.0 },
                    lasso: 0.0,
                };
                Learner::new(
                    setup,
                    AnyMemory::new(MemoryKind::Moments, Arc::clone(&model)).unwrap(),
                )
            })
            .collect();
        let checker = model.record_checker(MemoryKind::Moments);
        Network { graph, checker, learners, round: 0 }
    }

    fn round(&mut self) {
        let (t, checker) = (self.round, &self.checker);
        let releases: Vec<Release> = self
            .learners
            .par_iter_mut()
            .map(|learner| {
                learner.observe(&[record(checker, u64::from(learner.id().0), t)]);
                learner.release(&mut OsEntropy).unwrap()
            })
            .collect();
        let graph = &self.graph;
        self.learners.par_iter_mut().for_each(|learner| {
            let neighbours = graph.neighbours(learner.id());
            let heard: Vec<&Release> =
                neighbours.iter().map(|&(id, _)| &releases[id.0 as usize]).collect();
            learner.absorb(&heard);
        });
        self.round += 1;
    }
}

/// Like a mushroom: 21 of 112 features are on.
fn record(checker: &RecordChecker, learner: u64, t: u64) -> BoundedRecord {
    let mut mixed =
        learner.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ t.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let indices: Box<[u32]> = (0..21)
        .map(|block| {
            mixed ^= mixed >> 29;
            mixed = mixed.wrapping_mul(0x94d0_49bb_1331_11eb);
            block * 5 + u32::try_from((mixed >> 40) % 5).unwrap()
        })
        .collect();
    let values = vec![0.21; 21].into();
    let features = Features::Sparse { dimension: 112, indices, values };
    let label = if mixed & 1 == 0 { 1.0 } else { -1.0 };
    checker.check(Record::new(features, label)).unwrap()
}

/// Resident memory in bytes, where the system tells.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(text.split(' ').nth(1)?.parse::<u64>().ok()? * 4096)
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn report_memory() {
    let before = resident();
    let mut network = Network::new(LEARNERS);
    network.round();
    if let (Some(before), Some(after)) = (before, resident()) {
        // θ, the update, the packed second moments and the first moments.
        let needed = 8 * (2 * DIMENSION + DIMENSION * (DIMENSION + 1) / 2 + DIMENSION);
        let found = (after - before) as f64 / LEARNERS as f64;
        println!(
            "memory: {LEARNERS} learners, n = {DIMENSION}, moments: {:.1} kB each, {:.1} kB needed for the state, ratio {:.3}",
            found / 1e3,
            needed as f64 / 1e3,
            found / needed as f64
        );
    }
}
