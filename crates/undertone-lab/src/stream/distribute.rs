//! Distributing records among learners.

use super::source::record_order;
use super::{PublicParts, Stream, StreamError, Streams};
use crate::data::{DataError, Dataset, InPlace};
use crate::experiment::{Experiment, RecordOrder};
use crate::partition;
use undertone_models::{BoundedRecord, PublicRandom, RecordChecker};

/// A data set, its order, and what of it is public.
pub(super) struct OrderedSource {
    pub(super) dataset: Dataset,
    /// How many records at the end are for testing.
    pub(super) test_rows: usize,
    pub(super) in_time_order: bool,
    pub(super) public: PublicParts,
}

/// Bounds the records and distributes them.
///
/// # Guarantee
/// Who holds a record, and the order of any two records of one learner, follow from positions in the data set
/// and, where the partition depends on labels, from the record's own label. So do the test records and what the
/// starting points are drawn from. A record that is left out leaves a gap: those behind it do not move up.
pub(super) fn distribute(
    experiment: &Experiment,
    source: OrderedSource,
    seed: u64,
) -> Result<Streams, StreamError> {
    let agreement = &experiment.agreement;
    let OrderedSource { mut dataset, test_rows, in_time_order, mut public } = source;
    let labels = dataset.labels();
    let checker = RecordChecker::of(agreement).map_err(DataError::from)?;
    let InPlace { mut records, scaled, refused } =
        InPlace::new(&checker, std::mem::take(&mut dataset.records))?;

    let file_order = record_order(&experiment.data, in_time_order) == RecordOrder::File;
    let mut order = PublicRandom::new(seed);
    let count = records.len();
    let train_count = count - test_rows.min(count);
    let (train, test) = match experiment.data.test_fraction {
        None if test_rows > 0 => ((0..train_count).collect(), (train_count..count).collect()),
        Some(fraction) if file_order => partition::train_then_test(count, fraction),
        fraction => {
            let fraction = fraction.unwrap_or(0.0);
            partition::train_test_split(count, fraction, &mut || order.next_u64())
        }
    };
    let labels: Vec<f64> = train.iter().map(|&index| labels[index]).collect();
    let classes = dataset.classes.as_ref().map_or(0, Vec::len);
    let (learners, how) = (agreement.graph.learners(), experiment.data.partition);
    let mut parts = partition::split(&labels, classes, learners, how, &mut || order.next_u64())?;
    if file_order {
        // The assignment stays random; each learner's records arrive in file order.
        parts.iter_mut().for_each(|part| part.sort_unstable());
    }
    // Every record goes to exactly one learner, so it is moved, not cloned: image sets are large.
    let mut learners = Vec::with_capacity(parts.len());
    for (learner, part) in parts.into_iter().enumerate() {
        let own: Vec<BoundedRecord> =
            part.iter().filter_map(|&index| records[train[index]].take()).collect();
        if own.is_empty() {
            return Err(StreamError::NothingWithinBounds { learner });
        }
        let needed = agreement.records.warmup;
        if !experiment.data.repeat && needed >= own.len() as u64 {
            return Err(StreamError::WarmupTooLong { learner, found: own.len(), needed });
        }
        learners.push(Stream::new(own, experiment.data.repeat));
    }
    let test = test.into_iter().filter_map(|index| records[index].take()).collect();
    public.labels |= how.depends_on_labels();
    Ok(Streams {
        name: dataset.name,
        classes: dataset.classes,
        learners,
        test,
        scaled,
        refused,
        public,
        order,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::load_preset_with;
    use undertone_models::{Features, Record};

    /// Twenty records, numbered, the last five of which are for testing.
    fn source(in_time_order: bool) -> OrderedSource {
        let record = |number: u8| Record {
            features: Features::Dense([f64::from(number) / 20.0].into()),
            label: f64::from(number % 2),
        };
        let dataset = Dataset {
            name: "numbered".into(),
            dimension: 1,
            image_shape: None,
            classes: Some(vec!["even".into(), "odd".into()]),
            records: (0..20).map(record).collect(),
            feature_names: vec!["number".into()],
            one_hot: Vec::new(),
        };
        OrderedSource { dataset, test_rows: 5, in_time_order, public: PublicParts::default() }
    }

    fn numbers(records: &[BoundedRecord]) -> Vec<f64> {
        records.iter().map(|record| (20.0 * record.features().norm()).round()).collect()
    }

    fn distributed(in_time_order: bool, test_fraction: Option<f64>) -> Streams {
        let loaded = load_preset_with("mushrooms", |raw| {
            raw.data.partition = Some("iid".into());
            raw.data.test_fraction = test_fraction;
            raw.agreement.records.warmup = Some(0);
            raw.agreement.records.normalise = None;
            raw.agreement.model.features = Some(1.into());
        });
        distribute(&loaded.unwrap().checked, source(in_time_order), 3).unwrap()
    }

    #[test]
    fn records_set_apart_by_the_makers_of_a_set_are_the_test_records() {
        let streams = distributed(false, None);
        assert_eq!(numbers(&streams.test), [15.0, 16.0, 17.0, 18.0, 19.0]);
        assert_eq!(streams.learners.iter().map(Stream::len).sum::<usize>(), 15);
        // With a fraction all records are split anew.
        let streams = distributed(false, Some(0.1));
        assert_eq!(streams.test.len(), 2);
        assert_eq!(streams.learners.iter().map(Stream::len).sum::<usize>(), 18);
    }

    #[test]
    fn a_set_in_order_of_time_keeps_it_without_being_told() {
        let mut streams = distributed(true, Some(0.1));
        assert_eq!(numbers(&streams.test), [18.0, 19.0]);
        for stream in &mut streams.learners {
            assert!(numbers(&stream.next(20)).is_sorted());
        }
        let mut shuffled = distributed(false, Some(0.1));
        let sorted = |stream: &mut Stream| numbers(&stream.next(20)).is_sorted();
        assert!(!shuffled.learners.iter_mut().all(sorted));
    }
}
