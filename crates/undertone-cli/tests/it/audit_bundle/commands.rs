//! `undertone audit-bundle` and `undertone verify`, as people use them.

use super::script;
use crate::node::{Daemon, record};
use crate::{Shell, free_ports};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Checks a bundle with both programs, as people run them, and gives what the Python one prints.
fn both_agree(shell: &Shell, bundle: &str) -> String {
    shell.expect(0, &["verify", bundle]);
    let (code, text) = python(shell.path(), bundle);
    assert_eq!(code, Some(0), "{text}");
    text
}

fn python(folder: &Path, bundle: &str) -> (Option<i32>, String) {
    let mut python = Command::new("python3");
    python.args(["-B", "-X", "utf8"]).arg(script()).arg(bundle).current_dir(folder);
    let output = python.output().expect("the tests need python3");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn a_bundle_of_a_run_is_checked_by_both_and_holds_nothing_private() {
    let shell = Shell::new();
    shell.expect(0, &["simulate", "--rounds", "12", "--quiet", "--out", "run"]);
    let (out, _) = shell.expect(0, &["audit-bundle", "run", "--out", "run.json"]);
    assert!(out.contains("run.json: 60 receipts"), "{out}");
    let text = both_agree(&shell, "run.json");
    assert!(
        text.contains("learner 4: 12 receipts agree") && text.contains("unit: one record"),
        "{text}"
    );
    assert!(text.contains("the noise scales of round 0"), "what is not recomputed is said: {text}");
    // Nothing of data, losses or parameters: only these words may be keys.
    let bundle = fs::read_to_string(shell.path().join("run.json")).unwrap();
    let value: serde_json::Value = serde_json::from_str(&bundle).unwrap();
    let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = vec![
        "format",
        "version",
        "producer",
        "unit",
        "warning",
        "network",
        "simulation",
        "agreement",
        "learners",
        "sha256",
    ];
    expected.sort_unstable();
    let mut keys = keys;
    keys.sort_unstable();
    assert_eq!(keys, expected);
    for word in
        ["data", "rounds", "partition", "accuracy", "loss_sum", "theta", "draws", "refused", "path"]
    {
        assert!(!bundle.contains(&format!("\"{word}\"")), "{word}");
    }
    assert!(!bundle.contains(&*shell.path().to_string_lossy()), "no path of this machine");
    // What is there is never overwritten, and what is no run is named.
    let (_, err) = shell.expect(2, &["audit-bundle", "run", "--out", "run.json"]);
    assert!(err.contains("exists already"), "{err}");
    let (_, err) = shell.expect(2, &["audit-bundle", "nowhere"]);
    assert!(err.contains("nowhere"), "{err}");
    // The exit codes of both: 1 for a disagreement, 2 for what is no bundle.
    fs::write(shell.path().join("changed.json"), bundle.replacen("\"batch\":1", "\"batch\":2", 1))
        .unwrap();
    let (out, _) = shell.expect(1, &["verify", "changed.json"]);
    assert!(out.contains("the file was changed"), "{out}");
    assert_eq!(python(shell.path(), "changed.json").0, Some(1));
    fs::write(shell.path().join("cut.json"), &bundle[..bundle.len() / 2]).unwrap();
    for file in ["cut.json", "run/config.toml"] {
        let (_, err) = shell.expect(2, &["verify", file]);
        assert!(err.contains("audit bundle"), "{err}");
        assert_eq!(python(shell.path(), file).0, Some(2));
    }
    assert_eq!(python(shell.path(), "missing.json").0, Some(2));
}

#[test]
fn no_bundle_is_made_of_a_ledger_that_disagrees() {
    let shell = Shell::new();
    shell.expect(0, &["simulate", "--rounds", "3", "--quiet", "--out", "run"]);
    let path = shell.path().join("run/ledger.ndjson");
    let ledger = fs::read_to_string(&path).unwrap();
    fs::write(&path, ledger.replacen("\"weight_heard\":0.5", "\"weight_heard\":0.25", 1)).unwrap();
    let (out, _) = shell.expect(1, &["audit-bundle", "run"]);
    assert!(out.contains("DISAGREES: the ledger of learner 0") && out.contains("round 2"), "{out}");
    assert!(!shell.path().join("audit-bundle.json").exists());
}

#[test]
fn a_bundle_says_that_a_run_was_seeded_and_how_often_records_were_used() {
    let shell = Shell::new();
    shell.expect(0, &["new", "paper", "--preset", "paper-mushrooms"]);
    let path = shell.path().join("paper.toml");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("repeat = true"), "{text}");
    fs::write(&path, text.replacen("[bounds]", "[records]\nbatch = 400\n\n[bounds]", 1)).unwrap();
    let arguments = ["simulate", "paper.toml", "--rounds", "8", "--seed", "7", "--quiet"];
    shell.expect(0, &[&arguments[..], &["--out", "run"]].concat());
    shell.expect(0, &["audit-bundle", "run", "--out", "run.json"]);
    let text = both_agree(&shell, "run.json");
    assert!(text.contains("NOT PRIVATE"), "{text}");
    assert!(shell.expect(0, &["verify", "run.json"]).0.contains("NOT PRIVATE"));
    let read = |name: &str| -> serde_json::Value {
        serde_json::from_str(&fs::read_to_string(shell.path().join(name)).unwrap()).unwrap()
    };
    let (bundle, summary) = (read("run.json"), read("run/summary.json"));
    for learner in 0..5 {
        let (of_bundle, of_summary) = (&bundle["learners"][learner], &summary["learners"][learner]);
        assert_eq!(of_bundle["uses"], of_summary["draws_max"]);
        let paid = of_bundle["spent"]["epsilon"].as_f64().unwrap();
        let expected = of_summary["epsilon_of_most_drawn"].as_f64().unwrap();
        assert!((paid / expected - 1.0).abs() < 1e-9, "{paid} {expected}");
    }
    assert!(bundle["learners"][0]["uses"].as_u64() > Some(1), "records were drawn again");
}

const TWO_OF_THREE: &str = r#"
name = "two of three"
[network]
learners = 3
topology = "complete"
weight = 0.3
[records]
classes = ["well", "ill"]
intercept = true
warmup = 20
[bounds]
feature_norm = 2.0
out_of_bounds = "scale"
[model]
loss = "logistic"
features = 3
ridge = 0.01
[parameters]
set = "ball"
radius = 5.0
[schedule]
step = 1.0
step_exponent = 0.8
coupling = 1.0
coupling_exponent = 0.65
[noise]
kind = "gaussian"
scale = 0.5
exponent = 0.1
[privacy]
delta = 1e-6
epsilon = 500.0
"#;

fn start(shell: &Shell, id: usize, ports: &[u16], more: &[&str]) -> Daemon {
    let mut arguments = vec!["agreement.toml".to_string(), "--learner".into(), id.to_string()];
    arguments.extend(["--store".into(), format!("{id}.redb"), "--new".into()]);
    arguments.extend(["--deadline".into(), "1".into(), "--follow".into(), "records.ndjson".into()]);
    arguments.extend(["--listen".into(), format!("127.0.0.1:{}", ports[id])]);
    for (neighbour, port) in ports.iter().enumerate().filter(|(neighbour, _)| *neighbour > id) {
        arguments.extend(["--peer".into(), format!("{neighbour}=127.0.0.1:{port}")]);
    }
    arguments.extend(more.iter().map(ToString::to_string));
    Daemon::start(shell.path(), &arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Learner 2 never comes: the weights heard are smaller, and the charges larger.
#[cfg(unix)]
#[test]
fn a_store_is_only_read_and_its_bundle_shows_that_a_neighbour_was_missing() {
    let shell = Shell::new();
    fs::write(shell.path().join("agreement.toml"), TWO_OF_THREE).unwrap();
    fs::write(shell.path().join("records.ndjson"), (0..400).map(record).collect::<String>())
        .unwrap();
    let ports = free_ports(3);
    let first = start(&shell, 0, &ports, &[]);
    let mut second = start(&shell, 1, &ports, &[]);
    for daemon in [&first, &second] {
        daemon.wait_for(|line| line["event"] == "round" && line["round"].as_u64() >= Some(12));
    }
    // One is killed, and leaves a store that was not closed; the other runs on.
    second.child.kill().unwrap();
    second.child.wait().unwrap();
    let make = |store: &str| {
        ["audit-bundle", "agreement.toml", "--store", store, "--out", "bundle.json"]
            .map(String::from)
    };
    let (_, err) = shell.expect(2, &make("0.redb").each_ref().map(String::as_str));
    assert!(err.contains("running"), "{err}");
    assert!(!shell.path().join("bundle.json").exists());

    let store = shell.path().join("1.redb");
    let before = fs::read(&store).unwrap();
    let (out, _) = shell.expect(0, &make("1.redb").each_ref().map(String::as_str));
    assert!(out.contains("receipts"), "{out}");
    shell.expect(0, &["verify", "--store", "1.redb", "agreement.toml"]);
    shell.expect(0, &["status", "--store", "1.redb", "agreement.toml"]);
    assert!(fs::read(&store).unwrap() == before, "the store was changed");
    both_agree(&shell, "bundle.json");
    drop(first);
    let text = fs::read_to_string(shell.path().join("bundle.json")).unwrap();
    let bundle: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(bundle["simulation"].is_null());
    let receipts = bundle["learners"][0]["receipts"].as_array().unwrap();
    assert!(receipts.len() > 12);
    assert!(receipts[1..].iter().all(|receipt| receipt["weight_heard"] == 0.3), "{}", receipts[1]);
    for private in ["records.ndjson", "features", "theta", "waiting"] {
        let keys = text.replace("\"features\":3", "");
        assert!(!keys.contains(private), "{private}");
    }
    let (_, err) =
        shell.expect(2, &["audit-bundle", "agreement.toml", "--store", "agreement.toml"]);
    assert!(err.contains("agreement.toml"), "{err}");
}
