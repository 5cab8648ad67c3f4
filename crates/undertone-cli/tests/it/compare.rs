//! `undertone compare` as a person meets it.

use crate::Shell;
use std::fs;

const SMALL: [(&str, &str); 2] =
    [("rounds = 800", "rounds = 40"), ("warmup = 300", "warmup = 100")];

fn arguments<'a>(path: &'a str, methods: &'a str, seeds: &'a str) -> Vec<&'a str> {
    vec![
        "compare",
        path,
        "--methods",
        methods,
        "--epsilons",
        "2,inf",
        "--seeds",
        seeds,
        "--out",
        "c",
    ]
}

#[test]
fn a_comparison_goes_on_where_it_stopped_and_keeps_to_its_budgets() {
    let shell = Shell::new();
    let path = shell.config("small", &SMALL);
    let all = "dsgd,pdop,local";
    // What is named twice is run once: counted twice it would make the bands too narrow.
    let (out, _) = shell.expect(0, &arguments(&path, "pdop,local,pdop", "1"));
    assert!(out.contains("3 runs to make\n"), "{out}");
    assert!(!out.contains('±'), "one run has no confidence interval: {out}");
    let (out, _) = shell.expect(0, &arguments(&path, all, "2"));
    assert!(out.contains("7 runs to make, 3 there already"), "{out}");
    let (out, _) = shell.expect(0, &[arguments(&path, all, "2"), vec!["--json"]].concat());
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["entries"].as_array().unwrap().len(), 5);
    for entry in value["entries"].as_array().unwrap() {
        assert_eq!(entry["runs"], 2);
        match entry["certified_epsilon"].as_f64() {
            Some(epsilon) => assert!((1.999..=2.0).contains(&epsilon), "{entry}"),
            None => assert!(entry["epsilon"].is_null(), "{entry}"),
        }
    }
    let folder = shell.path().join("c");
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("pdop") && !page.contains("http://"));
    assert_eq!(fs::read_to_string(folder.join("results.csv")).unwrap().lines().count(), 6);
    for name in ["results.csv", "results.json", "runs.ndjson", "report.html"] {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        assert!(text.contains("NOT PRIVATE"), "{name}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "the folder is its owner's alone");
    }
    // A torn last line, as after a crash, is dropped and its run made again.
    let runs = folder.join("runs.ndjson");
    let text = fs::read_to_string(&runs).unwrap();
    fs::write(&runs, &text[..text.len() - 20]).unwrap();
    let (out, _) = shell.expect(0, &arguments(&path, all, "2"));
    assert!(out.contains("1 runs to make, 9 there already"), "{out}");
}

#[test]
fn what_cannot_be_compared_gets_the_reason_and_code_2() {
    let shell = Shell::new();
    let path = shell.config("small", &SMALL);
    shell.expect(0, &arguments(&path, "local", "1"));
    let other =
        shell.config("other", &[("rounds = 800", "rounds = 41"), ("warmup = 300", "warmup = 9")]);
    let cases: [(&[&str], &str); 4] = [
        (&["compare", &other, "--methods", "local", "--out", "c"], "runs of another config"),
        (&["compare", &path, "--methods", "fedavg"], "there are algorithm1, shielded"),
        (&["compare", &path, "--epsilons", "0"], "must be above 0"),
        (&["compare", &path, "--seeds", "0"], "invalid value"),
    ];
    for (arguments, part) in cases {
        let (_, err) = shell.expect(2, arguments);
        assert!(err.contains(part), "{arguments:?}: {err}");
    }
}

#[test]
fn data_that_change_or_run_dry_do_not_pass_as_the_same() {
    let shell = Shell::new();
    let rows = |label: fn(usize) -> usize| -> String {
        let row =
            |j: usize| format!("{},{},{}\n", (j % 7) as f64 / 7.0, (j % 3) as f64 / 3.0, label(j));
        "a,b,label\n".to_string() + &(0..600).map(row).collect::<String>()
    };
    let data = shell.path().join("d.csv");
    fs::write(&data, rows(|j| j % 2)).unwrap();
    let path = shell.config(
        "own",
        &[
            ("source = \"mushrooms\"", "source = \"d.csv\""),
            ("features = 112", "features = 2"),
            ("rounds = 800", "rounds = 200"),
            ("warmup = 300", "warmup = 20"),
        ],
    );
    let call =
        ["compare", &path, "--methods", "dola", "--epsilons", "2", "--seeds", "1", "--out", "c"];
    let (out, _) = shell.expect(0, &[&call[..], &["--json"]].concat());
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(value["entries"][0]["certified_epsilon"].is_null(), "the streams ran dry: {out}");
    fs::write(&data, rows(|j| j % 7 % 2)).unwrap();
    let (_, err) = shell.expect(2, &call);
    assert!(err.contains("another config, data or version"), "{err}");
}
