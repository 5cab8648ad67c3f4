//! `undertone doctor`: what it finds, how it says so, and its exit codes.

use super::Shell;
use std::fs;

/// What must change in the starter config for every condition to hold.
const SOUND: [(&str, &str); 8] = [
    ("kind = \"gaussian\"", "kind = \"laplace\""),
    ("ridge = 0.001", "ridge = 0.1"),
    ("radius = 20.0", "radius = 1.0"),
    ("step = 8.0", "step = 0.01"),
    ("step_exponent = 0.55", "step_exponent = 0.9"),
    ("coupling = 2.5", "coupling = 0.3"),
    ("coupling_exponent = 0.52", "coupling_exponent = 0.7"),
    ("exponent = 0.01 ", "exponent = 0.1 "),
];

fn json(shell: &Shell, code: i32, arguments: &[&str]) -> serde_json::Value {
    let arguments: Vec<&str> = ["doctor", "--json"].iter().chain(arguments).copied().collect();
    serde_json::from_str(&shell.expect(code, &arguments).0).unwrap()
}

fn broken(diagnosis: &serde_json::Value) -> Vec<&str> {
    let findings = diagnosis["findings"].as_array().unwrap().iter();
    findings.filter(|one| one["holds"] == false).map(|one| one["id"].as_str().unwrap()).collect()
}

#[test]
fn a_sound_config_ends_with_code_0_and_the_starter_with_1() {
    let shell = Shell::new();
    let path = shell.config("sound", &SOUND);
    let (out, err) = shell.expect(0, &["doctor", &path]);
    assert!(out.contains("Everything holds.") && !out.contains('✗'), "{out}");
    assert!(err.is_empty());
    let diagnosis = json(&shell, 0, &[&path]);
    assert_eq!(diagnosis["holds"], true);
    assert_eq!(diagnosis["theorems"]["theorem1"]["holds"], true);
    let (out, _) = shell.expect(1, &["doctor"]);
    assert!(out.contains("covered by Theorem 3; it runs as it is."), "{out}");
}

#[test]
fn the_papers_preset_is_told_what_it_breaks() {
    let shell = Shell::new();
    let (out, _) = shell.expect(1, &["doctor", "--preset", "paper-mushrooms"]);
    for part in [
        "✗ every eigenvalue of W is above −1: δ_m = -1.0854; needs above -1",
        "✗ max ς + 1/2 < u: u = 0.65; needs above max ς + 1/2 = 0.65, equal is not enough",
        "✗ γ0 ≤ 1/(−3δ_m): γ0 = 1; needs at most 0.3071",
        "✓ 2/3 < (1 + 2u)/3 < v < 1: u = 0.65, v = 0.77",
        "use a weight below 0.2763",
        "no theorem covers this config",
    ] {
        assert!(out.contains(part), "{part} not in\n{out}");
    }
    let diagnosis = json(&shell, 1, &["--preset", "paper-mushrooms"]);
    assert_eq!(diagnosis["schema_version"], 1);
    assert_eq!(
        broken(&diagnosis),
        [
            "assumption2.eigenvalue",
            "assumption4.coupling",
            "theorem1.coupling",
            "theorem1.step",
            "theorem2.step",
            // Its records are drawn again and again.
            "certificate.lifetime"
        ]
    );
    for finding in diagnosis["findings"].as_array().unwrap() {
        for key in ["id", "statement", "found", "needed"] {
            assert!(finding[key].as_str().is_some_and(|text| !text.is_empty()), "{finding}");
        }
        assert_eq!(finding["advice"].is_null(), finding["holds"] == true, "{finding}");
    }
    for theorem in 1..=5 {
        let entry = &diagnosis["theorems"][format!("theorem{theorem}")];
        assert_eq!(entry["holds"], false);
        assert!(entry["missing"].as_array().unwrap().contains(&"assumption2.eigenvalue".into()));
    }
}

#[test]
fn a_config_that_other_commands_refuse_can_be_examined() {
    let shell = Shell::new();
    let path =
        shell.config("outside", &[SOUND.as_slice(), &[("weight = 0.25", "weight = 0.3")]].concat());
    shell.expect(2, &["budget", &path]);
    let diagnosis = json(&shell, 1, &[&path]);
    assert_eq!(broken(&diagnosis), ["assumption2.eigenvalue"]);
    assert_eq!(diagnosis["proven"], false);
}

#[test]
fn a_target_that_no_noise_meets_does_not_stop_the_doctor() {
    let shell = Shell::new();
    let path = shell.config("rule", &[("delta = 1e-6", "delta = 1e-6\nbound = \"theorem5i\"")]);
    shell.expect(2, &["budget", &path]);
    let (out, _) = shell.expect(1, &["doctor", &path]);
    assert!(out.contains("none: Theorem 5(i) bounds finite horizons only"), "{out}");
}

#[test]
fn bad_configs_have_code_2_and_all_their_faults() {
    let shell = Shell::new();
    let path = shell.config(
        "bad",
        &[("weight = 0.25", "weight = 0.3"), ("delta = 1e-6", "delta = 2.0\nepsilom = 3")],
    );
    let (out, err) = shell.expect(2, &["doctor", &path]);
    assert!(
        out.is_empty() && err.contains("privacy.delta = 2") && err.contains("epsilom"),
        "{err}"
    );
    let path = shell.config("memory", &[("kind = \"exact\"", "kind = \"moments\"")]);
    let (_, err) = shell.expect(2, &["doctor", &path]);
    assert!(err.contains("memory: moments does not support"), "{err}");
    shell.expect(2, &["doctor", "missing.toml"]);
    fs::write(shell.path().join("not.toml"), "rounds = [1,").unwrap();
    shell.expect(2, &["doctor", "not.toml"]);
}

#[test]
fn a_shielded_config_ends_with_code_0_and_says_what_its_certificate_rests_on() {
    let shell = Shell::new();
    let (out, err) = shell.expect(0, &["doctor", "--preset", "shielded-mushrooms"]);
    assert!(err.is_empty() && !out.contains('✗') && !out.contains("Theorem "), "{out}");
    for part in [
        "method shielded, 300 rounds",
        "✓ no record's gradient is longer than G: G = 0.25, clipped by model.clip = 0.25",
        "C = 2G = 0.5",
        "Gaussian noise",
        "h_t = 800 + 1·(t + 1)",
        "weights enter no charge",
        "Everything holds.",
    ] {
        assert!(out.contains(part), "{part} not in\n{out}");
    }
    let diagnosis = json(&shell, 0, &["--preset", "shielded-mushrooms"]);
    assert_eq!((&diagnosis["method"], &diagnosis["holds"]), (&"shielded".into(), &true.into()));
    assert!(diagnosis["theorems"].as_object().unwrap().is_empty());
    // The neural networks' presets need no data to be examined.
    shell.expect(0, &["doctor", "--preset", "shielded-mnist"]);
    // Controls: what is wrong is still found, with code 1.
    shell.expect(0, &["new", "mine", "--preset", "shielded-mushrooms"]);
    let path = shell.path().join("mine.toml");
    let text = fs::read_to_string(&path).unwrap();
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let found = json(&shell, 1, &["mine.toml"]);
        (broken(&found).join(" "), shell.expect(1, &["doctor", "mine.toml"]).0)
    };
    let (ids, out) = changed("interval = 8", "interval = 300");
    assert!(
        ids == "shielded.interval" && out.contains("set schedule.interval to at most 299"),
        "{out}"
    );
    assert!(out.contains("1 of 7 do not hold."), "{out}");
    let (ids, out) = changed("coupling = 0.63", "coupling = 2.5");
    assert!(ids == "shielded.weights" && out.contains("set schedule.coupling below"), "{out}");
}
