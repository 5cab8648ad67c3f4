//! The order in which records arrive, and where they are looked for.

use crate::preset;
use std::path::Path;
use undertone_lab::experiment::RawExperiment;
use undertone_lab::presets::load_preset_with;
use undertone_lab::stream::{self, Streams};

/// Sixty records whose only feature says when they happened.
fn timed_csv(folder: &Path) -> String {
    let mut text = String::from("time,label\n");
    for time in 0..60 {
        text.push_str(&format!("{},{}\n", f64::from(time) / 60.0, time % 2));
    }
    let path = folder.join("timed.csv");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn load(source: &str, order: Option<&str>) -> Streams {
    let loaded = preset("mushrooms", |raw| {
        raw.data.source = Some(source.into());
        raw.data.order = order.map(Into::into);
        raw.data.partition = Some("iid".into());
        raw.data.test_fraction = Some(0.25);
        raw.agreement.records.warmup = Some(0);
        raw.agreement.records.normalise = None;
        raw.agreement.records.centre = None;
        raw.agreement.bounds.feature_norm = Some(1.0);
        raw.agreement.model.features = Some(1.into());
    });
    stream::load(&loaded.checked, Path::new("."), 5).unwrap()
}

fn times(records: &[undertone_models::BoundedRecord]) -> Vec<f64> {
    records.iter().map(|record| record.features().entries().map(|(_, value)| value).sum()).collect()
}

fn increase(times: &[f64]) -> bool {
    times.is_sorted_by(|earlier, later| earlier < later)
}

#[test]
fn records_in_the_order_of_the_file_arrive_in_time_and_are_tested_on_the_last() {
    let scratch = tempfile::tempdir().unwrap();
    let source = timed_csv(scratch.path());
    let mut streams = load(&source, Some("file"));
    let test = times(&streams.test);
    assert_eq!(test.len(), 15);
    assert!(increase(&test) && test[0] > 44.5 / 60.0);
    for stream in &mut streams.learners {
        let own = times(&stream.next(100));
        assert_eq!(own.len(), 9);
        assert!(increase(&own) && own[8] < test[0]);
    }
    // Control: shuffled records are not in order, and are tested on any time.
    for order in [None, Some("shuffled")] {
        let mut shuffled = load(&source, order);
        assert!(!increase(&times(&shuffled.learners[0].next(100))));
        assert!(times(&shuffled.test)[0] < 44.5 / 60.0);
    }
}

#[test]
fn an_order_that_is_not_known_is_a_fault() {
    let loaded = load_preset_with("mushrooms", |raw| raw.data.order = Some("time".into()));
    let faults = loaded.unwrap_err().to_string();
    assert!(faults.contains("data.order = \"time\": must be one of shuffled, file"), "{faults}");
}

/// What loading from a source says, with no data set of that name in the cache.
fn refused(change: impl FnOnce(&mut RawExperiment)) -> String {
    let loaded = preset("mushrooms", change);
    stream::load(&loaded.checked, Path::new("."), 0).unwrap_err().to_string()
}

#[test]
fn a_source_that_is_neither_a_file_nor_a_known_set_is_said_to_be_neither() {
    let text = refused(|raw| raw.data.source = Some("electricty".into()));
    assert!(text.contains("no such file or folder, and no data set of that name"), "{text}");
    assert!(text.contains("electricity"), "{text}");
    // With a separator it is a path, whatever it is called.
    let text = refused(|raw| raw.data.source = Some("./electricity".into()));
    assert!(text.contains("electricity: no such file"), "{text}");
}

#[test]
fn keys_that_a_known_set_answers_itself_are_refused() {
    let text = refused(|raw| {
        raw.data.source = Some("electricity".into());
        raw.agreement.records.label = Some("target".into());
    });
    assert!(text.contains("records.label: has no meaning with the data set electricity"), "{text}");
    let text = refused(|raw| {
        raw.data.source = Some("mnist".into());
        raw.agreement.records.drop = Some(vec!["pixel1".into()]);
    });
    assert!(text.contains("records.drop"), "{text}");
}
