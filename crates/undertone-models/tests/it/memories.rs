//! Laws of memories: each is within its error bound of the exact one.

use crate::support::{Dice, LOSSES, checked, dense_form, distance, model, norm_of, spec};
use proptest::prelude::*;
use std::sync::Arc;
use undertone_core::persist::{load, save};
use undertone_core::{
    DataBounds, Forgetting, Loss, Memory, MemoryKind, ModelSpec, PowerLaw, Round, Score,
};
use undertone_models::memory::{Anchored, Exact, Moments, error_bound};
use undertone_models::{
    AnyMemory, BoundedRecord, Features, Model, Record, RecordError, SetupError,
};

const TOLERANCE: PowerLaw = PowerLaw { initial: 0.05, exponent: -0.3 };

const KINDS: [MemoryKind; 10] = [
    MemoryKind::Exact,
    MemoryKind::Moments,
    MemoryKind::Recursive,
    MemoryKind::Polynomial { degree: 2 },
    MemoryKind::Polynomial { degree: 4 },
    MemoryKind::Polynomial { degree: 6 },
    MemoryKind::Anchored { tolerance: TOLERANCE },
    MemoryKind::Window { rounds: 3 },
    MemoryKind::Decaying { factor: 0.8, rounds: None },
    MemoryKind::Decaying { factor: 0.8, rounds: Some(3) },
];

/// Every memory of a test with a model it admits.
fn admitted() -> Vec<(MemoryKind, Arc<Model>)> {
    let mut pairs = Vec::new();
    for kind in KINDS {
        for loss in LOSSES {
            let features = 4;
            let model = model(loss, features);
            if AnyMemory::new(kind, Arc::clone(&model)).is_ok() {
                pairs.push((kind, model));
            }
        }
    }
    pairs
}

fn separable(dice: &mut Dice, model: &Model) -> Record {
    let mut record = dice.record(model);
    let mut values = vec![0.0; model.spec().features];
    let place = usize::try_from(dice.below(values.len() as u64)).unwrap();
    values[place] = model.bounds().feature_norm * (2.0 * dice.unit() - 1.0);
    record.features = Features::Dense(values.into());
    record
}

fn draw(dice: &mut Dice, kind: MemoryKind, model: &Model) -> BoundedRecord {
    let record = if kind == MemoryKind::Recursive {
        separable(dice, model)
    } else if dice.below(2) == 0 {
        dice.sparse_record(model)
    } else {
        dice.record(model)
    };
    model.record_checker(kind).check(record).unwrap()
}

fn gradient(
    memory: &mut impl Memory<Record = BoundedRecord>,
    round: u64,
    theta: &[f64],
) -> Vec<f64> {
    let mut out = vec![f64::NAN; theta.len()];
    memory.gradient(Round(round), theta, &mut out);
    out
}

/// The largest ratio of error to stated bound over a stream, machine rounding allowed for.
fn worst_error(kind: MemoryKind, model: &Arc<Model>, dice: &mut Dice, rounds: u64) -> f64 {
    let mut memory = AnyMemory::new(kind, Arc::clone(model)).unwrap();
    let mut exact = Exact::new(Arc::clone(model));
    let mut worst = 0.0_f64;
    for round in 0..rounds {
        let theta = dice.theta(model);
        let batch: Vec<BoundedRecord> =
            (0..dice.below(3)).map(|_| draw(dice, kind, model)).collect();
        assert_eq!(memory.observe(&theta, &batch), exact.observe(&theta, &batch));
        assert_eq!(memory.records(), exact.records());
        let (found, expected) =
            (gradient(&mut memory, round, &theta), gradient(&mut exact, round, &theta));
        let bound = memory.error_bound().at(Round(round)) + 1e-12;
        worst = worst.max(distance(&found, &expected) / bound);
    }
    worst
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn every_memory_is_within_its_error_bound_of_the_exact_one(seed: u64) {
        let mut dice = Dice::new(seed);
        // Memories that forget have another exact gradient: see `forgetting.rs`.
        let remembers = |kind: MemoryKind| kind.forgetting() == Forgetting::Never;
        for (kind, model) in admitted().into_iter().filter(|&(kind, _)| remembers(kind)) {
            let worst = worst_error(kind, &model, &mut dice, 30);
            prop_assert!(worst <= 1.0, "{kind:?} {:?}: {worst}", model.spec().loss);
        }
    }

    #[test]
    fn exact_averages_the_gradients_of_single_records(seed: u64) {
        let mut dice = Dice::new(seed);
        for loss in LOSSES {
            let model = model(loss, 4);
            let records: Vec<Record> = (0..70).map(|_| dice.record(&model)).collect();
            let theta = dice.theta(&model);
            let mut exact = Exact::new(Arc::clone(&model));
            let score = exact.observe(&theta, &checked(&model, &records));
            let mut expected: Vec<f64> = theta.iter().map(|x| x * model.spec().ridge).collect();
            for record in &records {
                model.add_gradient(&theta, record, 1.0 / 70.0, &mut expected);
            }
            prop_assert!(distance(&gradient(&mut exact, 0, &theta), &expected) < 1e-12);
            let loss_sum: f64 = records.iter().map(|record| model.loss(&theta, record)).sum();
            prop_assert!((score.loss_sum - loss_sum).abs() < 1e-9);
            let average = loss_sum / 70.0 + model.penalty(&theta);
            prop_assert!((exact.average_loss(&theta) - average).abs() < 1e-9);
        }
    }

    #[test]
    fn moments_equal_the_exact_gradient_to_twelve_digits(seed: u64, degree in 1_u32..4) {
        let mut dice = Dice::new(seed);
        let bounds = DataBounds { feature_norm: 1.0, label: 1.0, radius: 1.0 };
        let spec = ModelSpec { degree, lasso: 0.1, ..spec(Loss::Squared, 6) };
        let model = Arc::new(Model::new(spec, bounds).unwrap());
        let (mut moments, mut exact) =
            (Moments::new(Arc::clone(&model)).unwrap(), Exact::new(Arc::clone(&model)));
        let records: Vec<Record> = (0..300).map(|_| dice.sparse_record(&model)).collect();
        let (records, theta) = (checked(&model, &records), dice.theta(&model));
        assert_eq!(moments.observe(&theta, &records), exact.observe(&theta, &records));
        let apart = distance(&gradient(&mut moments, 0, &theta), &gradient(&mut exact, 0, &theta));
        prop_assert!(apart < 1e-12);
        prop_assert!(apart <= moments.rounding_error() + exact.rounding_error());
    }
}

/// Control of the law above: a bound ten times smaller is violated, so the law can fail.
#[test]
fn a_tenth_of_the_polynomial_error_bound_is_violated() {
    for degree in [2, 4, 6] {
        let kind = MemoryKind::Polynomial { degree };
        let worst = worst_error(kind, &model(Loss::Logistic, 4), &mut Dice::new(1), 200);
        assert!(worst > 0.1, "{kind:?}: {worst}");
    }
}

/// Control: one record, with θ moved along it until the tolerance is nearly used.
#[test]
fn a_tenth_of_the_anchored_tolerance_is_violated() {
    let tolerance = PowerLaw { initial: 0.02, exponent: 0.0 };
    let (mut worst, mut dice) = (0.0_f64, Dice::new(2));
    let model = model(Loss::Logistic, 4);
    for _ in 0..40 {
        let mut memory = Anchored::new(Arc::clone(&model), tolerance).unwrap();
        let mut exact = Exact::new(Arc::clone(&model));
        let (start, record) = (dice.theta(&model), dice.record(&model));
        let batch = checked(&model, std::slice::from_ref(&record));
        memory.observe(&start, &batch);
        exact.observe(&start, &batch);
        for step in 1..200 {
            let mut theta = start.clone();
            record.features.add_scaled_to(-0.01 * f64::from(step), &mut theta);
            let found = gradient(&mut memory, 0, &theta);
            worst = worst.max(distance(&found, &gradient(&mut exact, 0, &theta)) / 0.02);
        }
    }
    assert!(worst <= 1.0 && worst > 0.5, "{worst}");
}

/// One record with a flat loss and one with a steep one: the error bound has to hold for the one that θ moves along.
#[test]
fn the_anchored_bound_holds_for_records_of_very_different_curvature() {
    let tolerance = PowerLaw { initial: 0.001, exponent: 0.0 };
    let bounds = DataBounds { feature_norm: 1.0, label: 1.0, radius: 10.0 };
    let model = Arc::new(Model::new(spec(Loss::Logistic, 2), bounds).unwrap());
    let record =
        |features: [f64; 2]| Record { features: Features::Dense(features.into()), label: 1.0 };
    let mut nearest = 0.0_f64;
    for steep in [2.0, 3.0, 4.0, 5.0] {
        let start = [0.0, steep];
        let mut memory = Anchored::new(Arc::clone(&model), tolerance).unwrap();
        let mut exact = Exact::new(Arc::clone(&model));
        for one in checked(&model, &[record([1.0, 0.0]), record([0.0, 1.0])]) {
            memory.observe(&start, std::slice::from_ref(&one));
            exact.observe(&start, std::slice::from_ref(&one));
        }
        for step in 1..300 {
            let theta = [0.0, steep - 0.005 * f64::from(step)];
            let expanded = memory.expansions();
            let found = gradient(&mut memory, 0, &theta);
            let apart = distance(&found, &gradient(&mut exact, 0, &theta)) / 0.001;
            assert!(apart <= 1.0, "from {steep} after {step} steps: {apart}");
            nearest = nearest.max(apart);
            if memory.expansions() > expanded {
                break;
            }
        }
    }
    assert!(nearest > 0.5, "a bound half as large would be violated: {nearest}");
}

#[test]
fn without_records_every_gradient_is_zero() {
    for (kind, model) in admitted() {
        let mut memory = AnyMemory::new(kind, Arc::clone(&model)).unwrap();
        let theta = Dice::new(5).theta(&model);
        assert!(norm_of(&gradient(&mut memory, 0, &theta)) < f64::MIN_POSITIVE);
        assert_eq!(memory.observe(&theta, &[]), Score::default());
        assert_eq!(memory.records(), 0);
    }
}

#[test]
fn recursive_takes_no_record_with_two_features() {
    let model = model(Loss::Power { degree: 4 }, 3);
    let mut dice = Dice::new(7);
    let (single, several) = (separable(&mut dice, &model), dice.record(&model));
    let checker = model.record_checker(MemoryKind::Recursive);
    assert!(checker.check(single).is_ok());
    for refused in [checker.check(several.clone()), checker.check_again(several.clone())] {
        assert_eq!(refused.err(), Some(RecordError::NotSeparable));
    }
    // Control: other memories take it.
    assert!(model.record_checker(MemoryKind::Exact).check(several).is_ok());
}

/// A record that was not checked for a memory would break what its error bound and the account rely on.
#[test]
fn a_record_checked_for_another_model_or_memory_is_a_bug() {
    let panics = |memory: &AnyMemory, theta: &[f64], record: &BoundedRecord| {
        let (mut memory, batch) = (memory.clone(), std::slice::from_ref(record));
        let observed = std::panic::AssertUnwindSafe(|| memory.observe(theta, batch));
        std::panic::catch_unwind(observed).is_err()
    };
    for (kind, model) in admitted() {
        let mut dice = Dice::new(6);
        let (record, theta) = (draw(&mut dice, kind, &model), dice.theta(&model));
        let memory = AnyMemory::new(kind, Arc::clone(&model)).unwrap();
        assert!(!panics(&memory, &theta, &record), "{kind:?}");
        let wide = DataBounds { feature_norm: 9.0, ..*model.bounds() };
        let other = Model::new(*model.spec(), wide).unwrap();
        assert!(panics(&memory, &theta, &draw(&mut dice, kind, &other)), "{kind:?}");
        if kind == MemoryKind::Recursive {
            assert!(panics(&memory, &theta, &draw(&mut dice, MemoryKind::Exact, &model)));
        }
    }
}

#[test]
fn sparse_and_dense_streams_give_the_same_gradient() {
    for (kind, model) in admitted() {
        if kind == MemoryKind::Recursive {
            continue;
        }
        let mut dice = Dice::new(8);
        let (mut left, mut right) = (
            AnyMemory::new(kind, Arc::clone(&model)).unwrap(),
            AnyMemory::new(kind, Arc::clone(&model)).unwrap(),
        );
        let theta = dice.theta(&model);
        let sparse: Vec<Record> = (0..50).map(|_| dice.sparse_record(&model)).collect();
        let dense: Vec<Record> = sparse.iter().map(dense_form).collect();
        left.observe(&theta, &checked(&model, &sparse));
        right.observe(&theta, &checked(&model, &dense));
        let (left, right) = (gradient(&mut left, 1, &theta), gradient(&mut right, 1, &theta));
        assert!(distance(&left, &right) < 1e-13, "{kind:?}");
    }
}

#[test]
fn error_bounds_are_known_without_data() {
    for (kind, model) in admitted() {
        let memory = AnyMemory::new(kind, Arc::clone(&model)).unwrap();
        assert_eq!(error_bound(kind, &Arc::clone(&model).into()), Ok(memory.error_bound()));
    }
}

#[test]
fn a_memory_that_does_not_hold_is_refused_with_what_to_use_instead() {
    let bounds = DataBounds { feature_norm: 1.0, label: 1.0, radius: 1.0 };
    let build = |kind, spec| {
        let model = Arc::new(Model::new(spec, bounds).unwrap());
        let (left, right) = (
            error_bound(kind, &Arc::clone(&model).into()),
            AnyMemory::new(kind, Arc::clone(&model)),
        );
        // As text, since NaN is not equal to itself.
        assert_eq!(format!("{:?}", left.err()), format!("{:?}", right.err()));
        AnyMemory::new(kind, model).map(|_memory| ())
    };
    let refused =
        |kind, loss| matches!(build(kind, spec(loss, 3)), Err(SetupError::UnsupportedLoss { .. }));
    assert!(refused(MemoryKind::Moments, Loss::Logistic));
    assert!(refused(MemoryKind::Recursive, Loss::Logistic));
    assert!(refused(MemoryKind::Decaying { factor: 0.9, rounds: None }, Loss::Logistic));
    assert!(refused(MemoryKind::Polynomial { degree: 2 }, Loss::Squared));
    assert!(refused(MemoryKind::Anchored { tolerance: TOLERANCE }, Loss::Huber { threshold: 1.0 }));
    assert!(refused(MemoryKind::Anchored { tolerance: TOLERANCE }, Loss::Softmax { classes: 3 }));
    let logistic = |features| spec(Loss::Logistic, features);
    assert_eq!(
        build(MemoryKind::Polynomial { degree: 3 }, logistic(3)),
        Err(SetupError::Degree { degree: 3 })
    );
    let limits = [(2, 630, 631), (4, 45, 46), (6, 20, 21)];
    for (degree, largest, too_large) in limits {
        let kind = MemoryKind::Polynomial { degree };
        assert_eq!(build(kind, logistic(largest)), Ok(()));
        let refusal = build(kind, logistic(too_large));
        assert!(matches!(refusal, Err(SetupError::TooManyMoments { .. })), "{degree}");
    }
    for initial in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let kind = MemoryKind::Anchored { tolerance: PowerLaw { initial, exponent: 0.0 } };
        assert!(build(kind, logistic(3)).is_err());
    }
    let expanded = ModelSpec { degree: 2, ..spec(Loss::Squared, 1) };
    let refusal = build(MemoryKind::Recursive, expanded);
    assert_eq!(refusal, Err(SetupError::Expanded { degree: 2 }));
    let text = build(MemoryKind::Moments, logistic(3)).unwrap_err().to_string();
    assert!(text.contains("moments") && text.contains("logistic") && text.contains("anchored"));
}

#[test]
fn anchored_expands_rarely_when_steps_shrink_and_stays_within_its_tolerance() {
    let bounds = DataBounds { feature_norm: 1.0, label: 1.0, radius: 10.0 };
    let model = Arc::new(Model::new(spec(Loss::Logistic, 30), bounds).unwrap());
    let tolerance = PowerLaw { initial: 0.01, exponent: 0.0 };
    let mut memory = Anchored::new(Arc::clone(&model), tolerance).unwrap();
    let mut exact = Exact::new(Arc::clone(&model));
    let mut dice = Dice::new(9);
    let centre = dice.direction(30, 3.0);
    let mut theta = vec![0.0; 30];
    let mut at_500 = 0;
    for round in 0..3000_u32 {
        let batch = checked(&model, &[dice.sparse_record(&model)]);
        memory.observe(&theta, &batch);
        exact.observe(&theta, &batch);
        let found = gradient(&mut memory, round.into(), &theta);
        if round % 50 == 0 || round < 50 {
            let apart = distance(&found, &gradient(&mut exact, round.into(), &theta));
            assert!(apart <= 0.01, "round {round}: {apart}");
        }
        if round == 500 {
            at_500 = memory.expansions();
        }
        let t = f64::from(round) + 1.0;
        let step = dice.direction(30, 0.5 * t.powf(-0.54));
        let keep = 1.0 - 0.6 * t.powf(-0.65);
        for i in 0..30 {
            theta[i] = centre[i] + keep * (theta[i] - centre[i]) + step[i];
        }
    }
    assert!(memory.expansions() < 60, "{} expansions", memory.expansions());
    assert!(memory.expansions() - at_500 < 5, "late expansions are rare");
}

#[test]
fn debug_output_shows_shapes_and_no_values() {
    for (kind, model) in admitted() {
        let mut memory = AnyMemory::new(kind, Arc::clone(&model)).unwrap();
        let mut record = separable(&mut Dice::new(10), &model);
        record.features = Features::Dense([0.0, 0.731, 0.0, 0.0].into());
        let theta = vec![0.417; model.parameters()];
        memory.observe(&theta, &[model.record_checker(kind).check(record).unwrap()]);
        gradient(&mut memory, 0, &theta);
        let text = format!("{memory:?}");
        assert!(text.contains("records=1") && !text.contains('.'), "{text}");
    }
}

#[test]
fn recursive_stays_exact_as_steps_shrink_where_difference_quotients_lose_all_digits() {
    let model = model(Loss::Power { degree: 4 }, 1);
    let (mut memory, mut exact) = (
        AnyMemory::new(MemoryKind::Recursive, Arc::clone(&model)).unwrap(),
        Exact::new(Arc::clone(&model)),
    );
    let mut dice = Dice::new(11);
    for round in 0..2000_u32 {
        let theta = [0.5 + (f64::from(round) + 1.0).powi(-4)];
        let batch = [draw(&mut dice, MemoryKind::Recursive, &model)];
        memory.observe(&theta, &batch);
        exact.observe(&theta, &batch);
        if round % 100 == 0 {
            let apart = distance(
                &gradient(&mut memory, round.into(), &theta),
                &gradient(&mut exact, round.into(), &theta),
            );
            assert!(apart <= memory.error_bound().at(Round(0)) + exact.rounding_error());
            assert!(apart < 1e-12);
        }
    }
}

/// Any memory after some rounds, with records that no gradient has seen yet, saved and loaded.
#[test]
fn a_memory_loaded_from_its_state_goes_on_with_the_same_bits() {
    let mut dice = Dice::new(11);
    for (kind, model) in admitted() {
        let mut memory = AnyMemory::new(kind, Arc::clone(&model)).unwrap();
        for round in 0..6 {
            let theta = dice.theta(&model);
            let batch: Vec<BoundedRecord> = (0..4).map(|_| draw(&mut dice, kind, &model)).collect();
            memory.observe(&theta, &batch);
            let mut again = AnyMemory::new(kind, Arc::clone(&model)).unwrap();
            load(&mut again, &save(&mut memory)).unwrap();
            assert_eq!(again.records(), memory.records(), "{kind:?}");
            let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
            let later = 3 * round;
            assert_eq!(
                bits(gradient(&mut again, later, &theta)),
                bits(gradient(&mut memory, later, &theta)),
                "{kind:?} {:?}",
                model.spec().loss
            );
            assert_eq!(save(&mut again), save(&mut memory), "{kind:?}");
        }
        let mut empty = AnyMemory::new(kind, Arc::clone(&model)).unwrap();
        assert!(load(&mut empty, &save(&mut memory)[1..]).is_err(), "{kind:?}: a byte is missing");
    }
}
