//! `undertone up` and `undertone node`: real processes on this machine.

use crate::Shell;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The learner's lines of its log, by event.
fn lines(folder: &Path, learner: u32, event: &str) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(folder.join(format!("net/learner-{learner}.ndjson"))).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    lines.filter(|line| line["event"] == event).collect()
}

#[test]
fn five_processes_run_all_rounds_and_go_on_later() {
    let shell = Shell::new();
    let (out, _) = shell.expect(0, &["up", "--rounds", "12", "--folder", "net"]);
    assert_eq!(out.matches("finished").count(), 5, "{out}");
    shell.expect(0, &["up", "--rounds", "20", "--folder", "net"]);
    for learner in 0..5 {
        let rounds = lines(shell.path(), learner, "round");
        let rounds: BTreeSet<u64> =
            rounds.iter().filter_map(|line| line["round"].as_u64()).collect();
        assert_eq!(rounds, (0..20).collect::<BTreeSet<u64>>());
        let ends = lines(shell.path(), learner, "ended");
        let epsilon = |k: usize| ends[k]["epsilon"].as_f64().unwrap();
        assert!(ends.len() == 2 && epsilon(1) > epsilon(0), "what is spent stays spent");
    }
    // The experiment deals records by their labels, and the node that replays it says what follows.
    let store = ["--store", "net/learner-0.redb", "--out", "model"];
    shell.expect(0, &[&["export", "net/agreement.toml"], &store[..]].concat());
    let model = fs::read(shell.path().join("model")).unwrap();
    let model = String::from_utf8_lossy(&model).into_owned();
    assert!(model.contains("safe to publish only where labels and the split"), "{model}");
}

#[test]
fn bad_arguments_are_named() {
    let shell = Shell::new();
    fs::create_dir(shell.path().join("net")).unwrap();
    shell.expect(0, &["new", "mushrooms"]);
    shell.expect(0, &["new", "net/mushrooms", "--agreement"]);
    let node = |more: &[&str]| {
        let mut arguments =
            vec!["node", "net/mushrooms.toml", "--store", "one.redb", "--listen", "127.0.0.1:1"];
        arguments.extend(more);
        shell.expect(2, &arguments).1
    };
    assert!(node(&["--learner", "9"]).contains("0 to 4"));
    assert!(node(&["--learner", "0"]).contains("--peer 1=HOST:PORT): missing"));
    assert!(node(&["--learner", "0", "--peer", "2=127.0.0.1:2"]).contains("not a neighbour"));
    assert!(node(&["--learner", "0", "--peer", "1"]).contains("NUMBER=HOST:PORT"));
    let peers = ["--peer", "1=127.0.0.1:2", "--peer", "4=127.0.0.1:3"];
    let there = [&["--learner", "0", "--replay", "mushrooms.toml"][..], &peers].concat();
    assert!(node(&there).contains("--new makes one"), "there is no store");
    assert!(node(&[&there[..], &["--deadline", "0"]].concat()).contains("--deadline"));
    let away = [
        "--learner",
        "0",
        "--replay",
        "mushrooms.toml",
        "--new",
        "--peer",
        "1=10.0.0.1:2",
        "--peer",
        "4=127.0.0.1:3",
    ];
    assert!(node(&away).contains("one machine only"));
}
