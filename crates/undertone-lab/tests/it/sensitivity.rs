//! Two histories that differ in one record never drift further apart than the accountant claims.

use std::sync::Arc;
use undertone::method::{Algorithm1, Bound, Method};
use undertone::noise::NoiseKind;
use undertone::privacy::{Mechanism, NoiseLaw, record_cost, worst_record};
use undertone::{
    DataBounds, Domain, Forgetting, Learner, LearnerId, LearnerSetup, Loss, MemoryKind, ModelSpec,
    PowerLaw, Release, Round, Schedule,
};
use undertone_lab::SeededEntropy;
use undertone_models::memory::error_bound;
use undertone_models::{AnyMemory, Features, Model, Record};

const DIMENSION: usize = 4;
const ROUNDS: u64 = 120;

struct Case {
    loss: Loss,
    ridge: f64,
    lasso: f64,
    memory: MemoryKind,
    domain: Domain,
    step: f64,
    clip: f64,
}

fn cases() -> Vec<Case> {
    let ball = Domain::Ball { radius: 2.0 };
    let case = |loss, memory| Case {
        loss,
        ridge: 0.01,
        lasso: 0.0,
        memory,
        domain: ball,
        step: 1.0,
        clip: f64::INFINITY,
    };
    let tolerance = PowerLaw::decaying(0.01, 0.5);
    vec![
        case(Loss::Logistic, MemoryKind::Exact),
        case(Loss::Logistic, MemoryKind::Anchored { tolerance }),
        case(Loss::Logistic, MemoryKind::Polynomial { degree: 2 }),
        case(Loss::Squared, MemoryKind::Moments),
        Case { lasso: 0.05, ..case(Loss::Squared, MemoryKind::Moments) },
        case(Loss::Huber { threshold: 0.5 }, MemoryKind::Exact),
        Case { clip: 0.1, ..case(Loss::Logistic, MemoryKind::Exact) },
        Case { clip: 0.5, ..case(Loss::Squared, MemoryKind::Exact) },
        // A step so long that the recursion expands.
        Case { step: 12.0, ..case(Loss::Logistic, MemoryKind::Exact) },
        Case {
            domain: Domain::Box { lower: -0.5, upper: 0.7 },
            ..case(Loss::Squared, MemoryKind::Exact)
        },
        Case { domain: Domain::Simplex { total: 1.0 }, ..case(Loss::Squared, MemoryKind::Exact) },
        case(Loss::Logistic, MemoryKind::Window { rounds: 8 }),
        case(Loss::Huber { threshold: 0.5 }, MemoryKind::Window { rounds: 1 }),
        case(Loss::Logistic, MemoryKind::Decaying { factor: 0.9, rounds: Some(20) }),
        case(Loss::Squared, MemoryKind::Decaying { factor: 0.9, rounds: None }),
        Case { step: 12.0, ..case(Loss::Logistic, MemoryKind::Window { rounds: 30 }) },
    ]
}

fn twin(case: &Case, mechanism: Mechanism, model: &Arc<Model>) -> Learner<AnyMemory> {
    let setup = LearnerSetup {
        id: LearnerId(0),
        neighbours: vec![(LearnerId(1), 0.3), (LearnerId(2), 0.3)],
        mechanism,
        cap: None,
        domain: case.domain,
        lasso: case.lasso,
    };
    Learner::new(setup, AnyMemory::new(case.memory, Arc::clone(model)).unwrap())
}

/// A record on the edge of the bounds: the worst there is.
fn record(t: u64, sign: f64, regression: bool) -> Record {
    let angle = t as f64 * 0.7;
    let direction = [angle.sin(), angle.cos(), 0.0, 0.0];
    let features = Features::Dense(direction.map(|x| x * sign * (1.0 - 1e-12)).into());
    let positive = angle.sin() > 0.0;
    let label =
        if regression { if positive { 1.0 } else { -1.0 } } else { f64::from(u8::from(positive)) };
    Record::new(features, label)
}

fn facts(case: &Case) -> (Arc<Model>, Mechanism) {
    let spec = ModelSpec {
        loss: case.loss,
        features: DIMENSION,
        degree: 1,
        ridge: case.ridge,
        lasso: case.lasso,
        clip: case.clip,
    };
    let bounds =
        DataBounds { feature_norm: 1.0, label: 1.0, radius: case.domain.radius(DIMENSION) };
    let model = Arc::new(Model::new(spec, bounds).unwrap());
    // Forgetting is for constant steps.
    let exponents = match case.memory.forgetting() {
        Forgetting::Never => (0.77, 0.65),
        Forgetting::Window { .. } | Forgetting::Decaying { .. } => (0.0, 0.0),
    };
    let mechanism = Mechanism {
        dimension: DIMENSION,
        radius: bounds.radius,
        constants: spec.constants(&bounds),
        schedule: Schedule {
            step: PowerLaw::decaying(case.step, exponents.0),
            coupling: PowerLaw::decaying(1.0, exponents.1),
        },
        weight: 0.6,
        weight_min: 0.6,
        warmup: 0,
        batch: 1,
        memory_error: error_bound(case.memory, &Arc::clone(&model).into()).unwrap(),
        forgetting: case.memory.forgetting(),
        noise: NoiseLaw { kind: NoiseKind::Laplace, scale: PowerLaw::growing(0.1, 0.1) },
        noise_max: PowerLaw::growing(0.1, 0.1),
        method: Method::Algorithm1(Algorithm1 { bound: Bound::Tight }),
    };
    (model, mechanism)
}

/// What a pair of twins showed.
#[derive(Default)]
struct Shown {
    /// The largest ratio of the distance found to the distance claimed, over all rounds.
    worst: f64,
    /// Σ‖θ − θ'‖²/(2ρ²) over all releases, and what the account says.
    zcdp: f64,
    zcdp_claimed: f64,
}

fn worst_ratio(case: &Case, changed_round: u64) -> f64 {
    let shown = shown(case, 0, changed_round, ROUNDS);
    assert!(shown.zcdp <= shown.zcdp_claimed, "{} {}", shown.zcdp, shown.zcdp_claimed);
    shown.worst
}

/// Twins whose records differ in one round. After round `dry` no records arrive.
fn shown(case: &Case, warmup: u64, changed_round: u64, dry: u64) -> Shown {
    let regression = !matches!(case.loss, Loss::Logistic | Loss::Softmax { .. });
    let (model, mechanism) = facts(case);
    let checker = model.record_checker(case.memory);
    let mut twins = [twin(case, mechanism, &model), twin(case, mechanism, &model)];
    // Neighbours whose releases both twins hear: they never learn, only add noise.
    let mut others: Vec<Learner<AnyMemory>> = [1, 2]
        .map(|id| {
            let setup = LearnerSetup {
                id: LearnerId(id),
                neighbours: Vec::new(),
                mechanism,
                cap: None,
                domain: case.domain,
                lasso: 0.0,
            };
            Learner::new(setup, AnyMemory::new(case.memory, Arc::clone(&model)).unwrap())
        })
        .into();
    let mut entropy = SeededEntropy::new(11);
    let mut shown = Shown::default();
    for t in 0..ROUNDS {
        for (index, twin) in twins.iter_mut().enumerate() {
            let changed = index == 1 && t == changed_round;
            let mut own = record(t, 1.0, regression);
            if changed {
                own = record(t, -1.0, regression);
                own.label = record(t, 1.0, regression).label;
            }
            let mut batch = vec![own; usize::from(t < dry)];
            if t == 0 {
                batch.extend((0..warmup).map(|k| record(k, 1.0, regression)));
            }
            let checked = batch.into_iter().map(|record| checker.check(record).unwrap());
            twin.observe(&checked.collect::<Vec<_>>());
            twin.release(&mut entropy).unwrap();
        }
        shown.zcdp_claimed = twins[0].accountant().spent().zcdp;
        let heard: Vec<Release> =
            others.iter_mut().map(|other| other.release(&mut entropy).unwrap()).collect();
        for twin in &mut twins {
            twin.absorb(&[&heard[0], &heard[1]]);
        }
        for other in &mut others {
            other.absorb(&[]);
        }
        let [left, right] = &twins;
        let distance: f64 = left
            .private_parameters()
            .for_owner()
            .iter()
            .zip(right.private_parameters().for_owner())
            .map(|(a, b)| (a - b) * (a - b))
            .sum::<f64>()
            .sqrt();
        let claimed = left.accountant().sensitivity() + mechanism.machine_sensitivity(left.round());
        shown.worst = shown.worst.max(distance / claimed);
        // The release of the next round shows it, but there is none after the last.
        if t + 1 < ROUNDS {
            let ratio = distance / mechanism.noise.scale.at(left.round());
            shown.zcdp += 0.5 * ratio * ratio;
        }
    }
    shown
}

#[test]
fn twin_histories_stay_within_the_claimed_sensitivity() {
    for (index, case) in cases().iter().enumerate() {
        for changed_round in [0, 1, 7, 60] {
            let worst = worst_ratio(case, changed_round);
            assert!(worst <= 1.0, "case {index}, record {changed_round}: {worst}");
        }
    }
}

#[test]
fn an_account_that_claimed_half_would_be_caught() {
    // Control: if the claim were halved, some case must break it, or the test above proves nothing.
    let worst = cases().iter().map(|case| worst_ratio(case, 0)).fold(0.0, f64::max);
    assert!(worst > 0.5, "{worst}");
}

#[test]
fn twins_stay_within_the_claim_when_the_stream_runs_dry() {
    // The window empties, the gradient vanishes, and with it the contraction of the ridge.
    for case in cases().iter().filter(|case| case.memory.forgetting() != Forgetting::Never) {
        for changed_round in [0, 20, 29] {
            let shown = shown(case, 0, changed_round, 30);
            assert!(shown.worst <= 1.0 && shown.zcdp <= shown.zcdp_claimed, "{}", shown.worst);
        }
    }
}

#[test]
fn an_account_that_assumed_the_first_record_would_be_caught() {
    // Control: the first record shares its weight with a long warm-up, later ones only with the window.
    let case = Case {
        loss: Loss::Logistic,
        ridge: 0.01,
        lasso: 0.0,
        memory: MemoryKind::Window { rounds: 10 },
        domain: Domain::Ball { radius: 2.0 },
        step: 1.0,
        clip: f64::INFINITY,
    };
    let (_, mechanism) = facts(&case);
    let mechanism = Mechanism { warmup: 200, ..mechanism };
    let first = record_cost(&mechanism, Round::ZERO, ROUNDS - 1).zcdp;
    let arrival = worst_record(&mechanism, ROUNDS - 1);
    let found = record_cost(&mechanism, arrival, ROUNDS - 1);
    let shown = shown(&case, 200, arrival.0, ROUNDS);
    assert!(arrival > Round::ZERO);
    assert!(shown.zcdp > 2.0 * first, "{} {first}", shown.zcdp);
    assert!(shown.zcdp <= found.zcdp && found.zcdp <= shown.zcdp_claimed * (1.0 + 1e-9));
}
