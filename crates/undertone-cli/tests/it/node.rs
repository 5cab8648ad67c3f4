//! `undertone node`, `cert`, `status`, `export`: learners with certificates, as their owners run them.

use crate::{Shell, free_ports};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// A learner's process, and its log.
pub(crate) struct Daemon {
    pub(crate) child: Child,
    log: Receiver<serde_json::Value>,
}

impl Daemon {
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Daemon {
        let mut child = Command::new(env!("CARGO_BIN_EXE_undertone"))
            .arg("node")
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, log) = channel();
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        Daemon { child, log }
    }

    /// Waits for a line of the log.
    pub(crate) fn wait_for(
        &self,
        wanted: impl Fn(&serde_json::Value) -> bool,
    ) -> serde_json::Value {
        let begin = Instant::now();
        loop {
            let left = Duration::from_secs(120).saturating_sub(begin.elapsed());
            match self.log.recv_timeout(left) {
                Ok(line) if wanted(&line) => return line,
                Ok(_) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn error(&mut self) -> String {
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }

    #[cfg(unix)]
    fn terminate(&self) {
        use rustix::process::{Pid, Signal, kill_process};
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An agreement of three learners in a triangle, with two features and classes that have names.
const TRIANGLE: &str = r#"
name = "three sites"
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
[memory]
kind = "anchored"
tolerance = 0.05
tolerance_exponent = 0.3
[parameters]
set = "ball"
radius = 5.0
[schedule]
step = 1.0
step_exponent = 0.8
coupling = 1.0
coupling_exponent = 0.65
[noise]
kind = "laplace"
scale = 0.5
exponent = 0.1
[privacy]
delta = 1e-6
"#;

pub(crate) fn record(number: u32) -> String {
    let ill = number.is_multiple_of(2);
    let sign = if ill { 1.0 } else { -1.0 };
    let noise = f64::from(number * 37 % 100) / 100.0 - 0.5;
    let features = [sign * 0.5 + noise, sign * 0.4 - noise];
    format!("{{\"features\": {features:?}, \"label\": \"{}\"}}\n", if ill { "ill" } else { "well" })
}

/// The arguments of learner `id`, with certificates.
fn arguments(id: usize, ports: &[u16], more: &[&str]) -> Vec<String> {
    let mut arguments = vec!["agreement.toml".to_string(), "--certificates".into(), "net".into()];
    arguments.extend(["--learner".into(), id.to_string()]);
    arguments.extend(["--store".into(), format!("{id}.redb")]);
    // Without records for a round a learner goes on after half of it.
    arguments.extend(["--deadline".into(), "2".into()]);
    arguments.extend(["--listen".into(), format!("127.0.0.1:{}", ports[id])]);
    for (neighbour, port) in ports.iter().enumerate().filter(|(neighbour, _)| *neighbour > id) {
        arguments.extend(["--peer".into(), format!("{neighbour}=127.0.0.1:{port}")]);
    }
    arguments.extend(more.iter().map(ToString::to_string));
    arguments
}

fn start(shell: &Shell, id: usize, ports: &[u16], more: &[&str]) -> Daemon {
    let arguments = arguments(id, ports, more);
    Daemon::start(shell.path(), &arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Three organisations: certificates, records from three kinds of source, a stop and a restart.
#[cfg(unix)]
#[test]
fn three_sites_learn_together_and_go_on_after_a_stop() {
    let shell = Shell::new();
    fs::write(shell.path().join("agreement.toml"), TRIANGLE).unwrap();
    shell.expect(0, &["cert", "new-network", "net"]);
    for id in ["0", "1", "2"] {
        shell.expect(0, &["cert", "add", "net", "--learner", id, "--host", "127.0.0.1"]);
    }
    let lines: String = (0..400).map(record).collect();
    fs::write(shell.path().join("followed.ndjson"), &lines).unwrap();
    fs::write(shell.path().join("token"), "a-token-of-many-letters\n").unwrap();
    let ports = free_ports(3);
    let http = ["--http", "127.0.0.1:0", "--token-file", "token", "--new"];
    let followed = ["--follow", "followed.ndjson"];
    let mut first = start(&shell, 0, &ports, &["--stdin", "--new"]);
    let second = start(&shell, 1, &ports, &[&followed[..], &["--new"]].concat());
    let third = start(&shell, 2, &ports, &http);
    let mut stdin = first.child.stdin.take().unwrap();
    stdin.write_all(lines.as_bytes()).unwrap();
    stdin.write_all(b"no record\n").unwrap();
    stdin.flush().unwrap();
    let refused = first.wait_for(|line| line["event"] == "refused");
    assert_eq!((refused["line"].as_u64(), refused["source"].as_str()), (Some(401), Some("stdin")));

    let url =
        third.wait_for(|line| line["event"] == "started")["http"].as_str().unwrap().to_string();
    let shown = shell.expect(2, &["status", "--node", &url]).1;
    assert!(shown.contains("401") && shown.contains("token"), "{shown}");
    post(&url, "/v1/records", &lines);
    for daemon in [&first, &second, &third] {
        let round = daemon.wait_for(|line| line["event"] == "round" && line["round"] == 60);
        assert_eq!(round["heard"], 2);
    }
    let owner = ["--node", &url, "--token-file", "token"];
    let status = shell.expect(0, &[&["status"], &owner[..]].concat()).0;
    assert!(
        status.contains("learner 2 of 3") && status.contains("neighbour 0: present"),
        "{status}"
    );
    shell.expect(0, &[&["budget"], &owner[..]].concat());
    shell.expect(0, &[&["export"], &owner[..], &["--out", "model"]].concat());
    let model = fs::read(shell.path().join("model")).unwrap();
    assert!(model.len() > 24);
    let model = String::from_utf8_lossy(&model).into_owned();
    assert!(model.contains("safe to publish\""), "records of its own, dealt by nobody");

    // A second learner on one store would release twice.
    let mut twin = start(&shell, 1, &free_ports(3), &followed);
    assert_eq!(twin.child.wait().unwrap().code(), Some(2));
    assert!(twin.error().contains("in use by another process"));

    second.terminate();
    let ended = second.wait_for(|line| line["event"] == "ended");
    assert_eq!(ended["how"], "stopped");
    drop(second);
    let offline = ["--store", "1.redb", "agreement.toml"];
    let status = shell.expect(0, &[&["status"], &offline[..], &["--json"]].concat()).0;
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let taken = |status: &serde_json::Value| {
        status["records"].as_u64().unwrap() + status["waiting_records"].as_u64().unwrap()
    };
    assert_eq!(taken(&status), 400);
    let agrees = shell.expect(0, &[&["verify"], &offline[..]].concat()).0;
    assert!(agrees.contains("receipts agree"), "{agrees}");
    let grown = fs::OpenOptions::new().append(true).open(shell.path().join("followed.ndjson"));
    grown.unwrap().write_all((400..500).map(record).collect::<String>().as_bytes()).unwrap();
    let again = start(&shell, 1, &ports, &followed);
    let before = ended["round"].as_u64().unwrap();
    again.wait_for(|line| line["event"] == "round" && line["round"].as_u64() >= Some(before + 5));
    again.terminate();
    again.wait_for(|line| line["event"] == "ended");
    drop(again);
    let status = shell.expect(0, &[&["status"], &offline[..], &["--json"]].concat()).0;
    assert_eq!(taken(&serde_json::from_str(&status).unwrap()), 500, "each record once");
}

fn post(url: &str, path: &str, body: &str) {
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let mut socket = std::net::TcpStream::connect(host).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/x-ndjson\r\n\
         Authorization: Bearer a-token-of-many-letters\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).unwrap();
    socket.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn bad_certificates_tokens_and_sources_are_named() {
    let shell = Shell::new();
    fs::write(shell.path().join("agreement.toml"), TRIANGLE).unwrap();
    fs::write(shell.path().join("experiment.toml"), format!("rounds = 5\n{TRIANGLE}")).unwrap();
    let node =
        ["node", "experiment.toml", "--learner", "0", "--store", "x", "--listen", "127.0.0.1:1"];
    let experiment = shell.expect(2, &node).1;
    assert!(experiment.contains("rounds: is part of an experiment"), "{experiment}");
    let ports = free_ports(3);
    let refused = |more: &[&str]| -> String {
        let arguments = arguments(0, &ports, more);
        let mut all = vec!["node"];
        all.extend(arguments.iter().map(String::as_str));
        shell.expect(2, &all).1
    };
    assert!(refused(&["--stdin", "--new"]).contains("net"), "there are no certificates");
    shell.expect(0, &["cert", "new-network", "net"]);
    assert!(refused(&["--stdin", "--new"]).contains("learner-0.key"));
    let store = shell.path().join("0.redb");
    assert!(!store.exists(), "no store is made for a learner that cannot run");
    shell.expect(0, &["cert", "add", "net", "--learner", "0", "--host", "localhost"]);
    assert!(refused(&[]).contains("no records could arrive"));
    assert!(refused(&["--follow", "missing"]).contains("missing"));
    assert!(refused(&["--records", "missing.csv"]).contains("missing.csv"));
    assert!(refused(&["--stdin", "--rate", "3"]).contains("--rate"));
    for count in ["0", "3"] {
        assert!(refused(&["--stdin", "--heard-least", count]).contains("has 2 neighbours"));
    }
    assert!(refused(&["--http", "0.0.0.0:0", "--new"]).contains("--token-file"));
    let store = shell.path().join("0.redb");
    assert!(!store.exists(), "no store is made for a learner that cannot run");
    fs::write(shell.path().join("token"), "short").unwrap();
    let token = ["--http", "127.0.0.1:0", "--token-file", "token"];
    assert!(refused(&token).contains("at least 16"));
    let again = shell.expect(2, &["cert", "new-network", "net"]).1;
    assert!(again.contains("authority"), "{again}");
    shell.expect(2, &["cert", "add", "net", "--learner", "0", "--host", "localhost"]);
    shell.expect(2, &["cert", "add", "nowhere", "--learner", "0", "--host", "localhost"]);
    let made = ["cert", "router", "net", "agreement.toml", "--host", "hub.example"];
    shell.expect(0, &made);
    let settings = fs::read_to_string(shell.path().join("net/router.json5")).unwrap();
    assert!(settings.contains("\"router.key\"") && settings.contains("\"deny\""), "{settings}");
    shell.expect(2, &["status", "--node", "http://127.0.0.1:9"]);
    shell.expect(2, &["status", "--store", "agreement.toml", "agreement.toml"]);
}
