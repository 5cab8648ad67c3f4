//! The command as a person meets it: right and wrong arguments, good and bad files, exit codes.
#![allow(clippy::unwrap_used, reason = "helpers of tests may unwrap")]

mod attack;
mod audit;
mod audit_bundle;
mod chaos;
mod compare;
mod dashboard;
mod data;
mod doctor;
mod node;
mod plan;
mod reproduce;
mod same_as_simulate;
mod up;

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU16, Ordering};
use tempfile::TempDir;
use undertone::privacy::format_epsilon;

/// Free ports to listen on, also again after a restart. Systems give connections ports from 32768 on (Linux) or higher, and
/// a port of those might go to somebody else meanwhile. Others who test at the same time begin elsewhere.
fn free_ports(count: usize) -> Vec<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let begin = std::process::id() % 8192;
    let candidates = std::iter::repeat_with(|| {
        let position = begin + u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        20_000 + u16::try_from(position % 12_000).unwrap()
    });
    let free = candidates.filter(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok());
    free.take(count).collect()
}

struct Shell {
    folder: TempDir,
}

impl Shell {
    fn new() -> Shell {
        Shell { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_undertone"))
            .args(arguments)
            .current_dir(self.path())
            .output()
            .unwrap()
    }

    /// Runs and expects an exit code; gives stdout and stderr.
    fn expect(&self, code: i32, arguments: &[&str]) -> (String, String) {
        let output = self.run(arguments);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{out}\n{err}");
        assert!(!err.contains("panicked"), "{err}");
        (out, err)
    }

    /// Writes a starter config with lines replaced.
    fn config(&self, name: &str, changes: &[(&str, &str)]) -> String {
        self.expect(0, &["new", name]);
        let path = self.path().join(format!("{name}.toml"));
        let mut text = fs::read_to_string(&path).unwrap();
        for (from, to) in changes {
            assert!(text.contains(from), "{from} is in the starter config");
            text = text.replacen(from, to, 1);
        }
        fs::write(&path, text).unwrap();
        format!("{name}.toml")
    }
}

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let (out, _) = Shell::new().expect(0, &["--help"]);
    for word in [
        "simulate",
        "budget",
        "plan",
        "doctor",
        "audit",
        "audit-bundle",
        "compare",
        "reproduce",
        "new",
        "verify",
        "Exit codes",
    ] {
        assert!(out.contains(word), "{out}");
    }
}

#[test]
fn a_starter_config_runs_as_it_is_and_is_never_overwritten() {
    let shell = Shell::new();
    let (out, _) = shell.expect(0, &["new", "mine"]);
    assert!(out.contains("mine.toml"));
    shell.expect(0, &["simulate", "mine.toml", "--rounds", "5", "--quiet"]);
    assert!(shell.path().join("runs/mine-1/report.html").exists());
    let (_, err) = shell.expect(2, &["new", "mine"]);
    assert!(err.contains("cannot create mine.toml"), "{err}");
    shell.expect(0, &["new", "paper", "--preset", "paper-mushrooms"]);
    shell.expect(0, &["budget", "paper.toml"]);
}

#[test]
fn a_seed_repeats_the_summary_and_marks_it() {
    let shell = Shell::new();
    let summary = |folder: &str| -> serde_json::Value {
        let arguments = ["simulate", "--seed", "1", "--rounds", "12", "--json", "--out", folder];
        let mut value: serde_json::Value =
            serde_json::from_str(&shell.expect(0, &arguments).0).unwrap();
        value["seconds"] = 0.into();
        value
    };
    let (first, second) = (summary("a"), summary("b"));
    assert_eq!(first, second);
    assert_eq!(first["schema_version"], 1);
    assert_eq!(first["private"], false);
    assert!(first["warning"].as_str().unwrap().starts_with("NOT PRIVATE"));
    assert_eq!(first["learners"].as_array().unwrap().len(), 5);
}

#[test]
fn the_numbers_to_hold_come_out_of_the_budget_command() {
    let shell = Shell::new();
    let path = shell.config(
        "hold",
        &[
            ("rounds = 800", "rounds = 2000\nunproven = true"),
            ("weight = 0.25", "weight = 0.3"),
            ("warmup = 300", "warmup = 0"),
            ("ridge = 0.001", "ridge = 0.0"),
            ("radius = 20.0", "radius = 1e5"),
            ("step = 8.0", "step = 1.0"),
            ("step_exponent = 0.55", "step_exponent = 0.77"),
            ("coupling = 2.5", "coupling = 1.0"),
            ("coupling_exponent = 0.52", "coupling_exponent = 0.65"),
            ("kind = \"gaussian\"", "kind = \"laplace\""),
            ("exponent = 0.01 ", "exponent = 0.11 "),
            ("calibrate = \"lifetime\"", "scale = 1.0"),
            ("epsilon = 8.0", "# no cap"),
        ],
    );
    let number = |bound: &str, key: &str| -> f64 {
        let arguments =
            ["budget", "--config", &path, "--json", "--bound", bound, "--delta", "1e-6"];
        let report: serde_json::Value =
            serde_json::from_str(&shell.expect(0, &arguments).0).unwrap();
        assert_eq!(report["learners"][0]["bound"], bound);
        report["learners"][0][key].as_f64().unwrap()
    };
    for (bound, key, expected) in [
        ("tight", "pure_epsilon", 241.75),
        ("tight", "zcdp", 7.1535),
        // By the exact Rényi divergence of Laplace noise; 25.86 is the conversion of zCDP.
        ("tight", "epsilon", 25.0911),
        ("theorem5i", "pure_epsilon", 20_575.0),
        ("theorem5ii", "pure_epsilon", 412.88),
    ] {
        let found = number(bound, key);
        assert!((found / expected - 1.0).abs() < 2e-4, "{bound} {key}: {found}");
    }
    let arguments = ["budget", "--config", &path, "--json", "--bound", "theorem5i"];
    let report: serde_json::Value = serde_json::from_str(&shell.expect(0, &arguments).0).unwrap();
    assert!(report["learners"][0]["lifetime"]["pure_epsilon"].is_null());
}

#[test]
fn records_drawn_again_are_not_priced_as_if_they_were_used_once() {
    let shell = Shell::new();
    let preset = ["--preset", "paper-mushrooms", "--rounds", "1500"];
    let (out, _) = shell.expect(0, &[&["budget"], &preset[..]].concat());
    let report: serde_json::Value =
        serde_json::from_str(&shell.expect(0, &[&["budget", "--json"], &preset[..]].concat()).0)
            .unwrap();
    let learner = &report["learners"][0];
    let (paid, once) = (learner["epsilon"].as_f64(), learner["epsilon_used_once"].as_f64());
    assert_eq!(learner["uses"].as_u64(), Some(1500), "no warm-up, one record a round");
    assert!(paid > once, "{paid:?} {once:?}");
    let (paid, once) = (format_epsilon(paid.unwrap()), format_epsilon(once.unwrap()));
    let row = out.lines().find(|line| line.trim_start().starts_with("0 ")).unwrap();
    assert!(row.contains(&paid) && !row.contains(&once), "{row}");
    assert!(out.contains("each draw is paid for") && out.contains("in all 1500 draws"), "{out}");
    assert!(out.contains(&format!("which pays epsilon {once}")), "{out}");
    let arguments = ["simulate", "--seed", "1", "--out", "again"];
    let (out, _) = shell.expect(0, &[&arguments[..], &preset[..]].concat());
    let text = fs::read_to_string(shell.path().join("again/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    let learners = summary["learners"].as_array().unwrap();
    let most = |key: &str| {
        let each = learners.iter().filter_map(|learner| learner[key].as_f64());
        format_epsilon(each.fold(0.0, f64::max))
    };
    let line = out.lines().find(|line| line.trim_start().starts_with("privacy")).unwrap();
    let draws = learners.iter().filter_map(|learner| learner["draws_max"].as_u64()).max().unwrap();
    assert!(draws >= 2, "the control: records are drawn again here");
    let expected = format!("ε = {} spent, by a record drawn {draws} times", most("epsilon"));
    assert!(line.contains(&expected), "{line}");
    assert!(
        !line.contains(&most("epsilon_used_once")) && line.contains("no certificate"),
        "{line}"
    );
    let (out, _) = shell.expect(0, &["verify", "again"]);
    assert!(out.contains(&format!(", by a record that was used {draws} times")), "{out}");
    // The control: records that are used once need no such words.
    let (out, _) = shell.expect(0, &["budget"]);
    assert!(!out.contains("drawn") && !out.contains("used once"), "{out}");
}

#[test]
fn an_exhausted_budget_has_its_own_exit_code_and_keeps_what_was_learnt() {
    let shell = Shell::new();
    let path = shell.config("tight", &[("calibrate = \"lifetime\"", "scale = 0.4")]);
    let (_, err) =
        shell.expect(3, &["simulate", &path, "--epsilon", "2", "--quiet", "--out", "spent"]);
    assert!(err.contains("budget exhausted: learner"), "{err}");
    let summary = fs::read_to_string(shell.path().join("spent/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["ending"], "budget-exhausted");
    assert!(summary["learners"][0]["epsilon"].as_f64().unwrap() <= 2.0);
}

#[test]
fn all_faults_of_a_config_are_reported_at_once_and_nothing_is_written() {
    let shell = Shell::new();
    let path = shell.config(
        "bad",
        &[
            ("delta = 1e-6", "delta = 2.0\nepsilom = 3"),
            ("feature_norm = 1.0", "feature_norm = -1.0"),
            ("loss = \"logistic\"", "loss = \"logit\""),
            ("[memory]", "[memmory]"),
        ],
    );
    let (_, err) = shell.expect(2, &["simulate", &path]);
    for part in [
        "privacy.delta = 2",
        "privacy.epsilom: unknown key",
        "bounds.feature_norm = -1",
        "model.loss = \"logit\"",
        "memmory: unknown key",
    ] {
        assert!(err.contains(part), "{part} not in\n{err}");
    }
    assert!(!shell.path().join("runs").exists());
}

#[test]
fn schedules_outside_the_theorems_are_refused_unless_asked_for() {
    let shell = Shell::new();
    let path = shell.config("outside", &[("weight = 0.25", "weight = 0.3")]);
    let (_, err) = shell.expect(2, &["budget", &path]);
    assert!(err.contains("Assumption 2") && err.contains("unproven = true"), "{err}");
    let path = shell.config(
        "allowed",
        &[("weight = 0.25", "weight = 0.3"), ("rounds = 800", "rounds = 5\nunproven = true")],
    );
    let (out, _) = shell.expect(0, &["simulate", &path, "--out", "run"]);
    assert!(out.contains("UNPROVEN"), "{out}");
    let report = fs::read_to_string(shell.path().join("run/report.html")).unwrap();
    assert!(report.contains("UNPROVEN"));
}

#[test]
fn bad_arguments_and_files_get_a_clear_message_and_code_2() {
    let shell = Shell::new();
    let cases: [(&[&str], &str); 9] = [
        (&["simulate", "missing.toml"], "cannot read missing.toml"),
        (&["simulate", "."], "cannot read"),
        (&["simulate", "--preset", "nothing"], "possible values"),
        (&["simulate", "--rounds", "0"], "rounds = 0"),
        (&["simulate", "--rounds", "-3"], "unexpected argument"),
        (&["simulate", "--epsilon", "nan"], "privacy.epsilon"),
        (&["simulate", "--epsilon", "0"], "privacy.epsilon = 0"),
        (&["budget", "--delta", "0"], "privacy.delta = 0"),
        (&["dance"], "unrecognized subcommand"),
    ];
    for (arguments, part) in cases {
        let (_, err) = shell.expect(2, arguments);
        assert!(err.contains(part), "{arguments:?}: {err}");
    }
    let huge = shell.config("huge", &[("learners = 5", "learners = 9223372036854775807")]);
    let (_, err) = shell.expect(2, &["budget", &huge]);
    assert!(err.contains("2 to 1000000 learners"), "{err}");
    fs::write(shell.path().join("not.toml"), "rounds = [1,").unwrap();
    let (_, err) = shell.expect(2, &["budget", "not.toml"]);
    assert!(err.contains("line 1") || err.contains("1 |"), "{err}");
    fs::write(shell.path().join("binary.toml"), [0u8, 255, 254]).unwrap();
    shell.expect(2, &["budget", "binary.toml"]);
    fs::create_dir(shell.path().join("taken")).unwrap();
    let (_, err) = shell.expect(2, &["simulate", "--out", "taken", "--rounds", "2"]);
    assert!(err.contains("exists already"), "{err}");
}

#[test]
fn bad_rows_are_named_by_line_and_never_shown() {
    let shell = Shell::new();
    let path = shell.config(
        "rows",
        &[
            ("source = \"mushrooms\"", "source = \"rows.csv\""),
            ("[records]", "[records]\nlabel = \"y\"\n#"),
            ("features = 112", "features = 2"),
            ("warmup = 300", "warmup = 1"),
        ],
    );
    let mut text = String::from("a,b,y\n");
    for i in 0..60 {
        text.push_str(&format!("{},0.5,{}\n", f64::from(i) / 60.0, i % 2));
    }
    for (bad, part) in [
        ("NaN,0.5,1\n", "rows.csv:62"),
        ("0.125,31.25\n", "rows.csv:62"),
        ("0.125,,1\n", "rows.csv:62"),
    ] {
        fs::write(shell.path().join("rows.csv"), format!("{text}{bad}")).unwrap();
        let (_, err) = shell.expect(2, &["simulate", &path, "--rounds", "3"]);
        assert!(err.contains(part), "{err}");
        assert!(!err.contains("31.25") && !err.contains("0.125"), "{err}");
    }
    fs::write(shell.path().join("rows.csv"), &text).unwrap();
    shell.expect(0, &["simulate", &path, "--rounds", "3", "--quiet"]);
}

#[test]
fn a_disconnected_graph_is_refused_and_an_edge_file_is_read() {
    let shell = Shell::new();
    let edges = ("topology = \"ring\"", "topology = \"edges\"\nedges = \"graph.txt\"");
    let path = shell.config("graph", &[edges]);
    fs::write(shell.path().join("graph.txt"), "# a line and a pair\n0 1\n1 2\n3 4\n").unwrap();
    let (_, err) = shell.expect(2, &["simulate", &path]);
    assert!(err.contains("not connected") && err.contains("learner 3"), "{err}");
    fs::write(shell.path().join("graph.txt"), "0 1\n1 2\n2 3\nx 4\n").unwrap();
    let (_, err) = shell.expect(2, &["simulate", &path]);
    assert!(err.contains("graph.txt, line 4"), "{err}");
    fs::write(shell.path().join("graph.txt"), "0 1\n1 2\n2 3\n3 4\n").unwrap();
    shell.expect(0, &["simulate", &path, "--rounds", "3", "--quiet"]);
}

#[test]
fn a_ledger_is_verified_and_a_changed_one_is_found() {
    let shell = Shell::new();
    shell.expect(0, &["simulate", "--rounds", "12", "--quiet", "--out", "run"]);
    let (out, _) = shell.expect(0, &["verify", "run"]);
    assert!(out.contains("learner 4: 12 receipts agree, ε = "), "{out}");
    assert!(out.contains(" at δ = 1e-6\nunit: one record of one learner"), "{out}");
    let path = shell.path().join("run/ledger.ndjson");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 5 * 12);
    // Learner 2 of round 7 claims that it was charged less.
    let place = 1 + 5 * 7 + 2;
    let mut receipt: serde_json::Value = serde_json::from_str(lines[place]).unwrap();
    receipt["zcdp_cost"] = 0.0.into();
    let changed = receipt.to_string();
    let mut forged = lines.clone();
    forged[place] = &changed;
    fs::write(&path, forged.join("\n")).unwrap();
    let (out, _) = shell.expect(1, &["verify", "run"]);
    assert!(out.contains("learner 2: DISAGREES: round 7: zcdp_cost"), "{out}");
    assert!(out.contains("learner 1: 12 receipts agree"), "{out}");
    // Learner 4 lost its last receipt.
    fs::write(&path, lines[..lines.len() - 1].join("\n")).unwrap();
    let (out, _) = shell.expect(1, &["verify", "run"]);
    assert!(out.contains("learner 4: DISAGREES: ends after 11 receipts"), "{out}");
    fs::write(&path, "nonsense").unwrap();
    let (_, err) = shell.expect(2, &["verify", "run"]);
    assert!(err.contains("ledger.ndjson, line 1"), "{err}");
    shell.expect(2, &["verify", "nowhere"]);
}

/// Runs with a reader that is gone before anything is printed, and gives the exit code.
#[cfg(unix)]
fn code_without_reader(shell: &Shell, arguments: &[&str]) -> Option<i32> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_undertone"))
        .args(arguments)
        .current_dir(shell.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    child.wait().unwrap().code()
}

#[cfg(unix)]
#[test]
fn what_was_found_is_the_exit_code_even_when_nobody_reads_it() {
    let shell = Shell::new();
    for json in [&[][..], &["--json"]] {
        assert_eq!(code_without_reader(&shell, &[&["doctor"], json].concat()), Some(1));
    }
    shell.expect(0, &["simulate", "--rounds", "3", "--quiet", "--out", "run"]);
    assert_eq!(code_without_reader(&shell, &["verify", "run"]), Some(0));
    let path = shell.path().join("run/ledger.ndjson");
    let text = fs::read_to_string(&path).unwrap();
    let (kept, _) = text.trim_end().rsplit_once('\n').unwrap();
    fs::write(&path, kept).unwrap();
    assert_eq!(code_without_reader(&shell, &["verify", "run"]), Some(1));
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_cleanly_with_what_there_is() {
    let shell = Shell::new();
    let child = Command::new(env!("CARGO_BIN_EXE_undertone"))
        .args([
            "simulate",
            "--preset",
            "paper-mushrooms",
            "--rounds",
            "2000",
            "--quiet",
            "--out",
            "cut",
        ])
        .current_dir(shell.path())
        .spawn()
        .unwrap();
    let id = child.id().to_string();
    let mut child = child;
    let status = loop {
        std::thread::sleep(std::time::Duration::from_millis(700));
        Command::new("kill").args(["-INT", &id]).status().unwrap();
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
    };
    assert_eq!(status.code(), Some(0));
    let summary = fs::read_to_string(shell.path().join("cut/summary.json")).unwrap();
    assert!(summary.contains("\"interrupted\""));
}
