//! Memories that forget, against the weighted average by its definition.

use crate::support::{Dice, LOSSES, checked, distance, model};
use proptest::prelude::*;
use std::sync::Arc;
use undertone_core::{Loss, Memory, MemoryKind, Round};
use undertone_models::{AnyMemory, Model, Record};

/// The weight of a record of this age, before weights are normalised.
fn weight(kind: MemoryKind, age: u64) -> f64 {
    match kind {
        MemoryKind::Window { rounds } => f64::from(u8::from(age < rounds)),
        MemoryKind::Decaying { factor, rounds } => {
            if rounds.is_none_or(|rounds| age < rounds) {
                factor.powf(age as f64)
            } else {
                0.0
            }
        }
        MemoryKind::Exact
        | MemoryKind::Moments
        | MemoryKind::Recursive
        | MemoryKind::Polynomial { .. }
        | MemoryKind::Anchored { .. }
        | MemoryKind::Arrival => 1.0,
    }
}

/// The gradient by definition: every record that ever arrived, with the weight of its age.
fn by_definition(
    kind: MemoryKind,
    model: &Model,
    stream: &[(u64, Record)],
    round: u64,
    theta: &[f64],
) -> Vec<f64> {
    let mut out = vec![0.0; theta.len()];
    let of = |arrival: u64| weight(kind, round - arrival);
    let total: f64 = stream.iter().map(|&(arrival, _)| of(arrival)).sum();
    if !(total > 0.0) {
        return out;
    }
    for (arrival, record) in stream {
        model.add_gradient(theta, record, of(*arrival) / total, &mut out);
    }
    // `add_gradient` is of the data alone.
    let ridge = model.spec().ridge;
    out.iter_mut().zip(theta).for_each(|(slot, x)| *slot += ridge * x);
    out
}

fn gradient(memory: &mut AnyMemory, round: u64, theta: &[f64]) -> Vec<f64> {
    let mut out = vec![f64::NAN; theta.len()];
    memory.gradient(Round(round), theta, &mut out);
    out
}

fn kinds() -> impl Strategy<Value = MemoryKind> {
    prop_oneof![
        (1u64..12).prop_map(|rounds| MemoryKind::Window { rounds }),
        (0.2f64..0.99).prop_map(|factor| MemoryKind::Decaying { factor, rounds: None }),
        (0.2f64..0.99, 1u64..12)
            .prop_map(|(factor, rounds)| MemoryKind::Decaying { factor, rounds: Some(rounds) }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn gradients_are_the_weighted_averages_of_single_records(
        kind in kinds(), seed: u64, counts in prop::collection::vec(0u64..4, 1..40), loss in 0..LOSSES.len(),
    ) {
        let model = model(LOSSES[loss], 4);
        let Ok(mut memory) = AnyMemory::new(kind, Arc::clone(&model)) else { return Ok(()) };
        prop_assert_eq!(memory.forgetting(), kind.forgetting());
        let mut dice = Dice::new(seed);
        let mut stream: Vec<(u64, Record)> = Vec::new();
        for (round, &count) in counts.iter().enumerate() {
            let round = round as u64;
            let theta = dice.theta(&model);
            let batch: Vec<Record> = (0..count).map(|_| dice.record(&model)).collect();
            memory.observe(&theta, &checked(&model, &batch));
            stream.extend(batch.into_iter().map(|record| (round, record)));
            prop_assert_eq!(memory.records(), stream.len() as u64);
            let expected = by_definition(kind, &model, &stream, round, &theta);
            let apart = distance(&gradient(&mut memory, round, &theta), &expected);
            // Squares and higher powers of numbers up to ten, summed: 1e-10 is rounding.
            prop_assert!(apart < 1e-10, "{kind:?} {:?}, round {round}: {apart}", LOSSES[loss]);
        }
    }
}

#[test]
fn decayed_moments_stay_within_their_bound_over_many_changes_of_unit() {
    // 0.7^-5000 is 2^2573: the unit of the weights changes forty times.
    let kind = MemoryKind::Decaying { factor: 0.7, rounds: None };
    let model = model(Loss::Squared, 4);
    let mut memory = AnyMemory::new(kind, Arc::clone(&model)).unwrap();
    let mut dice = Dice::new(3);
    let mut stream: Vec<(u64, Record)> = Vec::new();
    let theta = dice.theta(&model);
    for round in 0..5000 {
        let batch = [dice.record(&model)];
        memory.observe(&theta, &checked(&model, &batch));
        // Older ones weigh less than 1e-30.
        stream.retain(|&(arrival, _)| round - arrival < 200);
        stream.extend(batch.into_iter().map(|record| (round, record)));
        let found = gradient(&mut memory, round, &theta);
        let apart = distance(&found, &by_definition(kind, &model, &stream, round, &theta));
        // The definition rounds too.
        assert!(apart <= 4.0 * memory.error_bound().at(Round(round)), "round {round}: {apart}");
    }
}

#[test]
fn after_a_long_silence_statistics_are_as_before_and_then_only_new_records_count() {
    let kind = MemoryKind::Decaying { factor: 0.5, rounds: None };
    let model = model(Loss::Squared, 4);
    let mut memory = AnyMemory::new(kind, Arc::clone(&model)).unwrap();
    let mut dice = Dice::new(4);
    let theta = dice.theta(&model);
    memory.observe(&theta, &checked(&model, &[dice.record(&model), dice.record(&model)]));
    let before = gradient(&mut memory, 0, &theta);
    assert!(distance(&gradient(&mut memory, 1_000_000, &theta), &before) < 1e-15);
    let new = dice.record(&model);
    memory.observe(&theta, &checked(&model, std::slice::from_ref(&new)));
    let after = gradient(&mut memory, 2_000_000, &theta);
    let expected = by_definition(kind, &model, &[(2_000_000, new)], 2_000_000, &theta);
    assert!(distance(&after, &expected) < 1e-12);
    // The control: the old records would be seen.
    assert!(distance(&after, &before) > 1e-3);
}
