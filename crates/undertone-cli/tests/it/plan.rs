//! `undertone plan` as a person meets it.

use crate::Shell;
use std::fs;
use undertone::privacy::epsilon_from_zcdp;

/// What makes the noise of the starter config Laplace noise.
const LAPLACE: (&str, &str) = ("kind = \"gaussian\"", "kind = \"laplace\"");

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_printed_plan_runs_and_its_budget_is_the_target() {
    let shell = Shell::new();
    let (out, _) = shell.expect(0, &["plan", "--epsilon", "2", "--delta", "1e-5", "--lifetime"]);
    fs::write(shell.path().join("mine.toml"), &out).unwrap();
    let report = json(&shell.expect(0, &["budget", "mine.toml", "--json"]).0);
    for learner in report["learners"].as_array().unwrap() {
        let epsilon = learner["lifetime"]["epsilon"].as_f64().unwrap();
        assert!((2.0 * (1.0 - 1e-6)..=2.0).contains(&epsilon), "{epsilon}");
        assert_eq!(learner["delta"], 1e-5);
    }
    for part in ["# ", "certified", "Predicted", "scale = ", "epsilon = 2.0"] {
        assert!(out.contains(part), "{part} not in\n{out}");
    }
    shell.expect(0, &["simulate", "mine.toml", "--rounds", "5", "--quiet", "--out", "run"]);
    assert_eq!(shell.expect(0, &["plan", "mine.toml"]).0, out, "a plan of a plan is the plan");
}

#[test]
fn own_targets_pure_targets_and_a_fixed_horizon_are_met() {
    let shell = Shell::new();
    let targets = [10.0, 20.0, 30.0, 40.0, 50.0];
    let path = shell.config("laplace", &[LAPLACE]);
    let arguments = [
        "plan",
        &path,
        "--pure-epsilon",
        "10,20,30,40,50",
        "--finite",
        "--rounds",
        "60",
        "--out",
        "own.toml",
    ];
    let (out, _) = shell.expect(0, &arguments);
    assert!(out.contains("pure epsilon 10") && out.contains("Wrote own.toml"), "{out}");
    let report = json(&shell.expect(0, &["budget", "own.toml", "--json"]).0);
    assert_eq!(report["rounds"], 60);
    for (learner, target) in report["learners"].as_array().unwrap().iter().zip(targets) {
        let epsilon = learner["pure_epsilon"].as_f64().unwrap();
        assert!(epsilon <= target && epsilon >= target * (1.0 - 1e-6), "{epsilon}");
    }
    let (_, err) = shell.expect(2, &arguments);
    assert!(err.contains("cannot create own.toml"), "a file is never overwritten: {err}");
}

#[test]
fn tuning_is_repeatable_and_no_worse_and_json_says_so() {
    let shell = Shell::new();
    let path =
        shell.config("bad", &[("step = 8.0", "step = 0.1"), ("coupling = 2.5", "coupling = 0.1")]);
    let arguments = ["plan", &path, "--tune", "--rounds", "200", "--records", "700", "--json"];
    let (first, _) = shell.expect(0, &arguments);
    assert_eq!(first, shell.expect(0, &arguments).0);
    let report = json(&first);
    let number = |key: &str| report[key].as_f64().unwrap();
    assert!(number("predicted_error") < number("predicted_error_before"));
    assert!(number("schedules_compared") > 100.0);
    assert_eq!(report["schema_version"], 1);
    assert_eq!(report["targets"][4]["epsilon"], 8.0);
    assert_eq!(report["curve"].as_array().unwrap().last().unwrap()["round"], 199);
    fs::write(shell.path().join("tuned.toml"), report["config"].as_str().unwrap()).unwrap();
    let budget = json(&shell.expect(0, &["budget", "tuned.toml", "--json"]).0);
    assert_eq!(budget["unproven"], false);
    assert!(budget["learners"][0]["epsilon"].as_f64().unwrap() <= 8.0);
}

#[test]
fn plans_that_cannot_be_made_get_the_reason_and_code_2() {
    let shell = Shell::new();
    let finite = shell.config("finite", &[("delta = 1e-6", "delta = 1e-6\nbound = \"theorem5i\"")]);
    let none = shell.config("none", &[("epsilon = 8.0", "# no target")]);
    let cases: [(&[&str], &str); 9] = [
        (&["plan", &finite, "--lifetime"], "Theorem 5(i) bounds finite horizons only"),
        (&["plan", &finite, "--lifetime", "--tune"], "Theorem 5(i) bounds finite horizons only"),
        (&["plan", "--pure-epsilon", "3"], "Gaussian noise has no pure epsilon"),
        (&["plan", &none], "calibrated noise needs a target"),
        (&["plan", "--epsilon", "1,2"], "privacy.epsilon"),
        (&["plan", "--epsilon", "nan"], "privacy.epsilon"),
        (&["plan", "--epsilon", "1", "--pure-epsilon", "1"], "cannot be used with"),
        (&["plan", "--lifetime", "--finite"], "cannot be used with"),
        (&["plan", "--tune", "--records", "10"], "10 records a learner are too few"),
    ];
    for (arguments, part) in cases {
        let (_, err) = shell.expect(2, arguments);
        assert!(err.contains(part), "{arguments:?}: {err}");
    }
    shell.expect(0, &["plan", &finite, "--finite", "--rounds", "50"]);
}

/// Tuning once chose a gradient in every 24 rounds for a run of 20, which learns nothing at an ε of 0.
#[test]
fn a_tuned_plan_of_a_few_rounds_releases_a_gradient_and_spends_something() {
    let shell = Shell::new();
    for rounds in [2_u64, 20] {
        let count = rounds.to_string();
        let preset = ["--preset", "shielded-mushrooms", "--rounds", &count, "--epsilon", "4"];
        for horizon in ["--finite", "--lifetime"] {
            let arguments = [&["plan", "--tune", "--json", horizon], &preset[..]].concat();
            let report = json(&shell.expect(0, &arguments).0);
            for learner in report["budget"]["learners"].as_array().unwrap() {
                assert!(learner["epsilon"].as_f64().unwrap() > 0.0, "{learner}");
            }
            let config = report["config"].as_str().unwrap();
            let key = config.lines().find_map(|line| line.strip_prefix("interval = ")).unwrap();
            assert!(key.parse::<u64>().unwrap() < rounds, "{config}");
        }
    }
    // Without tuning the interval is the config's, and one that is too long is refused.
    let arguments = ["plan", "--preset", "shielded-mushrooms", "--finite", "--rounds", "5"];
    let (_, err) = shell.expect(2, &arguments);
    assert!(
        err.contains("no gradient is released in 5 rounds") && err.contains("at most 4"),
        "{err}"
    );
}

/// A bound for ever of 44 once stood beside a plan for 4.
#[test]
fn a_finite_plan_is_shown_first_and_what_it_would_cost_for_ever_is_labelled() {
    let shell = Shell::new();
    let preset = ["plan", "--preset", "shielded-mushrooms", "--finite", "--rounds", "60"];
    let rest = ["--epsilon", "4", "--out", "fin.toml"];
    let (out, _) = shell.expect(0, &[&preset[..], &rest].concat());
    assert!(out.contains("certified in the releases of rounds 1 to 60"), "{out}");
    assert!(!out.contains("for ever"), "{out}");
    let label = "if it ran on for ever with the same noise";
    for (path, planned) in [("fin.toml", false), ("rounds.toml", true)] {
        if planned {
            // As it is written by hand: the noise is chosen when it runs.
            let text = fs::read_to_string(shell.path().join("fin.toml")).unwrap();
            let lines = text.lines().map(|line| match line.starts_with("scale = ") {
                true => "calibrate = \"rounds\"\n".to_string(),
                false => format!("{line}\n"),
            });
            fs::write(shell.path().join(path), lines.collect::<String>()).unwrap();
        }
        let (out, _) = shell.expect(0, &["budget", path]);
        assert!(
            out.contains("if it ran on: epsilon") && !out.contains("for ever: epsilon"),
            "{out}"
        );
        assert!(out.contains("The cap holds however long a learner runs"), "{out}");
        assert_eq!(out.contains("chosen for rounds 1 to 60"), planned, "{out}");
        let folder = format!("run-{planned}");
        let (out, _) = shell.expect(0, &["simulate", path, "--out", &folder]);
        assert!(out.contains("never more than the cap 4") && !out.contains("for ever"), "{out}");
        assert_eq!(out.contains("4.0000 planned for 60 rounds"), planned, "{out}");
        let text = fs::read_to_string(shell.path().join(&folder).join("summary.json")).unwrap();
        let summary = json(&text);
        assert_eq!(summary["planned_rounds"].as_u64(), planned.then_some(60));
        let statement: Vec<&str> = summary["privacy_statement"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|one| one.as_str())
            .collect();
        let place = |start: &str| statement.iter().position(|one| one.starts_with(start));
        assert_eq!(place("Planned: ε = 4.0000").is_some(), planned, "{statement:?}");
        assert!(
            place("Planned").is_none_or(|first| Some(first) < place("For ever")),
            "{statement:?}"
        );
        let for_ever = statement[place("For ever").unwrap()];
        assert!(for_ever.contains("the cap of ε = 4:") && for_ever.contains(label), "{for_ever}");
        let page = fs::read_to_string(shell.path().join(&folder).join("report.html")).unwrap();
        assert_eq!(page.contains("ε planned"), planned);
        assert!(page.contains("ε if it ran on for ever without the cap"), "the column's title");
    }
    // The control: noise chosen for ever has one number, and no label.
    let (out, _) = shell.expect(0, &["budget", "--preset", "shielded-mushrooms"]);
    assert!(out.contains("for ever: epsilon") && !out.contains("ran on"), "{out}");
    let (out, _) = shell
        .expect(0, &["simulate", "--preset", "shielded-mushrooms", "--rounds", "9", "--out", "c"]);
    assert!(out.contains("8.0000 for ever") && !out.contains("the cap"), "{out}");
    let text = fs::read_to_string(shell.path().join("c/summary.json")).unwrap();
    assert!(!text.contains(label) && text.contains("For ever: ε = 8.0000"), "{text}");
}

#[test]
fn a_plan_with_laplace_noise_shows_no_more_than_its_target_and_its_cap_refuses_no_round_of_it() {
    let shell = Shell::new();
    let path = shell.config("laplace", &[LAPLACE]);
    shell.expect(0, &["plan", &path, "--finite", "--rounds", "30", "--out", "plan.toml"]);
    let report = json(&shell.expect(0, &["budget", "plan.toml", "--json"]).0);
    let learner = &report["learners"][0];
    let shown = learner["epsilon"].as_f64().unwrap();
    // The exact price of the plan is below what its zCDP says, which is the target and what the cap enforces.
    assert!(shown < 8.0 * (1.0 - 1e-5) && shown > 7.0, "{shown}");
    let converted = epsilon_from_zcdp(learner["zcdp"].as_f64().unwrap(), 1e-6);
    assert!(converted <= 8.0 && converted > shown, "{converted} {shown}");
    let arguments = ["simulate", "plan.toml", "--quiet", "--json", "--out", "run"];
    let run = json(&shell.expect(0, &arguments).0);
    let spent = run["learners"][0]["epsilon"].as_f64().unwrap();
    assert!(run["ending"] == "finished" && spent <= 8.0, "{spent}");
}
