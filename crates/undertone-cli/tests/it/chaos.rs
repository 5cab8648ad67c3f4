//! Learners that are killed at any moment: `kill -9`, a restart, and nothing is spent or sent twice.

use crate::{Shell, free_ports};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often somebody is killed: `UNDERTONE_KILLS=200` for a long run.
fn kills() -> u64 {
    std::env::var("UNDERTONE_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(12)
}

fn start(folder: &Path, id: usize, ports: &[u16], rounds: u64) -> Child {
    let store = folder.join(format!("{id}.redb"));
    let log = |ending: &str| {
        let path = folder.join(format!("{id}.{ending}"));
        File::options().create(true).append(true).open(path).unwrap()
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_undertone"));
    command.args(["node", "net/mushrooms.toml", "--replay", "mushrooms.toml", "--deadline", "5"]);
    command.args(["--learner", &id.to_string(), "--rounds", &rounds.to_string()]);
    command.arg("--store").arg(&store);
    command.args(["--listen", &format!("127.0.0.1:{}", ports[id])]);
    for neighbour in [(id + 1) % 5, (id + 4) % 5] {
        command.args(["--peer", &format!("{neighbour}=127.0.0.1:{}", ports[neighbour])]);
    }
    if !store.exists() {
        command.arg("--new");
    }
    command.current_dir(folder).stdin(Stdio::null()).stdout(log("log")).stderr(log("err"));
    command.spawn().unwrap()
}

#[test]
fn learners_that_are_killed_reach_the_last_round_and_no_budget_is_spent_twice() {
    let shell = Shell::new();
    let folder = shell.path();
    fs::create_dir(folder.join("net")).unwrap();
    shell.expect(0, &["new", "mushrooms"]);
    shell.expect(0, &["new", "net/mushrooms", "--agreement"]);
    let (kills, rounds) = (kills(), 100 + 4 * kills());
    let ports = free_ports(5);
    let mut children: Vec<Child> = (0..5).map(|id| start(folder, id, &ports, rounds)).collect();
    let mut done = [false; 5];
    let (mut killed, mut dice) = (0, 0x9e37_79b9_u64);
    let begin = Instant::now();
    while done.iter().any(|done| !done) {
        assert!(begin.elapsed() < Duration::from_secs(500), "done: {done:?}, {killed} killed");
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        thread::sleep(Duration::from_millis(dice >> 32 & 127));
        for (id, child) in children.iter_mut().enumerate() {
            if let Some(status) = child.try_wait().unwrap() {
                let said = || fs::read_to_string(folder.join(format!("{id}.err"))).unwrap();
                assert_eq!(status.code(), Some(0), "learner {id}: {}", said());
                done[id] = true;
            }
        }
        let victim = usize::try_from((dice >> 40) % 5).unwrap();
        if killed < kills && !done[victim] {
            children[victim].kill().unwrap();
            children[victim].wait().unwrap();
            children[victim] = start(folder, victim, &ports, rounds);
            killed += 1;
        }
    }
    assert_eq!(killed, kills);
    // Every charge comes out again from the config and the ledger.
    for id in 0..5 {
        let store = format!("{id}.redb");
        let (said, _) =
            shell.expect(0, &["verify", "net/mushrooms.toml", "--store", &store, "--json"]);
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["agrees"], true);
        let receipts = said["learners"][0]["receipts"].as_u64().unwrap();
        assert!(receipts <= rounds && receipts > rounds / 2, "{receipts} receipts");
        let shown = ["status", "net/mushrooms.toml", "--store", &store, "--json"];
        let status: serde_json::Value = serde_json::from_str(&shell.expect(0, &shown).0).unwrap();
        let count = |key: &str| status[key].as_u64().unwrap();
        let taken = count("records") + count("waiting_records");
        assert_eq!(status["sources"]["replay"].as_u64(), Some(taken), "each record once");
    }
    assert!(released_once(folder), "no round is released twice with different noise");
}

/// A neighbour that hears two releases of one round says so in its log.
fn released_once(folder: &Path) -> bool {
    (0..5).all(|id| {
        let log = fs::read_to_string(folder.join(format!("{id}.log"))).unwrap();
        log.contains("\"event\":\"ended\"") && !log.contains("cut-off")
    })
}
