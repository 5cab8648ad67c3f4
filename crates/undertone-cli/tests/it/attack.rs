//! `undertone attack` and the experiments on networks as a person meets them.

use crate::Shell;
use std::fs;
use std::process::Command;

const CONFIG: &str = r#"
name = "tiny"
rounds = 5
unproven = true
[network]
learners = 2
topology = "complete"
weight = 0.2
[data]
source = "points.csv"
partition = "iid"
[records]
label = "label"
[bounds]
feature_norm = 2.0
out_of_bounds = "refuse"
[model]
loss = "mlp"
features = 3
hidden = [4]
classes = 2
clip = 100.0
[memory]
kind = "exact"
[parameters]
set = "ball"
radius = 100.0
[schedule]
step = 0.5
step_exponent = 0.7
coupling = 0.5
coupling_exponent = 0.6
[noise]
kind = "laplace"
scale = 1.0
exponent = 0.05
[privacy]
delta = 1e-5
"#;

fn shell() -> Shell {
    let shell = Shell::new();
    let mut text = String::from("a,b,c,label\n");
    for number in 0..40 {
        let x = f64::from(number) / 40.0;
        text += &format!("{x},{},{},{}\n", 1.0 - x, x * x, number % 2);
    }
    fs::write(shell.path().join("points.csv"), text).unwrap();
    fs::write(shell.path().join("tiny.toml"), CONFIG).unwrap();
    shell
}

#[test]
fn an_attack_leaves_numbers_and_a_page_for_its_owner() {
    let shell = shell();
    let call = ["attack", "dlg", "tiny.toml", "--noise", "0,1", "--json", "--out", "a"];
    let (out, _) = shell.expect(0, &call);
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    let error = |line: usize| value["lines"][line]["error"].as_f64().unwrap();
    assert!(error(0) < 1e-3 && error(1) > error(0), "{out}");
    assert!(value["warning"].as_str().unwrap().contains("NOT PRIVATE"));
    let page = fs::read_to_string(shell.path().join("a/report.html")).unwrap();
    assert!(page.contains("NOT PRIVATE") && page.contains("not images"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(shell.path().join("a")).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
    let (_, err) = shell.expect(2, &call);
    assert!(err.contains("exists already"), "{err}");
    shell.expect(0, &["attack", "idlg", "tiny.toml", "--noise", "1", "--iterations", "5"]);
    assert!(shell.path().join("attack/tiny-idlg-1/results.json").exists());
}

#[test]
fn what_cannot_be_attacked_has_an_error_and_leaves_nothing() {
    let shell = shell();
    for (call, word) in [
        (&["attack", "dlg", "--preset", "mushrooms"][..], "networks"),
        (&["attack", "dlg", "tiny.toml", "--noise=-1"], "multiples"),
        (&["attack", "dlg", "tiny.toml", "--noise", "nan"], "multiples"),
        (&["attack", "dlg", "tiny.toml", "--records", "17"], "17"),
        (&["attack", "dlg", "tiny.toml", "--round", "20"], "21 records"),
        (&["attack", "idlg", "tiny.toml", "--records", "2"], "dlg"),
        (&["attack", "dlg", "missing.toml"], "missing.toml"),
        (&["attack"], "Usage"),
    ] {
        let (_, err) = shell.expect(2, call);
        assert!(err.contains(word), "{call:?}: {err}");
    }
    let left = fs::read_dir(shell.path().join("attack")).map_or(0, Iterator::count);
    assert_eq!(left, 0);
}

#[test]
fn experiments_on_networks_say_how_to_get_their_data() {
    let shell = Shell::new();
    for (name, data) in [("fig2", "mnist"), ("fig3", "cifar-10"), ("table2", "mnist")] {
        let output = Command::new(env!("CARGO_BIN_EXE_undertone"))
            .args(["reproduce", name, "--quick"])
            .current_dir(shell.path())
            .env("UNDERTONE_CACHE", shell.path().join("cache"))
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(&format!("undertone data get {data}")), "{err}");
    }
}
