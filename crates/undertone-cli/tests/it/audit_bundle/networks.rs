//! Short runs of learners in this process: every method, loss, memory and kind of noise, with neighbours and records
//! missing and rounds skipped.

use std::sync::Arc;
use undertone::agreement::RawAgreement;
use undertone::audit_bundle::{AuditBundle, Ledger};
use undertone::load::{Loaded, Source, Strictness, load};
use undertone::models::DeclaredLoss;
use undertone::noise::OsEntropy;
use undertone::{LearnerId, Loss, Record, Release, ReleaseError, Round, Setup};
use undertone_lab::experiment::resolved_agreement;

/// Numbers that are the same in every run of the tests.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0) * bound as u128) >> 64) as usize
    }

    fn unit(&mut self) -> f64 {
        self.below(1 << 30) as f64 / f64::from(1 << 30)
    }
}

/// An agreement, section by section.
#[derive(Clone, Copy)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) method: &'static str,
    pub(super) network: &'static str,
    pub(super) bounds: &'static str,
    pub(super) model: &'static str,
    pub(super) parameters: &'static str,
    pub(super) memory: &'static str,
    pub(super) schedule: &'static str,
    pub(super) noise: &'static str,
    pub(super) privacy: &'static str,
    pub(super) rounds: u64,
    /// Whether neighbours and records are missing, and rounds are skipped.
    pub(super) faults: bool,
}

const LAPLACE: &str = "kind = 'laplace'\nscale = [0.5, 0.7, 0.6]\nexponent = [0.05, 0.1, 0.0]";
const GAUSSIAN: &str = "kind = 'gaussian'\nscale = [0.5, 0.7, 0.6]\nexponent = [0.05, 0.1, 0.0]";
const ONE_SCALE: &str = "kind = 'gaussian'\nscale = 0.9\nexponent = 0.02";
const POWERS: &str = "step = 0.8\nstep_exponent = 0.7\ncoupling = 0.9\ncoupling_exponent = 0.55";
const CONSTANT: &str = "step = 0.4\nstep_exponent = 0.0\ncoupling = 1.1\ncoupling_exponent = 0.0";
const REGRESSION: &str = "feature_norm = 1.3\nlabel = 0.8\nout_of_bounds = 'scale'";
const MLP: &str = "loss = 'mlp'\nfeatures = 3\nclasses = 2\nhidden = [4]\nclip = 0.5";

pub(super) const BASE: Case = Case {
    name: "algorithm1",
    method: "algorithm1",
    network: "learners = 3\ntopology = 'ring'\nweight = 0.3",
    bounds: "feature_norm = 1.0\nout_of_bounds = 'scale'",
    model: "loss = 'logistic'\nfeatures = 3\nridge = 0.01",
    parameters: "set = 'ball'\nradius = 3.0",
    memory: "kind = 'exact'",
    schedule: POWERS,
    noise: LAPLACE,
    privacy: "delta = 1e-6",
    rounds: 25,
    faults: true,
};

const RIDGE: Case =
    Case { bounds: REGRESSION, model: "loss = 'ridge'\nfeatures = 3\nridge = 0.1", ..BASE };
const SHIELDED: Case = Case { method: "shielded", noise: GAUSSIAN, ..BASE };

/// What is run.
pub(super) fn cases() -> Vec<Case> {
    [methods(), losses(), memories(), networks(), budgets()].concat()
}

fn methods() -> Vec<Case> {
    let interval =
        "step = 0.8\nstep_exponent = 0.3\ncoupling = 0.9\ncoupling_exponent = 0.0\ninterval = 3";
    let geometric = "step = 0.8\nstep_exponent = 0.0\ncoupling = 0.9\ncoupling_exponent = 0.0\nstep_ratio = 0.9";
    let falling = "kind = 'laplace'\nscale = 0.7\nexponent = -0.2";
    vec![
        BASE,
        Case { name: "late start", ..BASE },
        Case { name: "theorem5i", privacy: "delta = 1e-6\nbound = 'theorem5i'", ..BASE },
        Case {
            name: "theorem5ii",
            privacy: "delta = 1e-6\nbound = 'theorem5ii'",
            noise: GAUSSIAN,
            ..BASE
        },
        Case {
            name: "theorem5ii, other weights",
            privacy: "delta = 1e-6\nbound = 'theorem5ii'",
            network: "learners = 3\ntopology = 'edges'\nweights = 'explicit'\nedges = [[0, 1, 0.2], [1, 2, 0.6]]",
            ..BASE
        },
        Case { name: "strong coupling", schedule: CONSTANT, ..BASE },
        Case { name: "shielded", ..SHIELDED },
        Case {
            name: "shielded, every third round",
            schedule: interval,
            noise: LAPLACE,
            ..SHIELDED
        },
        Case { name: "dsgd", method: "dsgd", noise: falling, ..RIDGE },
        Case { name: "dsgd, gaussian", method: "dsgd", noise: GAUSSIAN, ..BASE },
        Case { name: "dola", method: "dola", noise: GAUSSIAN, ..BASE },
        Case {
            name: "pdop",
            method: "pdop",
            schedule: geometric,
            noise: "kind = 'laplace'\nscale = 0.7\nexponent = 0.0\nratio = 0.97",
            ..BASE
        },
        Case { name: "local", method: "local", ..BASE },
    ]
}

fn losses() -> Vec<Case> {
    let boxed = "set = 'box'\nlower = -0.5\nupper = 1.5";
    let simplex = "set = 'simplex'\ntotal = 2.0";
    let declared = "loss = 'declared'\nfeatures = 3\nparameters = 3\nclip = 0.9";
    vec![
        Case { name: "ridge", ..RIDGE },
        Case { name: "lasso", model: "loss = 'lasso'\nfeatures = 3\nlasso = 0.01", ..RIDGE },
        Case { name: "huber", model: "loss = 'huber'\nfeatures = 3\nthreshold = 0.4", ..RIDGE },
        Case {
            name: "polynomial in a box",
            model: "loss = 'polynomial'\nfeatures = 2\ndegree = 3\nclip = 2.0",
            parameters: boxed,
            ..RIDGE
        },
        Case { name: "power", model: "loss = 'power'\nfeatures = 3\ndegree = 4", ..RIDGE },
        Case { name: "two classes", model: "loss = 'softmax'\nfeatures = 3\nclasses = 2", ..BASE },
        Case { name: "four classes", model: "loss = 'softmax'\nfeatures = 3\nclasses = 4", ..BASE },
        Case {
            name: "clipped classes in a simplex",
            model: "loss = 'softmax'\nfeatures = 3\nclasses = 10\nridge = 0.01\nclip = 0.6",
            parameters: simplex,
            ..SHIELDED
        },
        Case {
            name: "classes far apart",
            model: "loss = 'softmax'\nfeatures = 3\nclasses = 100",
            parameters: "set = 'ball'\nradius = 12.0",
            ..SHIELDED
        },
        Case { name: "neural network", model: MLP, ..SHIELDED },
        Case { name: "neural network without a bound", model: MLP, ..BASE },
        Case { name: "declared", model: declared, bounds: REGRESSION, ..SHIELDED },
        Case {
            name: "declared with curvature",
            model: "loss = 'declared'\nfeatures = 3\nparameters = 3\nclip = 40.0\nsmoothness = 2.0\n\
                    strong_convexity = 0.0\ngradient_spread = 5.0\nridge = 0.01",
            bounds: REGRESSION,
            ..BASE
        },
    ]
}

fn memories() -> Vec<Case> {
    let shielded_window =
        Case { memory: "kind = 'window'\nwindow = 4", noise: LAPLACE, ..SHIELDED };
    vec![
        Case { name: "window", memory: "kind = 'window'\nwindow = 4", ..BASE },
        Case { name: "shielded window", ..shielded_window },
        Case {
            name: "window of one round",
            memory: "kind = 'window'\nwindow = 1",
            schedule: CONSTANT,
            ..BASE
        },
        // Long enough for entries to be merged: faint ones here, minor ones where the coupling fades.
        Case {
            name: "long window",
            memory: "kind = 'window'\nwindow = 8",
            schedule: CONSTANT,
            rounds: 300,
            ..BASE
        },
        Case {
            name: "long window, fading coupling",
            memory: "kind = 'window'\nwindow = 8",
            noise: GAUSSIAN,
            rounds: 300,
            ..BASE
        },
        Case {
            name: "decaying with a cut-off",
            memory: "kind = 'decaying'\nfactor = 0.7\ncutoff = 0.02",
            schedule: CONSTANT,
            rounds: 120,
            ..BASE
        },
        Case {
            name: "decaying",
            memory: "kind = 'decaying'\nfactor = 0.8",
            schedule: CONSTANT,
            rounds: 120,
            ..RIDGE
        },
        Case { name: "moments", memory: "kind = 'moments'", noise: ONE_SCALE, ..RIDGE },
        Case {
            name: "anchored",
            memory: "kind = 'anchored'\ntolerance = 0.01\ntolerance_exponent = 0.4",
            ..BASE
        },
        Case { name: "polynomial memory", memory: "kind = 'polynomial'\ndegree = 2", ..BASE },
        Case {
            name: "recursive",
            model: "loss = 'power'\nfeatures = 1\ndegree = 4",
            memory: "kind = 'recursive'",
            ..RIDGE
        },
    ]
}

fn networks() -> Vec<Case> {
    let of = |network: &'static str| Case { network, noise: ONE_SCALE, ..BASE };
    vec![
        Case { name: "star", ..of("learners = 4\ntopology = 'star'\nweights = 'metropolis'") },
        Case {
            name: "edges",
            ..of(
                "learners = 3\ntopology = 'edges'\nweights = 'explicit'\nedges = [[0, 1, 0.2], [2, 1, 0.35]]",
            )
        },
        Case { name: "torus", ..of("learners = 9\ntopology = 'torus'\ncolumns = 3\nweight = 0.2") },
        Case {
            name: "random",
            ..of(
                "learners = 6\ntopology = 'random-regular'\ndegree = 3\nseed = 5\nweights = 'metropolis'",
            )
        },
        Case { name: "path", ..of("learners = 2\ntopology = 'path'\nweight = 0.4") },
        Case { name: "complete", ..of("learners = 4\ntopology = 'complete'\nweight = 0.2") },
        Case { name: "alone", ..of("learners = 1\ntopology = 'alone'") },
    ]
}

fn budgets() -> Vec<Case> {
    let lifetime = "kind = 'gaussian'\ncalibrate = 'lifetime'\nexponent = 0.01";
    let rounds = "kind = 'laplace'\ncalibrate = 'rounds'\nrounds = 40\nexponent = 0.01";
    let base = Case { faults: false, ..BASE };
    vec![
        Case {
            name: "calibrated for ever",
            noise: lifetime,
            privacy: "epsilon = [4.0, 2.0, 8.0]\ndelta = 1e-9",
            ..base
        },
        Case {
            name: "calibrated for rounds",
            noise: rounds,
            privacy: "pure_epsilon = 30.0\ndelta = 1e-6",
            ..base
        },
        Case {
            name: "calibrated shielded",
            method: "shielded",
            noise: rounds,
            privacy: "epsilon = 3.0\ndelta = 1e-5",
            ..base
        },
        EXHAUSTED,
        Case {
            name: "exhausted pure",
            privacy: "pure_epsilon = [2.0, 300.0, 300.0]\ndelta = 1e-6",
            memory: "kind = 'window'\nwindow = 3",
            ..base
        },
    ]
}

/// A run that ends because one learner has spent its budget.
pub(super) const EXHAUSTED: Case = Case {
    name: "exhausted",
    privacy: "epsilon = [60.0, 1.0, 60.0]\ndelta = 1e-6",
    faults: false,
    ..BASE
};

impl Case {
    pub(super) fn text(&self) -> String {
        let Case {
            name,
            method,
            network,
            bounds,
            model,
            parameters,
            memory,
            schedule,
            noise,
            privacy,
            ..
        } = self;
        let memory = match *method {
            "dsgd" | "dola" | "pdop" => "",
            _ => memory,
        };
        format!(
            "name = '{name}'\nmethod = '{method}'\nunproven = true\n[network]\n{network}\n[records]\nwarmup = 5\nbatch = 2\n\
             [bounds]\n{bounds}\n[model]\n{model}\n[parameters]\n{parameters}\n[memory]\n{memory}\n[schedule]\n{schedule}\n\
             [noise]\n{noise}\n[privacy]\n{privacy}\n"
        )
    }

    /// Runs all learners, and makes a bundle of their ledgers.
    pub(super) fn bundle(&self) -> Vec<u8> {
        let source = Source::Text { origin: self.name.into(), text: self.text() };
        let loaded: Loaded<RawAgreement> = load(&source, |_| (), Strictness::Run).unwrap();
        let mut setup = Setup::new(loaded.checked).unwrap();
        if let Loss::Declared { .. } = setup.agreement.model.loss {
            setup = setup.with_function(Arc::new(HalfSquare));
        }
        let agreement = resolved_agreement(&loaded.raw, &setup.agreement, &setup.scales());
        let (ledgers, exhausted) = self.run(&setup);
        let simulation_exhausted = Some(exhausted);
        let bundle = AuditBundle { warning: None, simulation_exhausted, agreement, ledgers };
        bundle.to_bytes(&setup).unwrap()
    }
}

/// ½(a·θ − b)².
struct HalfSquare;

impl DeclaredLoss for HalfSquare {
    fn evaluate(
        &self,
        theta: &[f64],
        features: &[f64],
        label: f64,
        gradient: &mut [f64],
    ) -> Option<f64> {
        let residual = self.predict(theta, features)? - label;
        gradient.iter_mut().zip(features).for_each(|(slot, x)| *slot = residual * x);
        Some(0.5 * residual * residual)
    }

    fn predict(&self, theta: &[f64], features: &[f64]) -> Option<f64> {
        Some(theta.iter().zip(features).map(|(x, y)| x * y).sum())
    }
}

impl Case {
    /// Other numbers for every case.
    fn random(&self) -> Random {
        let seed = self
            .name
            .bytes()
            .fold(7, |seed: u64, letter| 31 * (seed % (1 << 48)) + u64::from(letter));
        Random(seed)
    }

    /// Every learner's ledger, and whether a cap ended the run.
    fn run(&self, setup: &Setup) -> (Vec<Ledger>, bool) {
        let (mut random, rounds, faults) = (self.random(), self.rounds, self.faults);
        let checker = setup.record_checker();
        let graph = &setup.agreement.graph;
        let start = setup.common_start(|| random.unit());
        let mut learners: Vec<_> = graph.ids().map(|id| setup.learner(id).unwrap()).collect();
        if let Some(start) = start {
            learners = learners.into_iter().map(|learner| learner.starting_at(&start)).collect();
        }
        let mut ledgers: Vec<Ledger> =
            graph.ids().map(|learner| Ledger { learner, uses: 1, receipts: Vec::new() }).collect();
        while learners[0].round().0 < rounds {
            // Who comes late releases before any record arrived: only rounding is charged.
            let comes_late = self.name == "late start" && learners[0].round() == Round::ZERO;
            if faults && (comes_late || random.below(12) == 0) {
                let until = Round(learners[0].round().0 + 1 + random.below(4) as u64);
                learners.iter_mut().for_each(|learner| {
                    learner.skip_to(until);
                });
            }
            let mut releases: Vec<Release> = Vec::new();
            let mut exhausted = false;
            for (learner, ledger) in learners.iter_mut().zip(&mut ledgers) {
                let count = match ledger.receipts.len() {
                    0 => 7,
                    _ if faults => [2, 2, 2, 1, 0, 3][random.below(6)],
                    _ => 2,
                };
                let batch: Vec<_> = (0..count)
                    .map(|_| checker.check(record(setup, &mut random)).unwrap())
                    .collect();
                learner.observe(&batch);
                match learner.release(&mut OsEntropy) {
                    Ok(release) => {
                        releases.push(release);
                        ledger.receipts.push(*learner.receipt().unwrap());
                    }
                    Err(ReleaseError::Refused(_)) => exhausted = true,
                    Err(error) => panic!("{error}"),
                }
            }
            if exhausted {
                return (ledgers, true);
            }
            for learner in &mut learners {
                let neighbours = graph.neighbours(learner.id()).iter();
                let heard: Vec<&Release> = neighbours
                    .filter(|_| !faults || random.below(4) > 0)
                    .map(|&(LearnerId(id), _)| &releases[id as usize])
                    .collect();
                learner.absorb(&heard);
            }
        }
        (ledgers, false)
    }
}

fn record(setup: &Setup, random: &mut Random) -> Record {
    let model = &setup.agreement.model;
    let features: Vec<f64> = (0..model.features).map(|_| random.unit() - 0.5).collect();
    let label = match model.loss.classes() {
        Some(classes) => random.below(classes as usize) as f64,
        None => random.unit() - 0.5,
    };
    Record::dense(features, label)
}
