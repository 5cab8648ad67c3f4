//! Records of persons: how far one person moves a gradient, and how many of a person's records are used.

use crate::support::{Dice, LOSSES, distance, model, norm_of};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use undertone_core::persist::{load, save};
use undertone_core::privacy::Unit;
use undertone_core::{Loss, Memory, MemoryKind, Round};
use undertone_models::{
    AnyMemory, BoundedRecord, Model, PersonKey, PersonLimit, Record, RecordChecker, RecordError,
    SetupError,
};

const GROUPED: Unit = Unit::GroupedPerson { warmup: 0, per_round: 1 };

fn checker(model: &Model) -> RecordChecker {
    model.record_checker(MemoryKind::Exact).of_unit(GROUPED)
}

fn of(model: &Model, person: u64, record: Record) -> BoundedRecord {
    checker(model).check(record.of_person(PersonKey::of_number(person.into()))).unwrap()
}

fn gradient(memory: &mut AnyMemory, round: u64, theta: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; theta.len()];
    memory.gradient(Round(round), theta, &mut out);
    out
}

/// The average over persons of the sum of a person's gradients, cut to G, with the ridge: by definition, and plainly.
fn by_definition(model: &Model, theta: &[f64], stream: &[(u64, Record)]) -> Vec<f64> {
    let mut persons: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (person, record) in stream {
        let sum = persons.entry(*person).or_insert_with(|| vec![0.0; theta.len()]);
        model.add_gradient(theta, record, 1.0, sum);
    }
    let most = model.constants().gradient_norm;
    let mut out = vec![0.0; theta.len()];
    for sum in persons.values() {
        let share = (most / norm_of(sum).max(1e-300)).min(1.0) / persons.len() as f64;
        out.iter_mut().zip(sum).for_each(|(slot, value)| *slot += share * value);
    }
    if !persons.is_empty() {
        out.iter_mut().zip(theta).for_each(|(slot, x)| *slot += model.spec().ridge * x);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn gradients_are_averages_over_persons_of_sums_that_are_cut(
        seed: u64,
        loss in 0..LOSSES.len(),
        window in prop_oneof![Just(None), (1u64..6).prop_map(Some)],
        arrivals in prop::collection::vec(prop::collection::vec(0u64..6, 0..8), 1..15),
    ) {
        let model = model(LOSSES[loss], 4);
        let kind = window.map_or(MemoryKind::Exact, |rounds| MemoryKind::Window { rounds });
        let mut memory = AnyMemory::for_unit(GROUPED, kind, Arc::clone(&model)).unwrap();
        let mut dice = Dice(seed);
        let mut stream: Vec<(u64, u64, Record)> = Vec::new();
        for (round, persons) in arrivals.iter().enumerate() {
            let round = round as u64;
            let theta = dice.theta(&model);
            let batch: Vec<(u64, Record)> = persons
                .iter()
                .map(|&person| {
                    let sparse = dice.below(2) == 0;
                    let record =
                        if sparse { dice.sparse_record(&model) } else { dice.record(&model) };
                    (person, record)
                })
                .collect();
            let checked: Vec<BoundedRecord> =
                batch.iter().map(|(person, record)| of(&model, *person, record.clone())).collect();
            memory.observe(&theta, &checked);
            stream.extend(batch.into_iter().map(|(person, record)| (round, person, record)));
            let kept = |arrival: u64| window.is_none_or(|rounds| round - arrival < rounds);
            let kept: Vec<(u64, Record)> = stream
                .iter()
                .filter(|(arrival, ..)| kept(*arrival))
                .map(|(_, person, record)| (*person, record.clone()))
                .collect();
            let found = gradient(&mut memory, round, &theta);
            let apart = distance(&found, &by_definition(&model, &theta, &kept));
            prop_assert!(apart < 1e-9, "{:?}, round {round}: {apart}", LOSSES[loss]);
            let mut persons: Vec<u64> = kept.iter().map(|(person, _)| *person).collect();
            persons.sort_unstable();
            persons.dedup();
            prop_assert_eq!(memory.records(), persons.len() as u64);
            prop_assert_eq!(memory.persons(), Some(persons.len() as u64));
            prop_assert_eq!(memory.records_used(), stream.len() as u64);
        }
    }

    /// Two histories that differ in all records of one person, who has many.
    #[test]
    fn one_person_moves_the_gradient_by_no_more_than_the_claim_however_many_records(
        seed: u64,
        loss in 0..LOSSES.len(),
        own in 1u64..40,
        others in 0u64..12,
    ) {
        let model = model(LOSSES[loss], 4);
        let mut dice = Dice(seed);
        let theta = dice.theta(&model);
        let mut twins = [(); 2].map(|()| {
            AnyMemory::for_unit(GROUPED, MemoryKind::Exact, Arc::clone(&model)).unwrap()
        });
        for person in 1..=others {
            let record = of(&model, person, dice.record(&model));
            twins.iter_mut().for_each(|twin| { twin.observe(&theta, std::slice::from_ref(&record)); });
        }
        for twin in &mut twins {
            let record = of(&model, 0, dice.record(&model));
            // Many records that all pull the same way.
            (0..own).for_each(|_| { twin.observe(&theta, std::slice::from_ref(&record)); });
        }
        let [left, right] = twins.each_mut().map(|twin| gradient(twin, 0, &theta));
        let persons = (others + 1) as f64;
        let claim = GROUPED.constants(model.constants()).gradient_spread / persons;
        let moved = distance(&left, &right);
        prop_assert!(moved <= claim * (1.0 + 1e-12), "{moved} {claim}");
    }
}

#[test]
fn a_claim_for_single_records_would_be_broken_by_a_person_with_many() {
    // The control: without cutting, forty records of one person move the average by up to forty shares.
    let model = model(Loss::Logistic, 4);
    let mut dice = Dice(5);
    let theta = dice.theta(&model);
    let first = Record::dense([1.4, 0.0, 0.0, 0.0], 1.0);
    let second = Record::dense([-1.4, 0.0, 0.0, 0.0], 1.0);
    let gradient_of = |unit: Unit, record: &Record| {
        let mut memory = AnyMemory::for_unit(unit, MemoryKind::Exact, Arc::clone(&model)).unwrap();
        let mut batch = vec![of(&model, 0, record.clone()); 40];
        batch.extend((1..60).map(|person| of(&model, person, first.clone())));
        memory.observe(&theta, &batch);
        gradient(&mut memory, 0, &theta)
    };
    let moved = |unit: Unit| distance(&gradient_of(unit, &first), &gradient_of(unit, &second));
    let record_claim = model.constants().gradient_spread / 99.0;
    assert!(moved(Unit::Record) > 10.0 * record_claim);
    assert!(moved(GROUPED) <= 2.0 * model.constants().gradient_norm / 60.0);
    let limited = Unit::LimitedPerson { records: 3 };
    let claim = limited.constants(model.constants()).gradient_spread / 62.0;
    assert!(moved(limited) <= claim && moved(limited) > record_claim);
}

#[test]
fn what_other_persons_contribute_is_the_same_bit_for_bit() {
    let model = model(Loss::Softmax { classes: 3 }, 4);
    let mut dice = Dice(8);
    let theta = dice.theta(&model);
    let others: Vec<BoundedRecord> =
        (0..90).map(|k| of(&model, 1 + k % 7, dice.record(&model))).collect();
    let without = |first: Record| {
        let mut memory =
            AnyMemory::for_unit(GROUPED, MemoryKind::Exact, Arc::clone(&model)).unwrap();
        memory.observe(&theta, &[of(&model, 0, first)]);
        memory.observe(&theta, &others);
        gradient(&mut memory, 0, &theta)
    };
    // Two records without any gradient along the features, one dense and one sparse: only the person's own layout differs.
    let zero = Record::dense([0.0; 4], 0.0);
    let empty = Record::new(
        undertone_models::Features::Sparse {
            dimension: 4,
            indices: Box::default(),
            values: Box::default(),
        },
        0.0,
    );
    assert_eq!(without(zero).map_bits(), without(empty).map_bits());
}

trait Bits {
    fn map_bits(self) -> Vec<u64>;
}

impl Bits for Vec<f64> {
    fn map_bits(self) -> Vec<u64> {
        self.into_iter().map(f64::to_bits).collect()
    }
}

#[test]
fn the_first_records_of_a_person_are_used_and_the_rest_left_out() {
    let model = model(Loss::Squared, 3);
    let mut dice = Dice(2);
    let limited = Unit::LimitedPerson { records: 2 };
    let theta = dice.theta(&model);
    let records: Vec<Record> = (0..5).map(|_| dice.record(&model)).collect();
    let batch: Vec<BoundedRecord> = [7, 7, 8, 7, 8]
        .into_iter()
        .zip(&records)
        .map(|(person, record)| of(&model, person, record.clone()))
        .collect();
    let mut memory = AnyMemory::for_unit(limited, MemoryKind::Moments, Arc::clone(&model)).unwrap();
    memory.observe(&theta, &batch[..3]);
    let score = memory.observe(&theta, &batch[3..]);
    assert_eq!((memory.records(), memory.persons(), score.records), (4, Some(2), 1));
    let mut plain = AnyMemory::new(MemoryKind::Moments, Arc::clone(&model)).unwrap();
    let used: Vec<BoundedRecord> = [0, 1, 2, 4].map(|place| batch[place].clone()).into();
    plain.observe(&theta, &used);
    assert!(distance(&gradient(&mut memory, 0, &theta), &gradient(&mut plain, 0, &theta)) < 1e-14);
    // Whoever feeds it leaves the same records out.
    let mut limit = PersonLimit::new(2);
    let admitted = limit.admitted(batch.clone());
    assert_eq!(admitted.len(), 4);
    assert!(admitted[2].as_record() == batch[2].as_record());
    assert!(!limit.admits(&batch[0]) && limit.persons() == 2);
}

#[test]
fn a_memory_of_persons_loaded_from_its_state_goes_on_with_the_same_bits() {
    let model = model(Loss::Logistic, 4);
    let window = MemoryKind::Window { rounds: 2 };
    for (unit, kind) in [
        (GROUPED, MemoryKind::Exact),
        (GROUPED, window),
        (Unit::LimitedPerson { records: 2 }, MemoryKind::Exact),
        (Unit::LimitedPerson { records: 2 }, window),
    ] {
        let empty = || AnyMemory::for_unit(unit, kind, Arc::clone(&model)).unwrap();
        let (mut memory, mut dice) = (empty(), Dice(3));
        for round in 0..8 {
            let theta = dice.theta(&model);
            let batch: Vec<BoundedRecord> =
                (0..3).map(|_| of(&model, dice.below(5), dice.record(&model))).collect();
            memory.observe(&theta, &batch);
            let mut again = empty();
            let bytes = save(&mut memory);
            load(&mut again, &bytes).unwrap();
            assert_eq!((again.records(), again.persons()), (memory.records(), memory.persons()));
            assert_eq!(
                gradient(&mut again, round, &theta).map_bits(),
                gradient(&mut memory, round, &theta).map_bits()
            );
            // A record that was left out before is still left out.
            assert_eq!(again.observe(&theta, &batch), memory.observe(&theta, &batch));
            assert_eq!(save(&mut again), save(&mut memory), "{unit:?} {kind:?}");
            assert!(load(&mut empty(), &bytes[1..]).is_err(), "a byte is missing");
        }
    }
}

#[test]
fn a_state_that_counts_more_records_of_a_person_than_are_ever_used_is_damaged() {
    let model = model(Loss::Squared, 3);
    let mut dice = Dice(6);
    let theta = dice.theta(&model);
    let of_limit = |records| {
        let unit = Unit::LimitedPerson { records };
        AnyMemory::for_unit(unit, MemoryKind::Exact, Arc::clone(&model)).unwrap()
    };
    let mut memory = of_limit(3);
    let batch: Vec<BoundedRecord> = (0..3).map(|_| of(&model, 1, dice.record(&model))).collect();
    memory.observe(&theta, &batch);
    let bytes = save(&mut memory);
    assert!(load(&mut of_limit(3), &bytes).is_ok(), "the control");
    assert!(load(&mut of_limit(2), &bytes).is_err());
}

#[test]
fn a_record_says_whose_it_is_where_it_must_and_nothing_is_kept_of_it_elsewhere() {
    let model = model(Loss::Logistic, 3);
    let (persons, records) = (checker(&model), model.record_checker(MemoryKind::Exact));
    let record = Record::dense([0.1, 0.2, 0.3], 1.0);
    let person = PersonKey::of_text("p-17").unwrap();
    assert_eq!(persons.check(record.clone()).err(), Some(RecordError::NoPerson));
    assert_eq!(persons.check_again(record.clone()).err(), Some(RecordError::NoPerson));
    let of_person = persons.check(record.clone().of_person(person)).unwrap();
    let plain = records.check(record.of_person(person)).unwrap();
    assert_eq!((of_person.person(), plain.person()), (Some(person), None));
    assert!(persons.has_checked(&of_person) && !persons.has_checked(&plain));
    let text = format!("{of_person:?} {:?} {:?}", of_person.as_record(), of_person.person());
    assert!(!text.contains("17"), "{text}");
}

#[test]
fn memories_that_cannot_group_say_which_can() {
    let softmax = model(Loss::Squared, 3);
    let tolerance = undertone_core::PowerLaw { initial: 0.1, exponent: -0.1 };
    for kind in [
        MemoryKind::Moments,
        MemoryKind::Recursive,
        MemoryKind::Polynomial { degree: 2 },
        MemoryKind::Arrival,
        MemoryKind::Anchored { tolerance },
        MemoryKind::Decaying { factor: 0.5, rounds: Some(3) },
    ] {
        let refused = AnyMemory::for_unit(GROUPED, kind, Arc::clone(&softmax)).unwrap_err();
        assert_eq!(refused, SetupError::Grouping);
        assert!(refused.to_string().contains("use exact or window"));
    }
}
