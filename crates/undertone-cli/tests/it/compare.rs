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
    let (out, _) = shell.expect(0, &arguments(&path, "pdop,local", "1"));
    assert!(out.contains("3 runs to make\n"), "{out}");
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
