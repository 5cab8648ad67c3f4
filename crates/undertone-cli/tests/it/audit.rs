//! `undertone audit` as a person meets it.

use crate::Shell;

/// A config small enough to be audited quickly.
fn small(shell: &Shell) -> String {
    shell.config(
        "small",
        &[
            ("rounds = 800", "rounds = 12"),
            ("learners = 5", "learners = 3"),
            ("source = \"mushrooms\"", "source = \"rows.csv\""),
            ("[records]", "[records]\nlabel = \"y\"\n#"),
            ("warmup = 300", "warmup = 4"),
            ("features = 112", "features = 2"),
            ("centre = true", "centre = false"),
        ],
    )
}

fn rows(shell: &Shell) {
    let mut text = String::from("a,b,y\n");
    for i in 0..120 {
        text.push_str(&format!("{},0.5,{}\n", f64::from(i) / 120.0, i % 2));
    }
    std::fs::write(shell.path().join("rows.csv"), text).unwrap();
}

#[test]
fn an_audit_of_a_sound_config_holds_and_a_seed_repeats_it() {
    let shell = Shell::new();
    let path = small(&shell);
    rows(&shell);
    let (out, _) = shell.expect(0, &["audit", &path, "--seed", "4"]);
    for part in [
        "replay distance",
        "residuals scale",
        "canaries power",
        "likelihood bound",
        "holds",
        "No claim was broken",
        "learners 0, 1, 2",
        "keep them with the data",
    ] {
        assert!(out.contains(part), "{part} not in\n{out}");
    }
    let json = |seed: &str| -> serde_json::Value {
        let (out, _) = shell.expect(0, &["audit", &path, "--json", "--no-data", "--seed", seed]);
        serde_json::from_str(&out).unwrap()
    };
    let (first, again, other) = (json("4"), json("4"), json("5"));
    assert_eq!(first, again);
    assert_ne!(first["audits"], other["audits"]);
    assert_eq!(first["passed"], true);
    assert_eq!(first["own_data"], false);
    assert_eq!(first["audits"][0]["checks"][0]["verdict"], "holds");
}

#[test]
fn data_that_cannot_be_read_are_an_error_unless_they_are_left_out() {
    let shell = Shell::new();
    let path = small(&shell);
    let (_, err) = shell.expect(2, &["audit", &path, "--learner", "1"]);
    assert!(err.contains("rows.csv") && err.contains("--no-data"), "{err}");
    let (out, _) = shell.expect(0, &["audit", &path, "--learner", "1", "--no-data"]);
    assert!(out.contains("\nlearner 1\n"), "{out}");
}

#[test]
fn bad_audit_arguments_get_code_2() {
    let shell = Shell::new();
    let (_, err) = shell.expect(2, &["audit", "missing.toml"]);
    assert!(err.contains("cannot read missing.toml"), "{err}");
    let (_, err) = shell.expect(2, &["audit", "--learner", "7"]);
    assert!(err.contains("learners are 0 to 4"), "{err}");
    let bad = shell.config("bad", &[("delta = 1e-6", "delta = 2.0")]);
    let (_, err) = shell.expect(2, &["audit", &bad]);
    assert!(err.contains("privacy.delta"), "{err}");
}

#[test]
fn methods_that_are_only_compared_with_are_not_audited() {
    let shell = Shell::new();
    let method = ("rounds = 800", "rounds = 12\nmethod = \"local\"");
    let noise = ("calibrate = \"lifetime\"", "scale = 1.0");
    let path = shell.config("alone", &[method, noise]);
    let (_, err) = shell.expect(2, &["audit", &path]);
    assert!(err.contains("algorithm1 and shielded"), "{err}");
}
