//! Whole simulations: they learn, repeat, stop, refuse and leave the right files behind.

use crate::{preset, run};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use undertone::agreement::OneOrEach;
use undertone_lab::experiment::{LoadedExperiment, Overrides, RawExperiment, load_file, resolved};
use undertone_lab::ledger_file::verify_run;
use undertone_lab::presets::load_preset;
use undertone_lab::stream::PublicParts;
use undertone_lab::{
    Ending, Measuring, Outcome, RoundRow, RunEntropy, RunFacts, Summary, run_folder, simulate,
    stream,
};
use undertone_models::read_accounts;

#[test]
fn the_default_run_learns_privately() {
    let loaded = preset("mushrooms", |_| ());
    let (setup, outcome) = run(&loaded.checked, 1, 4);
    assert_eq!(outcome.ending, Ending::Finished);
    let (first, last) = (&outcome.rows[0].metrics, &outcome.rows.last().unwrap().metrics);
    assert!(last.tracking_error < 0.6 * first.tracking_error);
    assert!(last.test_accuracy_public.unwrap() > 0.93);
    assert!(last.test_accuracy_private.unwrap() > 0.93);
    assert!(last.test_accuracy_optimum.unwrap() > 0.97);
    assert!(last.instantaneous_regret > 0.0 && last.consensus_error > 0.0);
    let lifetime = setup.lifetimes[0].unwrap().total.zcdp;
    assert!(
        outcome
            .learners
            .iter()
            .all(|learner| learner.spent.zcdp <= lifetime && learner.epsilon <= 8.0)
    );
    assert!(outcome.learners.iter().all(|learner| learner.draws_max == 1), "one pass");
    assert!(outcome.learners.iter().all(|learner| !learner.ran_dry));
}

#[test]
fn without_neighbours_worth_hearing_nobody_can_tell_the_classes_apart() {
    // Control: if the coupling carried nothing, each learner would know one class only.
    let loaded = preset("mushrooms", |raw| {
        raw.agreement.schedule.coupling = Some(1e-6);
        raw.agreement.noise.calibrate = None;
        raw.agreement.noise.scale = Some(OneOrEach::One(1e-3));
        raw.agreement.privacy.epsilon = None;
        raw.rounds = Some(200);
    });
    let (_, outcome) = run(&loaded.checked, 1, 1);
    assert!(outcome.rows.last().unwrap().metrics.test_accuracy_private.unwrap() < 0.65);
}

#[test]
fn a_seed_repeats_a_run_bit_for_bit_whatever_the_threads() {
    let loaded = preset("mushrooms", |raw| raw.rounds = Some(40));
    let bits = |outcome: &Outcome| -> Vec<u64> {
        outcome.public.values().iter().map(|value| value.to_bits()).collect()
    };
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let one = pool(1).install(|| run(&loaded.checked, 5, 1).1);
    let two = pool(2).install(|| run(&loaded.checked, 5, 1).1);
    let other = run(&loaded.checked, 6, 1).1;
    assert_eq!(bits(&one), bits(&two));
    assert_ne!(bits(&one), bits(&other));
}

#[test]
fn a_run_without_a_seed_is_never_the_same_twice() {
    let loaded = preset("mushrooms", |raw| raw.rounds = Some(3));
    let once = || {
        let setup = loaded.checked.setup().unwrap();
        let streams = stream::load(&loaded.checked, Path::new("."), 0).unwrap();
        let go = |_: Option<&_>| ControlFlow::Continue(());
        let entropy = RunEntropy::new(None);
        simulate(&setup, 3, streams, entropy, Measuring::Evenly(1), go).unwrap().public
    };
    assert_ne!(once(), once());
}

#[test]
fn a_cap_below_the_cost_ends_the_run_and_is_never_passed() {
    let loaded = preset("mushrooms", |raw| {
        raw.agreement.noise.calibrate = None;
        raw.agreement.noise.scale = Some(OneOrEach::One(0.43));
        raw.agreement.privacy.epsilon = Some(OneOrEach::One(3.0));
    });
    let (_, outcome) = run(&loaded.checked, 1, 4);
    assert!(matches!(outcome.ending, Ending::BudgetExhausted { .. }));
    assert!(outcome.rounds_run > 2 && outcome.rounds_run < 800);
    assert!(outcome.learners.iter().all(|learner| learner.epsilon <= 3.0));
}

#[test]
fn a_round_that_only_some_could_pay_for_is_on_record() {
    let loaded = preset("mushrooms", |raw| {
        raw.agreement.noise.calibrate = None;
        raw.agreement.noise.scale = Some(OneOrEach::One(0.43));
        raw.agreement.privacy.epsilon = Some(OneOrEach::Each(vec![9.0, 9.0, 3.0, 9.0, 9.0]));
    });
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("run");
    let summary = write(&loaded, Some(1), &target);
    let found = verify_run(&target).unwrap();
    assert!(found.agrees, "{found:?}");
    let count: Vec<usize> = found.learners.iter().map(|learner| learner.receipts).collect();
    assert_eq!(count, [count[0], count[0], count[0] - 1, count[0], count[0]]);
    for (verified, learner) in found.learners.iter().zip(&summary.learners) {
        let epsilon = verified.epsilon.unwrap();
        assert!((epsilon / learner.epsilon - 1.0).abs() < 1e-9, "{epsilon} {learner:?}");
    }
    // Control: a learner that could have paid has lost the receipt.
    let path = target.join("ledger.ndjson");
    let text = std::fs::read_to_string(&path).unwrap();
    let shorter: Vec<&str> = text.lines().take(text.lines().count() - 1).collect();
    std::fs::write(&path, shorter.join("\n")).unwrap();
    let found = verify_run(&target).unwrap();
    assert!(found.learners[4].disagreement.is_some() && !found.agrees, "{found:?}");
}

#[test]
fn an_interrupted_run_keeps_what_it_has() {
    let loaded = preset("mushrooms", |_| ());
    let setup = loaded.checked.setup().unwrap();
    let streams = stream::load(&loaded.checked, Path::new("."), 1).unwrap();
    let (rounds, entropy) = (loaded.checked.rounds, RunEntropy::new(Some(1)));
    let stop = |row: Option<&RoundRow>| {
        if row.is_some_and(|row| row.round == 9) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let outcome =
        simulate(&setup, rounds, streams, entropy, Measuring::Evenly(2000), stop).unwrap();
    assert_eq!(
        (outcome.ending, outcome.rounds_run, outcome.rows.len()),
        (Ending::Interrupted, 10, 10)
    );
}

#[test]
fn records_drawn_again_are_counted_and_said() {
    let loaded = preset("paper-mushrooms", |raw| raw.rounds = Some(1500));
    let (setup, outcome) = run(&loaded.checked, 1, 2);
    assert_eq!(outcome.learners[0].draws_max, 2);
    let summary = Summary::new(&setup, &outcome, &facts(&loaded, Some(1)));
    let statement = summary.privacy_statement.join("\n");
    assert!(statement.contains("drawn 2 times") && statement.contains("UNPROVEN"));
    assert!(statement.contains("For ever: no certificate"), "{statement}");
    let learner = &summary.learners[0];
    // Pure ε, which doubles, may be the smaller one; zCDP is four times as large.
    assert!(learner.epsilon > 1.999 * learner.epsilon_used_once, "r times the pure ε at least");
    assert!(statement.contains("NOT PRIVATE"));
}

#[test]
fn a_large_network_is_measured_against_all_records() {
    // Split by class, the first learners hold one class only: θ* must know both.
    let loaded = preset("mushrooms", |raw| {
        raw.agreement.network.learners = Some(60);
        raw.agreement.network.weight = Some(0.2);
        raw.agreement.records.warmup = Some(20);
        raw.rounds = Some(10);
    });
    let (_, outcome) = run(&loaded.checked, 1, 2);
    assert!(outcome.rows.last().unwrap().metrics.test_accuracy_optimum.unwrap() > 0.9);
}

#[test]
fn a_stream_that_runs_dry_goes_on_without_new_records_and_pays_for_it() {
    let loaded = preset("mushrooms", |raw| {
        raw.data.test_fraction = Some(0.9);
        raw.agreement.records.warmup = Some(50);
        raw.rounds = Some(300);
        raw.agreement.privacy.epsilon = None;
        raw.agreement.noise.calibrate = None;
        raw.agreement.noise.scale = Some(OneOrEach::One(1.0));
    });
    let (setup, outcome) = run(&loaded.checked, 1, 1);
    assert!(outcome.learners[0].ran_dry);
    let planned = undertone::privacy::planned_cost(&setup.mechanisms[0], 299).zcdp;
    assert!(outcome.learners[0].spent.zcdp > planned, "h_t stopped growing");
}

fn facts(loaded: &LoadedExperiment, seed: Option<u64>) -> RunFacts {
    RunFacts {
        rounds_planned: loaded.checked.rounds,
        records_repeat: loaded.checked.data.repeat,
        seed,
        source: "mushrooms".into(),
        test_records: 1,
        records_scaled: 0,
        records_refused: 0,
        public: PublicParts::default(),
        seconds: 1.0,
    }
}

fn write(loaded: &LoadedExperiment, seed: Option<u64>, folder: &Path) -> Summary {
    let setup = loaded.checked.setup().unwrap();
    let streams = stream::load(&loaded.checked, Path::new("."), 1).unwrap();
    let go = |_: Option<&_>| ControlFlow::Continue(());
    let (rounds, entropy) = (loaded.checked.rounds, RunEntropy::new(seed));
    let outcome = simulate(&setup, rounds, streams, entropy, Measuring::Evenly(10), go).unwrap();
    let summary = Summary::new(&setup, &outcome, &facts(loaded, seed));
    run_folder::write(folder, &resolved(loaded, &setup.scales()), &outcome, &summary, None)
        .unwrap();
    summary
}

#[test]
fn the_run_folder_holds_all_files_and_marks_seeded_runs() {
    let scratch = tempfile::tempdir().unwrap();
    let loaded = preset("mushrooms", |raw| raw.rounds = Some(20));
    let seeded = scratch.path().join("seeded");
    let private = scratch.path().join("deep/private");
    write(&loaded, Some(3), &seeded);
    write(&loaded, None, &private);
    for name in ["config.toml", "rounds.csv", "summary.json", "model.safetensors", "report.html"] {
        let text = |folder: &Path| {
            String::from_utf8_lossy(&fs::read(folder.join(name)).unwrap()).into_owned()
        };
        assert!(text(&seeded).contains("NOT PRIVATE"), "{name} of a seeded run");
        assert!(!text(&private).contains("NOT PRIVATE"), "{name} of a private run");
    }
    let again = run_folder::check(&seeded).unwrap_err().to_string();
    assert!(again.contains("exists already"), "{again}");
    let leftovers: Vec<_> =
        fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(leftovers.len(), 2, "{leftovers:?}");
}

#[test]
fn the_resolved_config_runs_again_with_the_same_result() {
    let scratch = tempfile::tempdir().unwrap();
    let loaded = preset("mushrooms", |raw| raw.rounds = Some(20));
    let first = write(&loaded, Some(3), &scratch.path().join("first"));
    let reloaded =
        load_file(&scratch.path().join("first/config.toml"), &Overrides::default()).unwrap();
    let second = write(&reloaded, Some(3), &scratch.path().join("second"));
    assert_eq!(first.last, second.last);
    assert_eq!(first.learners[0].zcdp.to_bits(), second.learners[0].zcdp.to_bits());
}

#[test]
fn only_the_public_model_is_written_as_a_model() {
    let scratch = tempfile::tempdir().unwrap();
    let loaded = preset("mushrooms", |raw| raw.rounds = Some(20));
    let setup = loaded.checked.setup().unwrap();
    let streams = stream::load(&loaded.checked, Path::new("."), 1).unwrap();
    let go = |_: Option<&_>| ControlFlow::Continue(());
    let (rounds, entropy) = (loaded.checked.rounds, RunEntropy::new(Some(1)));
    let outcome = simulate(&setup, rounds, streams, entropy, Measuring::Evenly(10), go).unwrap();
    let summary = Summary::new(&setup, &outcome, &facts(&loaded, Some(1)));
    let folder = scratch.path().join("run");
    run_folder::write(&folder, &resolved(&loaded, &setup.scales()), &outcome, &summary, None)
        .unwrap();
    let bytes = fs::read(folder.join("model.safetensors")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(file.names(), ["theta"]);
    let values: Vec<f64> = file
        .tensor("theta")
        .unwrap()
        .data()
        .chunks_exact(8)
        .map(|chunk| f64::from_le_bytes(chunk.try_into().unwrap()))
        .collect();
    assert_eq!(values, outcome.public.values());
}

/// The largest ε stood there without its δ, and in Python without repeated draws: 4.27 for 77.19.
#[test]
fn a_model_states_what_every_learner_in_it_has_paid_with_all_draws_of_a_record() {
    let scratch = tempfile::tempdir().unwrap();
    let loaded = preset("mushrooms", |raw| {
        raw.rounds = Some(60);
        raw.data.repeat = Some(true);
        raw.agreement.records.batch = Some(60);
        raw.agreement.noise.calibrate = None;
        raw.agreement.noise.scale = Some(OneOrEach::Each(vec![1.0, 0.1, 1.0, 1.0, 1.0]));
        raw.agreement.privacy.epsilon = None;
    });
    let folder = scratch.path().join("run");
    let summary = write(&loaded, None, &folder);
    let (accounts, delta) =
        read_accounts(&fs::read(folder.join("model.safetensors")).unwrap()).unwrap();
    assert_eq!(delta.to_bits(), loaded.checked.agreement.delta.to_bits());
    assert_eq!(accounts.iter().count(), 5);
    for (account, learner) in accounts.iter().zip(&summary.learners) {
        assert_eq!(account.learner.0, learner.learner);
        assert!(account.uses > 1 && account.uses == learner.draws_max);
        let paid = learner.epsilon_of_most_drawn;
        assert_eq!(account.epsilon(delta).to_bits(), paid.to_bits());
        let once = account.one_use.epsilon(account.noise, delta);
        assert!(paid > 1.5 * once, "the control: one use costs less");
    }
    assert_eq!(accounts.worst(delta).unwrap().learner.0, 1);
    assert!(accounts.epsilon(delta) > 3.0 * summary.learners[0].epsilon_of_most_drawn);
}

/// A regression file: the label follows the first feature.
fn regression_csv(folder: &Path) -> std::path::PathBuf {
    let mut text = String::from("x,y,kind,target\n");
    for i in 0..400 {
        let x = f64::from(i % 21) / 20.0 - 0.5;
        let y = f64::from(i % 13) / 12.0 - 0.5;
        let kind = if i % 3 == 0 { "a" } else { "b" };
        text.push_str(&format!("{x},{y},{kind},{}\n", 0.8 * x - 0.3 * y));
    }
    let path = folder.join("table.csv");
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn every_loss_and_memory_runs_from_a_config() {
    let scratch = tempfile::tempdir().unwrap();
    let path = regression_csv(scratch.path());
    let settings = [
        ("ridge", None, None, "exact"),
        ("ridge", None, None, "moments"),
        ("lasso", None, None, "moments"),
        ("polynomial", Some(2), None, "moments"),
        ("power", Some(4), None, "exact"),
        ("huber", None, Some(0.2), "exact"),
    ];
    for (loss, degree, threshold, memory) in settings {
        let loaded = preset("mushrooms", |raw| {
            raw.rounds = Some(30);
            raw.agreement.unproven = Some(true); // the lasso is outside the theorems
            raw.data.source = Some(path.display().to_string());
            raw.agreement.records.label = Some("target".into());
            raw.data.partition = Some("iid".into());
            raw.agreement.records.warmup = Some(5);
            raw.agreement.records.normalise = None;
            raw.agreement.bounds.feature_norm = Some(1.3);
            raw.agreement.bounds.label = Some(1.0);
            raw.agreement.model.loss = Some(loss.into());
            raw.agreement.model.features = Some(4.into());
            raw.agreement.model.degree = degree;
            raw.agreement.model.threshold = threshold;
            raw.agreement.model.lasso = (loss == "lasso").then_some(0.01);
            raw.agreement.parameters.radius = Some(1.5);
            raw.agreement.memory.kind = Some(memory.into());
            raw.agreement.schedule.step = Some(0.05);
        });
        let (_, outcome) = run(&loaded.checked, 1, 5);
        let last = &outcome.rows.last().unwrap().metrics;
        assert_eq!(outcome.ending, Ending::Finished, "{loss} {memory}");
        assert!(last.test_loss_public.unwrap().is_finite() && last.test_accuracy_public.is_none());
        assert!(
            last.tracking_error.is_finite() && last.instantaneous_regret > -1e-9,
            "{loss} {memory}"
        );
    }
}

#[test]
fn logistic_runs_with_each_of_its_memories_and_softmax_with_exact() {
    let gradient_paths =
        [("exact", None, None), ("anchored", None, Some(0.01)), ("polynomial", Some(2), None)];
    for (kind, degree, tolerance) in gradient_paths {
        let loaded = preset("mushrooms", |raw| {
            raw.rounds = Some(25);
            raw.agreement.unproven = Some(true); // constant gradient errors are outside the theorems
            raw.agreement.memory.kind = Some(kind.into());
            raw.agreement.memory.degree = degree;
            raw.agreement.memory.tolerance = tolerance;
            raw.agreement.noise.calibrate = Some("rounds".into());
        });
        let (setup, outcome) = run(&loaded.checked, 1, 5);
        assert_eq!(outcome.ending, Ending::Finished, "{kind}");
        assert_eq!(
            setup.lifetimes[0].is_ok(),
            kind == "exact",
            "a constant error has no certificate"
        );
    }
    let loaded = preset("mushrooms", |raw| {
        raw.rounds = Some(25);
        raw.agreement.model.loss = Some("softmax".into());
        raw.agreement.model.classes = Some(2);
    });
    assert_eq!(run(&loaded.checked, 1, 2).1.ending, Ending::Finished);
}

#[test]
fn data_that_do_not_fit_the_config_are_refused_with_the_reason() {
    let refuse = |change: &dyn Fn(&mut RawExperiment)| {
        let loaded = preset("mushrooms", |raw| change(raw));
        stream::load(&loaded.checked, Path::new("."), 0).unwrap_err().to_string()
    };
    let text = refuse(&|raw| raw.agreement.model.features = Some(111.into()));
    assert_eq!(text, "model.features = 111: the data have 112 features");
    let text = refuse(&|raw| {
        raw.agreement.model.loss = Some("softmax".into());
        raw.agreement.model.classes = Some(3);
    });
    assert_eq!(text, "the loss needs 3 classes, but the data have 2");
    let text = refuse(&|raw| raw.data.source = Some("nowhere.csv".into()));
    assert!(text.contains("nowhere.csv: no such file"), "{text}");
    let text = refuse(&|raw| raw.agreement.records.warmup = Some(100_000));
    assert!(text.contains("the warm-up of 100000 leaves none"), "{text}");
    // Every row is outside: nothing is left to deal out.
    let text = refuse(&|raw| {
        raw.agreement.records.normalise = None;
        raw.agreement.records.centre = None;
        raw.agreement.bounds.out_of_bounds = Some("refuse".into());
    });
    assert!(text.contains("no record within the bounds"), "{text}");
}

#[test]
fn records_outside_the_bounds_are_left_out_and_counted_or_scaled_and_counted() {
    let scratch = tempfile::tempdir().unwrap();
    let path = regression_csv(scratch.path());
    let load = |rule: &str| {
        let loaded = preset("mushrooms", |raw| {
            raw.data.source = Some(path.display().to_string());
            raw.agreement.records.label = Some("target".into());
            raw.data.partition = Some("iid".into());
            raw.agreement.records.warmup = Some(0);
            raw.agreement.records.normalise = None;
            raw.agreement.records.centre = None;
            raw.data.test_fraction = None;
            raw.agreement.bounds.feature_norm = Some(1.1);
            raw.agreement.bounds.label = Some(0.4);
            raw.agreement.bounds.out_of_bounds = Some(rule.into());
            raw.agreement.model.loss = Some("ridge".into());
            raw.agreement.model.features = Some(4.into());
        });
        stream::load(&loaded.checked, Path::new("."), 0).unwrap()
    };
    let total =
        |streams: &stream::Streams| streams.learners.iter().map(stream::Stream::len).sum::<usize>();
    let (scaled, refused) = (load("scale"), load("refuse"));
    assert_eq!((total(&scaled), scaled.refused), (400, 0));
    assert!(scaled.scaled > 0 && scaled.scaled < 400);
    assert_eq!(refused.refused, scaled.scaled);
    assert_eq!(total(&refused) as u64, 400 - refused.refused);
}

#[test]
fn overrides_change_the_preset() {
    let overrides = Overrides { rounds: Some(7), epsilon: Some(2.0), ..Overrides::default() };
    let loaded = load_preset("mushrooms", &overrides).unwrap();
    assert_eq!(loaded.checked.rounds, 7);
    let setup = loaded.checked.setup().unwrap();
    assert!(setup.scales()[0] > 1.0, "a smaller budget needs more noise");
    assert!(
        load_preset("mushroom", &Overrides::default())
            .unwrap_err()
            .to_string()
            .contains("paper-mushrooms")
    );
}
