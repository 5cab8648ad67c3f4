//! Laws of one record: derivatives, constants, checks, expansion.

use crate::support::{Dice, LOSSES, dense_form, distance, model, norm_of, spec};
use proptest::prelude::*;
use undertone_core::{DataBounds, Loss, MemoryKind, ModelSpec};
use undertone_models::{Features, Model, Record, RecordError, SetupError};

fn gradient(model: &Model, theta: &[f64], record: &Record) -> Vec<f64> {
    let mut out = vec![0.0; model.parameters()];
    model.add_gradient(theta, record, 1.0, &mut out);
    out
}

fn hessian(model: &Model, theta: &[f64], record: &Record) -> Vec<f64> {
    let n = model.parameters();
    let mut out = vec![0.0; n * n];
    model.add_hessian(theta, record, 1.0, &mut out);
    out
}

/// Whether a Huber residual is too near its kink for differences.
fn near_kink(model: &Model, theta: &[f64], record: &Record) -> bool {
    let Loss::Huber { threshold } = model.spec().loss else { return false };
    let residual = model.predict(theta, &record.features) - record.label;
    (residual.abs() - threshold).abs() < 1e-3
}

proptest! {
    #[test]
    fn gradients_and_hessians_match_finite_differences(seed: u64, expanded: bool) {
        let mut dice = Dice::new(seed);
        for loss in LOSSES {
            let degree = if expanded { 2 } else { 1 };
            let bounds = DataBounds { feature_norm: 1.2, label: 1.0, radius: 2.0 };
            let model = Model::new(ModelSpec { degree, ..spec(loss, 3) }, bounds).unwrap();
            let (theta, record) = (dice.theta(&model), dice.record(&model));
            if near_kink(&model, &theta, &record) {
                continue;
            }
            let (exact, curvature) =
                (gradient(&model, &theta, &record), hessian(&model, &theta, &record));
            let (n, step) = (model.parameters(), 1e-5);
            let scale = 1.0 + model.constants().smoothness;
            for i in 0..n {
                let (mut up, mut down) = (theta.clone(), theta.clone());
                up[i] += step;
                down[i] -= step;
                let slope = (model.loss(&up, &record) - model.loss(&down, &record)) / (2.0 * step);
                prop_assert!((slope - exact[i]).abs() < 1e-6 * scale, "{loss:?}");
                let (high, low) = (gradient(&model, &up, &record), gradient(&model, &down, &record));
                for j in 0..n {
                    let second = (high[j] - low[j]) / (2.0 * step);
                    prop_assert!((second - curvature[i * n + j]).abs() < 1e-5 * scale, "{loss:?}");
                }
            }
        }
    }

    #[test]
    fn smoothness_convexity_and_spread_hold_everywhere(seed: u64, clipped: bool) {
        let mut dice = Dice::new(seed);
        for loss in LOSSES {
            let clip = if clipped { 0.2 } else { f64::INFINITY };
            let plain = model(loss, 3);
            let model = Model::new(ModelSpec { clip, ..*plain.spec() }, *plain.bounds()).unwrap();
            let constants = model.constants();
            let (x, y) = (dice.theta(&model), dice.theta(&model));
            let (first, second) = (dice.record(&model), dice.record(&model));
            let ridge = model.spec().ridge;
            let (mut at_x, mut at_y) = (gradient(&model, &x, &first), gradient(&model, &y, &first));
            let other = gradient(&model, &x, &second);
            prop_assert!(norm_of(&at_x) <= constants.gradient_norm * (1.0 + 1e-12));
            prop_assert!(distance(&at_x, &other) <= constants.gradient_spread * (1.0 + 1e-12));
            for i in 0..x.len() {
                at_x[i] += ridge * x[i];
                at_y[i] += ridge * y[i];
            }
            let apart = distance(&x, &y);
            prop_assert!(distance(&at_x, &at_y) <= constants.smoothness * apart + 1e-12);
            let monotone: f64 =
                (0..x.len()).map(|i| (at_x[i] - at_y[i]) * (x[i] - y[i])).sum();
            prop_assert!(monotone >= constants.strong_convexity * apart * apart - 1e-12);
        }
    }

    #[test]
    fn sparse_and_dense_records_give_the_same_numbers(seed: u64) {
        let mut dice = Dice::new(seed);
        for loss in LOSSES {
            for degree in [1, 3] {
                let bounds = DataBounds { feature_norm: 1.0, label: 1.0, radius: 2.0 };
                let model = Model::new(ModelSpec { degree, ..spec(loss, 5) }, bounds).unwrap();
                let (theta, sparse) = (dice.theta(&model), dice.sparse_record(&model));
                let dense = dense_form(&sparse);
                let (left, right) = (gradient(&model, &theta, &sparse), gradient(&model, &theta, &dense));
                prop_assert!(distance(&left, &right) < 1e-12);
                prop_assert!((model.loss(&theta, &sparse) - model.loss(&theta, &dense)).abs() < 1e-12);
                let (left, right) = (hessian(&model, &theta, &sparse), hessian(&model, &theta, &dense));
                prop_assert!(distance(&left, &right) < 1e-12);
            }
        }
    }

    #[test]
    fn expanded_features_have_the_stated_number_order_and_norm(seed: u64, degree in 2_u32..5) {
        let mut dice = Dice::new(seed);
        let bounds = DataBounds { feature_norm: 1.3, label: 1.0, radius: 2.0 };
        let model = Model::new(ModelSpec { degree, ..spec(Loss::Squared, 3) }, bounds).unwrap();
        let record = dice.record(&model);
        let expanded = model.expand(&record.features);
        prop_assert_eq!(expanded.dimension(), model.spec().expanded_features());
        prop_assert!(expanded.norm() <= model.expanded_norm() * (1.0 + 1e-12));
        let values: Vec<f64> = expanded.entries().map(|(_, value)| value).collect();
        let x: Vec<f64> = record.features.entries().map(|(_, value)| value).collect();
        let start = [1.0, x[0], x[1], x[2], x[0] * x[0], x[0] * x[1], x[1] * x[1], x[0] * x[2]];
        prop_assert!(distance(&values[..8], &start) < 1e-12);
        let last = x[2].powi(i32::try_from(degree).unwrap());
        prop_assert!((values[values.len() - 1] - last).abs() < 1e-12);
    }

    #[test]
    fn no_record_whatever_makes_a_check_or_an_admitted_loss_panic(
        dimension in 0_u32..5,
        indices in proptest::collection::vec(0_u32..6, 0..4),
        values in proptest::collection::vec(prop_oneof![-2.0..2.0_f64, any::<f64>()], 0..4),
        label in prop_oneof![Just(0.0), Just(1.0), Just(2.0), any::<f64>()],
    ) {
        for loss in LOSSES {
            let model = model(loss, 3);
            let theta = vec![0.5; model.parameters()];
            let (boxed, sparse) = (values.clone().into_boxed_slice(), indices.clone().into());
            for features in [
                Features::Dense(boxed.clone()),
                Features::Sparse { dimension, indices: sparse, values: boxed },
            ] {
                let record = Record { features, label };
                if let Ok(record) = model.record_checker(MemoryKind::Exact).check(record) {
                    prop_assert!(model.loss(&theta, record.as_record()).is_finite());
                }
            }
        }
    }
}

fn at(x: f64, y: f64, label: f64) -> Record {
    Record { features: Features::Dense([x, y].into()), label }
}

/// Controls of the law above: with half of L or C, records near the bounds are counterexamples.
#[test]
fn half_of_the_smoothness_is_violated() {
    for loss in LOSSES {
        let bounds = DataBounds { feature_norm: 1.0, label: 0.0, radius: 50.0 };
        let model = Model::new(ModelSpec { ridge: 0.0, ..spec(loss, 2) }, bounds).unwrap();
        // Curvature is largest at the rim for powers, at zero or anywhere for the others. Two
        // equal classes of three are where softmax curves most: the third gets a low score.
        let rim = if matches!(loss, Loss::Power { .. }) { 49.9 } else { 0.0 };
        let (mut left, mut right) = (vec![0.0; model.parameters()], vec![0.0; model.parameters()]);
        (left[0], right[0]) = (rim - 0.005, rim + 0.005);
        if matches!(loss, Loss::Softmax { .. }) {
            (left[2], right[2]) = (0.005, -0.005);
            (left[4], right[4]) = (-30.0, -30.0);
        }
        let record = at(1.0, 0.0, 0.0);
        let change =
            distance(&gradient(&model, &left, &record), &gradient(&model, &right, &record));
        let limit = 0.5 * model.constants().smoothness * distance(&left, &right);
        assert!(change > 1.5 * limit, "{loss:?}");
    }
}

#[test]
fn half_of_the_gradient_spread_is_violated() {
    for loss in LOSSES {
        // Classes seen with certainty and wrongly; targets far beyond what Θ can predict.
        let (theta, radius, first, second) = match loss {
            Loss::Logistic => (vec![49.0, 0.0], 50.0, at(-0.3, 0.9, 1.0), at(0.3, 0.9, 0.0)),
            Loss::Softmax { .. } => {
                let theta = vec![30.0, 0.0, -30.0, 0.0, 0.0, -9.0];
                (theta, 50.0, at(0.3, 0.9, 1.0), at(-0.3, 0.9, 0.0))
            }
            Loss::Squared
            | Loss::Power { .. }
            | Loss::Huber { .. }
            | Loss::Neural { .. }
            | Loss::Declared { .. } => {
                (vec![0.0, 0.0], 0.01, at(1.0, 0.0, 1.0), at(1.0, 0.0, -1.0))
            }
        };
        let bounds = DataBounds { feature_norm: 1.0, label: 1.0, radius };
        let model = Model::new(spec(loss, 2), bounds).unwrap();
        let spread =
            distance(&gradient(&model, &theta, &first), &gradient(&model, &theta, &second));
        let constants = model.constants();
        assert!(spread > 0.85 * constants.gradient_spread, "{loss:?}");
        assert!(spread <= constants.gradient_spread * (1.0 + 1e-12), "{loss:?}");
    }
}

#[test]
fn the_strong_convexity_is_attained_where_data_has_no_curvature() {
    // So any μ larger than r would be false.
    let model = model(Loss::Logistic, 2);
    let record = Record { features: Features::Dense([0.0, 0.0].into()), label: 1.0 };
    assert!(norm_of(&hessian(&model, &[1.0, 1.0], &record)) < 1e-15);
    assert!((model.constants().strong_convexity - model.spec().ridge).abs() < 1e-15);
}

#[test]
fn records_outside_the_bounds_are_refused_with_the_bound_they_break() {
    let dense = |values: &[f64], label| Record { features: Features::Dense(values.into()), label };
    let regression = model(Loss::Squared, 2);
    let cases = [
        (dense(&[1.0], 0.0), RecordError::Dimension { found: 1, expected: 2 }),
        (dense(&[f64::NAN, 0.0], 0.0), RecordError::NotFinite),
        (dense(&[0.0, 0.0], f64::NAN), RecordError::NotFinite),
        (dense(&[1.5, 0.1], 0.0), RecordError::FeatureNorm { bound: 1.5 }),
        (dense(&[1e300, 1e300], 0.0), RecordError::FeatureNorm { bound: 1.5 }),
        (dense(&[0.0, 0.0], -1.01), RecordError::Label { bound: 1.0 }),
    ];
    let refusal = |model: &Model, record| {
        let checker = model.record_checker(MemoryKind::Exact);
        let refused = checker.check(record).err();
        assert!(refused.is_none_or(|error| !error.to_string().contains("1.01")), "a value");
        refused
    };
    for (record, error) in cases {
        assert_eq!(refusal(&regression, record), Some(error));
    }
    let sparse = |indices: &[u32], values: &[f64]| Record {
        features: Features::Sparse { dimension: 2, indices: indices.into(), values: values.into() },
        label: 0.0,
    };
    for record in [
        sparse(&[2], &[0.1]),
        sparse(&[1, 0], &[0.1, 0.1]),
        sparse(&[0, 0], &[0.1, 0.1]),
        sparse(&[0], &[]),
    ] {
        assert_eq!(refusal(&regression, record), Some(RecordError::Indices));
    }
    for (loss, last) in [(Loss::Logistic, 1), (Loss::Softmax { classes: 3 }, 2)] {
        let model = model(loss, 2);
        assert_eq!(refusal(&model, dense(&[0.0, 1.0], last.into())), None);
        for label in [f64::from(last) + 1.0, -1.0, 0.5] {
            let found = refusal(&model, dense(&[0.0, 1.0], label));
            assert_eq!(found, Some(RecordError::Class { last }));
        }
    }
}

#[test]
fn settings_outside_their_range_are_refused() {
    let bounds = DataBounds { feature_norm: 1.0, label: 1.0, radius: 1.0 };
    let refused = |spec, bounds| Model::new(spec, bounds).is_err();
    assert!(refused(spec(Loss::Power { degree: 3 }, 2), bounds));
    assert!(refused(spec(Loss::Huber { threshold: f64::NAN }, 2), bounds));
    assert!(refused(spec(Loss::Softmax { classes: 1 }, 2), bounds));
    assert!(refused(spec(Loss::Squared, 0), bounds));
    assert!(refused(ModelSpec { ridge: f64::NAN, ..spec(Loss::Squared, 2) }, bounds));
    assert!(refused(ModelSpec { degree: 0, ..spec(Loss::Squared, 2) }, bounds));
    assert!(refused(spec(Loss::Squared, 2), DataBounds { radius: f64::INFINITY, ..bounds }));
    assert!(refused(spec(Loss::Squared, 2), DataBounds { feature_norm: 0.0, ..bounds }));
    let large = Model::new(ModelSpec { degree: 9, ..spec(Loss::Squared, 1000) }, bounds);
    assert!(matches!(large, Err(SetupError::TooManyParameters { .. })));
}

#[test]
fn predictions_are_values_for_regression_and_classes_otherwise() {
    let features = Features::Dense([1.0, 0.5].into());
    let squared = model(Loss::Squared, 2);
    assert!((squared.predict(&[1.0, -1.0], &features) - 0.5).abs() < 1e-15);
    assert!(squared.probabilities(&[1.0, -1.0], &features).is_none());
    let logistic = model(Loss::Logistic, 2);
    assert!((logistic.predict(&[1.0, -1.0], &features) - 1.0).abs() < 1e-15);
    let softmax = model(Loss::Softmax { classes: 3 }, 2);
    let theta = [0.0, 0.0, 1.0, 1.0, 2.0, 1.0];
    assert!((softmax.predict(&theta, &features) - 2.0).abs() < 1e-15);
    for (model, theta) in [(&logistic, &theta[2..4]), (&softmax, &theta[..])] {
        let probabilities = model.probabilities(theta, &features).unwrap();
        assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-15);
    }
    let huge = softmax.probabilities(&[1e3, 0.0, -1e3, 0.0, 0.0, 0.0], &features).unwrap();
    assert!(huge.iter().all(|p| p.is_finite()));
}

#[test]
fn penalties_are_half_the_ridge_and_the_whole_lasso() {
    let bounds = DataBounds { feature_norm: 1.0, label: 1.0, radius: 9.0 };
    let spec = ModelSpec { ridge: 2.0, lasso: 0.5, ..spec(Loss::Squared, 2) };
    let model = Model::new(spec, bounds).unwrap();
    assert!((model.penalty(&[3.0, -4.0]) - (25.0 + 3.5)).abs() < 1e-12);
}
