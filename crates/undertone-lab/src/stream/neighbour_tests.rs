//! From a data set to the learners' streams: a changed record changes its own place and nothing else.

use super::distribute::{OrderedSource, distribute};
use super::{PublicParts, Streams};
use crate::data::Dataset;
use crate::experiment::{LoadedExperiment, Partition};
use crate::presets::load_preset_with;
use proptest::prelude::*;
use undertone_models::{BoundedRecord, Features, Record};

const RECORDS: usize = 120;
const CLASSES: usize = 4;
/// Above the bound: such a record is refused.
const TOO_LARGE: f64 = 2.0;

/// Within the bound, and no other record's.
fn feature_of(number: usize) -> f64 {
    (number + 1) as f64 / 1000.0
}

/// Records known by their only feature.
fn records(labels: &[usize]) -> Vec<Record> {
    let record = |(number, &label): (usize, &usize)| record(feature_of(number), label);
    labels.iter().enumerate().map(record).collect()
}

fn record(feature: f64, label: usize) -> Record {
    Record { features: Features::Dense([feature].into()), label: label as f64 }
}

fn experiment(partition: Partition, order: &str, test_fraction: f64) -> LoadedExperiment {
    let loaded = load_preset_with("mushrooms", |raw| {
        let (word, alpha, share) = match partition {
            Partition::Iid => ("iid", None, None),
            Partition::InOrder => ("in-order", None, None),
            Partition::ByClass => ("by-class", None, None),
            Partition::Dirichlet { alpha } => ("dirichlet", Some(alpha), None),
            Partition::OwnClass { share } => ("own-class", None, Some(share)),
        };
        (raw.data.partition, raw.data.alpha, raw.data.share) = (Some(word.into()), alpha, share);
        raw.data.order = Some(order.into());
        raw.data.test_fraction = Some(test_fraction);
        raw.agreement.records.warmup = Some(0);
        raw.agreement.records.normalise = None;
        raw.agreement.records.centre = None;
        raw.agreement.bounds.out_of_bounds = Some("refuse".into());
        raw.agreement.model.features = Some(1.into());
        raw.agreement.model.loss = Some("softmax".into());
        raw.agreement.model.classes = Some(CLASSES.try_into().unwrap());
        raw.agreement.unproven = Some(true);
    });
    loaded.unwrap()
}

fn dealt(loaded: &LoadedExperiment, records: Vec<Record>, test_rows: usize, seed: u64) -> Streams {
    let dataset = Dataset {
        name: "numbered".into(),
        dimension: 1,
        image_shape: None,
        classes: Some((0..CLASSES).map(|class| class.to_string()).collect()),
        records,
        feature_names: vec!["number".into()],
        one_hot: Vec::new(),
    };
    let public = PublicParts::default();
    let source = OrderedSource { dataset, test_rows, in_time_order: false, public };
    distribute(&loaded.checked, source, seed).unwrap()
}

/// Everybody's features in order, the test records' last, without the one that differs.
fn held(mut streams: Streams, but: &[f64]) -> Vec<Vec<u64>> {
    let bits = |records: &[BoundedRecord]| -> Vec<u64> {
        let values = records.iter().map(|record| record.features().entries().map(|(_, x)| x).sum());
        values.filter(|value| !but.contains(value)).map(f64::to_bits).collect()
    };
    let test = bits(&streams.test);
    let own = streams.learners.iter_mut().map(|stream| bits(&stream.next(RECORDS as u64)));
    own.chain([test]).collect()
}

/// Partitions under which nobody is left without records here.
fn partitions() -> impl Strategy<Value = Partition> {
    prop_oneof![
        Just(Partition::Iid),
        Just(Partition::InOrder),
        Just(Partition::ByClass),
        Just(Partition::Dirichlet { alpha: 50.0 }),
        Just(Partition::OwnClass { share: 0.4 }),
    ]
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Label(usize),
    Feature(f64),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn a_changed_record_moves_no_other_and_no_starting_point(
        changed in 0_usize..RECORDS,
        change in prop_oneof![
            (0..CLASSES).prop_map(Change::Label),
            Just(Change::Feature(0.9)),
            // It is refused, and those behind it must not move up.
            Just(Change::Feature(TOO_LARGE)),
        ],
        partition in partitions(),
        order in prop_oneof![Just("file"), Just("shuffled")],
        (test_fraction, test_rows) in prop_oneof![Just((0.25, 0)), Just((0.0, 0)), Just((0.25, 30))],
        seed in any::<u64>(),
    ) {
        let labels: Vec<usize> = (0..RECORDS).map(|number| number * 7 / 3 % CLASSES).collect();
        let before = records(&labels);
        let mut after = before.clone();
        let own = feature_of(changed);
        after[changed] = match change {
            Change::Label(label) => record(own, label),
            Change::Feature(feature) => record(feature, labels[changed]),
        };
        let loaded = experiment(partition, order, test_fraction);
        let before = dealt(&loaded, before, test_rows, seed);
        let after = dealt(&loaded, after, test_rows, seed);
        prop_assert_eq!(before.order.clone().next_u64(), after.order.clone().next_u64());
        prop_assert_eq!(before.public.labels, partition.depends_on_labels());
        let but = [own, 0.9, TOO_LARGE];
        // The changed record itself stays where it was, unless its label says where that is.
        if let Change::Feature(feature) = change {
            let holder = |streams: &Streams, value: f64| {
                held(streams.clone(), &[]).iter().position(|own| own.contains(&value.to_bits()))
            };
            let place = holder(&after, feature);
            prop_assert!(place == holder(&before, own) || (feature > 1.0 && place.is_none()));
        }
        prop_assert_eq!(held(before, &but), held(after, &but));
    }
}

#[test]
fn control_a_refused_record_that_is_dropped_before_the_deal_moves_many() {
    let labels: Vec<usize> = (0..RECORDS).map(|number| number % CLASSES).collect();
    let loaded = experiment(Partition::Iid, "shuffled", 0.25);
    let whole = records(&labels);
    let mut refused = whole.clone();
    refused[50] = record(TOO_LARGE, labels[50]);
    let mut dropped = whole.clone();
    dropped.remove(50);
    let but = [feature_of(50)];
    let whole = held(dealt(&loaded, whole, 0, 1), &but);
    assert_eq!(held(dealt(&loaded, refused, 0, 1), &but), whole);
    assert_ne!(held(dealt(&loaded, dropped, 0, 1), &but), whole);
}
