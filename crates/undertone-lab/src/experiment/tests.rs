//! Which experiments are refused, and with which faults.

use super::*;
use crate::presets::{load_preset_with, preset_text};
use undertone::agreement::NoiseScale;

/// The default preset after some edits of its text.
fn load_edited(edits: &[(&str, &str)]) -> Result<LoadedExperiment, LoadError> {
    let mut text = preset_text("mushrooms").unwrap().to_string();
    for (from, to) in edits {
        assert!(text.contains(from), "the preset has {from}");
        text = text.replacen(from, to, 1);
    }
    load(&Source::Text { origin: "edited".into(), text }, |_| (), Strictness::Run)
}

/// Where the faults of a changed preset are.
fn fault_paths(loaded: Result<LoadedExperiment, LoadError>) -> Vec<String> {
    match loaded {
        Ok(_) => Vec::new(),
        Err(LoadError::Faults { faults, .. }) => {
            faults.0.into_iter().map(|fault| fault.path).collect()
        }
        Err(other) => panic!("{other}"),
    }
}

fn changed(change: impl FnOnce(&mut RawExperiment)) -> Vec<String> {
    let source = crate::presets::preset_source("mushrooms").unwrap();
    fault_paths(load::<RawExperiment>(&source, change, Strictness::Run))
}

#[test]
fn keys_that_the_embedded_data_ignore_are_refused() {
    assert!(changed(|_| ()).is_empty());
    let found = changed(|raw| {
        raw.data.format = Some("csv".into());
        raw.agreement.records.intercept = Some(true);
    });
    assert_eq!(found, ["data.format", "records.intercept"]);
    let found = changed(|raw| {
        raw.agreement.records.label = Some("class".into());
        raw.agreement.records.classes = Some(vec!["e".into(), "p".into()]);
        raw.agreement.records.categorical = Some(vec!["odour".into()]);
        raw.agreement.records.drop = Some(vec!["odour".into()]);
    });
    let keys = ["records.label", "records.classes", "records.categorical", "records.drop"];
    assert_eq!(found, keys);
    // An intercept that is switched off changes nothing, and a file may have one.
    assert!(changed(|raw| raw.agreement.records.intercept = Some(false)).is_empty());
    let of_a_file = changed(|raw| {
        raw.data.source = Some("table.csv".into());
        raw.data.format = Some("csv".into());
        raw.agreement.records.intercept = Some(true);
    });
    assert!(of_a_file.is_empty(), "{of_a_file:?}");
}

#[test]
fn a_cap_cannot_be_kept_for_records_drawn_again() {
    let repeat = |raw: &mut RawExperiment, epsilon: Option<f64>| {
        raw.data.repeat = Some(true);
        raw.agreement.noise.calibrate = None;
        raw.agreement.noise.scale = Some(OneOrEach::One(1.0));
        raw.agreement.privacy.epsilon = epsilon.map(OneOrEach::One);
    };
    assert!(changed(|raw| repeat(raw, None)).is_empty());
    assert_eq!(changed(|raw| repeat(raw, Some(3.0))), ["data.repeat"]);
    // Nor is there a certificate, though the mechanism has one.
    let loaded = load_preset_with("mushrooms", |raw| repeat(raw, None)).unwrap();
    let setup = loaded.checked.setup().unwrap();
    assert!(setup.lifetimes.iter().all(|one| *one == Err(NoCertificate::RecordsRepeat)));
    assert!(Setup::new(loaded.checked.agreement).unwrap().lifetimes.iter().all(Result::is_ok));
}

#[test]
fn a_key_that_neither_the_agreement_nor_the_experiment_knows_is_reported_once() {
    let found = fault_paths(load_edited(&[
        ("rounds = 800", "rounds = 800\nfoo = 1"),
        ("source = \"mushrooms\"", "source = \"mushrooms\"\nsourc = \"mushrooms\""),
        ("weight = 0.25", "weight = 0.25\nwieght = 0.25"),
        ("[noise]", "[nosie]\nkind = \"laplace\"\n[noise]"),
    ]));
    assert_eq!(found, ["data.sourc", "foo", "network.wieght", "nosie"]);
}

#[test]
fn known_keys_of_either_are_not_reported() {
    // `rounds` and `[data]` are not the agreement's, and all others not the experiment's own.
    let loaded = load_edited(&[]).unwrap();
    assert_eq!((loaded.checked.rounds, loaded.checked.data.repeat), (800, false));
    for name in crate::presets::preset_names() {
        let loaded = load_preset_with(name, |_| ());
        assert!(loaded.is_ok(), "{name}: {}", loaded.unwrap_err());
    }
}

#[test]
fn rounds_are_needed_and_within_their_limits() {
    for rounds in [None, Some(0), Some(Round::LIMIT.0), Some(u64::MAX)] {
        assert_eq!(changed(|raw| raw.rounds = rounds), ["rounds"]);
    }
    assert!(changed(|raw| raw.rounds = Some(1)).is_empty());
}

#[test]
fn noise_calibrated_for_rounds_takes_those_of_the_experiment() {
    let scale = |rounds: Option<u64>| {
        let loaded = load_preset_with("mushrooms", |raw| {
            raw.rounds = Some(70);
            raw.agreement.noise.calibrate = Some("rounds".into());
            raw.agreement.noise.rounds = rounds;
        });
        loaded.unwrap().checked.agreement.noise_scale
    };
    assert_eq!(scale(None), NoiseScale::Rounds(70));
    assert_eq!(scale(Some(500)), NoiseScale::Rounds(500));
}

#[test]
fn faults_of_experiment_and_agreement_are_reported_together() {
    let found = changed(|raw| {
        raw.rounds = None;
        raw.data.partition = Some("by-colour".into());
        raw.data.alpha = Some(0.3);
        raw.agreement.privacy.delta = Some(1.0);
    });
    assert_eq!(found, ["rounds", "data.alpha", "data.partition", "privacy.delta"]);
}
