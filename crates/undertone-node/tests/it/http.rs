//! The owner's HTTP API: what it answers, to whom, and what it refuses.

use crate::sockets::{direct, identity, ports};
use crate::support::{record, setup};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use undertone::noise::OsEntropy;
use undertone::{LearnerId, Round};
use undertone_node::StartError;
use undertone_node::daemon::{self, DaemonSettings, Ended, Handle, HttpSettings};
use undertone_node::http::{BODY_MAX, Server, Token};
use undertone_node::intake::Intake;
use undertone_node::link::{Addresses, Link, Security};
use undertone_node::mailbox::mailbox;
use undertone_node::store::{DiskStore, StoreFile};
use undertone_node::wire::Wire;
use undertone_simulation::Dice;

const TOKEN: &str = "a-token-of-many-letters";

/// A learner whose neighbours never connect, and its server.
struct Daemon {
    address: SocketAddr,
    /// Where its neighbours should listen.
    ports: Vec<u16>,
    handle: Handle,
    thread: Option<JoinHandle<Stopped>>,
    token: Option<&'static str>,
}

type Stopped = Ended<OsEntropy, DiskStore>;

impl Daemon {
    fn start(token: Option<&'static str>, waiting_max: usize) -> Daemon {
        let setup = setup(5, "algorithm1", "");
        let ports = ports(5);
        let http = HttpSettings {
            address: "127.0.0.1:0".parse().unwrap(),
            token: token.map(|token| Token::new(token).unwrap()),
        };
        let settings = DaemonSettings {
            http: Some(http),
            rounds: Some(10),
            deadline: Duration::from_secs(5),
            waiting_max,
            linger: Duration::ZERO,
            ..DaemonSettings::new(LearnerId(0), direct(&setup, 0, (&ports, &ports)))
        };
        let folder = tempfile::tempdir().unwrap();
        let store = StoreFile::New(folder.path().join("store"));
        let daemon = daemon::Daemon::open(&setup, settings, &store, OsEntropy).unwrap();
        let (address, handle) = (daemon.http_address().unwrap(), daemon.handle());
        let thread = thread::spawn(move || {
            let _folder = folder;
            daemon.run(|_| ()).unwrap()
        });
        Daemon { address, ports, handle, thread: Some(thread), token }
    }

    /// Sends raw bytes, and reads until the connection is closed.
    fn raw(&self, bytes: &[u8]) -> (u16, String) {
        let mut socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let _ = socket.write_all(bytes);
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_string();
        (status, body)
    }

    fn request(&self, first: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut text = format!("{first} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            text += "Host: localhost\r\n";
        }
        if let Some(token) = self.token {
            text += &format!("Authorization: Bearer {token}\r\n");
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.raw(text.as_bytes())
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.request(&format!("GET {path}"), &[], "")
    }

    fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    fn post(&self, path: &str, kind: &str, body: &str) -> (u16, Value) {
        let (status, body) = self.request(&format!("POST {path}"), &[("Content-Type", kind)], body);
        (status, serde_json::from_str(&body).unwrap_or_default())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.handle.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn line(dice: &mut Dice) -> String {
    let record = record(dice);
    let values: Vec<f64> = record.features().entries().map(|(_, value)| value).collect();
    json!({ "features": values, "label": record.label() }).to_string()
}

const JSON: &str = "application/json";
const LINES: &str = "application/x-ndjson";

#[test]
fn records_are_accepted_singly_in_arrays_and_in_lines_and_each_fault_is_named() {
    let daemon = Daemon::start(None, 1000);
    let mut dice = Dice::new(1);
    let mut some = |count: usize| -> Vec<String> { (0..count).map(|_| line(&mut dice)).collect() };
    assert_eq!(daemon.post("/v1/records", JSON, &some(1)[0]).1["accepted"], 1);
    let array = format!("[{}]", some(3).join(", "));
    assert_eq!(daemon.post("/v1/records", JSON, &array).1["accepted"], 3);
    let lines = some(4).join("\n") + "\n\n";
    assert_eq!(daemon.post("/v1/records", LINES, &lines).1["accepted"], 4);
    // The learner learns from warm-up and first batch at once, releases, and waits for neighbours.
    let status = daemon.json("/v1/status");
    let count = |key: &str| status[key].as_u64().unwrap();
    assert_eq!(count("records") + count("waiting_records"), 8);
    assert_eq!(status["state"], "waiting");

    let sparse = json!({ "features": { "indices": [1, 4], "values": [0.5, -0.1] }, "label": 1 });
    assert_eq!(daemon.post("/v1/records", JSON, &sparse.to_string()).0, 200);
    let bad = [
        ("{\"features\": [0.1, 0.2], \"label\": 0}", "2 features: the model takes 5"),
        ("{\"features\": [0.1, 0, 0, 0, 0], \"label\": 2}", "must be one of the classes 0 to 1"),
        ("{\"features\": [0.1, 0, 0, 0, 0], \"label\": \"secret\"}", "classes 0 to 1"),
        ("{\"features\": [7.25, 0, 0, 0, 0], \"label\": 0}", "feature norm is above the bound 1"),
        ("{\"features\": [\"secret\"], \"label\": 0}", "must be an object"),
        ("{\"features\": [0, 0, 0, 0, 0], \"label\": 0, \"secret\": 7.25}", "nothing else"),
        ("{\"features\": {\"indices\": [4, 1], \"values\": [1, 1]}, \"label\": 0}", "increase"),
        ("{\"features\": {\"indices\": [5], \"values\": [1]}, \"label\": 0}", "below 5"),
        ("{\"features\": [1e999, 0, 0, 0, 0], \"label\": 0}", "not JSON from character"),
        ("{\"features\": [0.1, 0, 0, 0, 0]}", "\"label\""),
        ("nothing", "not JSON"),
        ("7.25", "must be an object"),
    ];
    for (text, reason) in bad {
        let body = format!("{}\n{text}\n", some(1)[0]);
        let (status, said) = daemon.post("/v1/records", LINES, &body);
        let error = said["error"].as_str().unwrap().to_string();
        assert_eq!((status, &said["line"]), (400, &json!(2)), "{error}");
        assert!(error.contains(reason), "{error}");
        assert!(!error.contains("secret") && !error.contains("7.25"), "no values: {error}");
    }
    assert_eq!(daemon.post("/v1/records", JSON, "[1, 2").0, 400);
    let status = daemon.json("/v1/status");
    let count = |key: &str| status[key].as_u64().unwrap();
    assert_eq!(
        count("records") + count("waiting_records"),
        9,
        "no record of a bad body was accepted"
    );
}

#[test]
fn a_full_learner_refuses_records_and_accepts_none() {
    // Five for the first round, and five more.
    let daemon = Daemon::start(None, 5);
    let mut dice = Dice::new(2);
    let lines: Vec<String> = (0..11).map(|_| line(&mut dice)).collect();
    let (status, said) = daemon.post("/v1/records", LINES, &lines.join("\n"));
    assert_eq!(status, 413, "more than ever fit");
    assert!(said["error"].as_str().unwrap().contains("in parts"));
    assert_eq!(daemon.post("/v1/records", LINES, &lines[..3].join("\n")).0, 200);
    let (status, said) = daemon.post("/v1/records", LINES, &lines[..10].join("\n"));
    assert_eq!(status, 503);
    assert!(said["error"].as_str().unwrap().contains("try again later"));
    assert_eq!(daemon.json("/v1/status")["waiting_records"], 3, "none was accepted");
}

#[test]
fn predictions_the_budget_the_model_and_the_metrics_are_served() {
    let daemon = Daemon::start(None, 1000);
    let mut dice = Dice::new(3);
    let lines: Vec<String> = (0..20).map(|_| line(&mut dice)).collect();
    assert_eq!(daemon.post("/v1/records", LINES, &lines.join("\n")).0, 200);
    let (status, said) = daemon.post("/v1/predict", JSON, "[{\"features\": [0.1, 0, 0, 0, 0.2]}]");
    assert_eq!(status, 200, "{said}");
    let one = &said["predictions"][0];
    let sum: f64 = one["probabilities"].as_array().unwrap().iter().filter_map(Value::as_f64).sum();
    assert!((sum - 1.0).abs() < 1e-12 && one["label"].as_u64().is_some_and(|label| label < 2));
    assert_eq!(daemon.post("/v1/predict", JSON, "{\"features\": [1]}").0, 400);

    let budget = daemon.json("/v1/budget");
    assert_eq!(
        (&budget["releases"], budget["ledger"].as_array().map(Vec::len)),
        (&json!(1), Some(1))
    );
    assert!(budget["epsilon"].as_f64().unwrap() >= 0.0);

    let (status, metrics) = daemon.get("/metrics");
    assert_eq!(status, 200);
    for name in ["epsilon_spent", "round", "records_total", "neighbour_present{learner=\"4\"}"] {
        assert!(metrics.contains(&format!("\nundertone_{name} ")), "{name}: {metrics}");
    }
    let (status, model) = daemon.get("/v1/model/public");
    assert!(status == 200 && model.contains("\"theta\"") && model.contains("safe to publish"));
    assert_eq!(daemon.get("/healthz"), (200, "ok\n".into()));
    assert_eq!(daemon.get("/v2").0, 404);
    let (status, said) = daemon.request("DELETE /v1/records", &[], "");
    assert!(status == 405 && said.contains("method not allowed"));
}

#[test]
fn the_dashboard_has_words_for_every_reason_that_the_status_counts() {
    let daemon = Daemon::start(None, 1000);
    let (_, page) = daemon.get("/");
    let has_words = |reason: &str| {
        page.contains(&format!(" {reason}: \"")) || page.contains(&format!("\"{reason}\": \""))
    };
    let status = daemon.json("/v1/status");
    let reasons: Vec<&String> = status["dropped"].as_object().unwrap().keys().collect();
    assert!(reasons.iter().any(|reason| *reason == "unknown-sender"), "{reasons:?}");
    for reason in reasons {
        assert!(has_words(reason), "{reason}");
    }
    // Control: a word that is no reason.
    assert!(!has_words("strangers"));
}

/// A neighbour claims a round far ahead.
#[test]
fn a_neighbour_that_is_not_followed_shows_in_status_and_metrics() {
    let daemon = Daemon::start(None, 1000);
    let setup = setup(5, "algorithm1", "");
    let mut liar = setup.learner(LearnerId(1)).unwrap();
    liar.skip_to(Round(Round::LIMIT.0 - 1));
    let release = liar.release(&mut OsEntropy).unwrap();
    let release = Wire::new(Arc::clone(&setup)).encode(&release, &[]);
    let listen = format!("127.0.0.1:{}", daemon.ports[1]);
    let addresses = Addresses::Direct { listen, connect: Vec::new() };
    let deliver = Arc::new(|_| ());
    let link = Link::open(&identity(&setup, 1), &addresses, &Security::Loopback, deliver).unwrap();
    let begin = Instant::now();
    let status = loop {
        // Until the learner has connected, nobody hears it.
        link.publish(&release);
        let status = daemon.json("/v1/status");
        if status["dropped"]["too-far-ahead"].as_u64().is_some_and(|count| count > 0) {
            break status;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{status}");
        thread::sleep(Duration::from_millis(20));
    };
    link.close();
    assert_eq!((&status["round"], &status["state"]), (&json!(0), &json!("gathering")));
    let (_, metrics) = daemon.get("/metrics");
    let line = "\nundertone_dropped_total{reason=\"too-far-ahead\"} ";
    assert!(metrics.contains(line), "{metrics}");
}

#[test]
fn every_path_of_the_api_description_exists() {
    let daemon = Daemon::start(None, 1000);
    let document = daemon.json("/v1/openapi.json");
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() >= 9);
    for (path, methods) in paths {
        for method in methods.as_object().unwrap().keys() {
            let (status, _) = daemon.request(&format!("{} {path}", method.to_uppercase()), &[], "");
            assert!(![404, 405].contains(&status), "{method} {path}: {status}");
        }
    }
}

#[test]
fn every_private_path_requires_the_token() {
    let mut daemon = Daemon::start(Some(TOKEN), 1000);
    assert_eq!(daemon.get("/v1/status").0, 200);
    for wrong in [None, Some("a-token-of-many-letterS"), Some("a-token"), Some("")] {
        daemon.token = wrong;
        for path in ["/v1/status", "/v1/budget", "/v1/model/public", "/metrics"] {
            assert_eq!(daemon.get(path).0, 401, "{path} with {wrong:?}");
        }
        for path in ["/v1/records", "/v1/predict"] {
            assert_eq!(daemon.post(path, JSON, "{}").0, 401, "{path}");
        }
        // These show nothing private.
        assert_eq!(daemon.get("/healthz").0, 200);
        assert_eq!(daemon.get("/").0, 200);
    }
    let address: SocketAddr = "0.0.0.0:0".parse().unwrap();
    let intake = Intake::new(setup(5, "algorithm1", ""));
    let (learner, _events) = mailbox(1);
    let open = Server::start(address, None, intake, learner);
    assert!(matches!(open, Err(StartError::TokenMissing { .. })));
    assert!(Token::new("short").is_err() && Token::new("with spaces in the middle").is_err());
    assert!(Token::new("of-two-lines-and-long-enough\nyes").is_err());
}

#[test]
fn requests_from_other_sites_are_refused() {
    let daemon = Daemon::start(None, 1000);
    let with = |headers: &[(&str, &str)]| daemon.request("GET /v1/status", headers, "").0;
    let own = format!("http://{}", daemon.address);
    let host = own.trim_start_matches("http://");
    assert_eq!(with(&[("Host", host), ("Origin", &own), ("Sec-Fetch-Site", "same-origin")]), 200);
    assert_eq!(with(&[("Host", "[::1]:80")]), 200);
    assert_eq!(with(&[("Host", "evil.example")]), 403, "DNS rebinding");
    assert_eq!(with(&[("Host", "localhost.evil.example")]), 403);
    assert_eq!(with(&[("Host", "")]), 400);
    assert_eq!(with(&[("Host", host), ("Origin", "http://evil.example")]), 403);
    assert_eq!(with(&[("Host", host), ("Origin", "null")]), 403);
    assert_eq!(with(&[("Host", host), ("Sec-Fetch-Site", "cross-site")]), 403);
    assert_eq!(with(&[("Host", host), ("Sec-Fetch-Site", "same-site")]), 403);
    // Content types that a form of another site can send are not accepted.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
        assert_eq!(daemon.post("/v1/records", kind, "{}").0, 415, "{kind}");
    }
}

#[test]
fn large_and_broken_requests_are_refused() {
    let daemon = Daemon::start(None, 1000);
    let head = "POST /v1/records HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let too_long = format!("{head}Content-Length: {}\r\n\r\n", BODY_MAX + 1);
    assert_eq!(daemon.raw(too_long.as_bytes()).0, 413);
    let mut binary = format!("{head}Connection: close\r\nContent-Length: 3\r\n\r\n").into_bytes();
    binary.extend([0xff, 0xfe, 0xfd]);
    assert_eq!(daemon.raw(&binary).0, 400);
    assert_eq!(daemon.raw(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").0, 400, "no host");
    assert_eq!(daemon.raw(b"nonsense\r\n\r\n").0, 400);
    // An array nested a hundred thousand times must not crash the process.
    let deep = "[".repeat(100_000);
    assert_eq!(daemon.post("/v1/records", JSON, &deep).0, 400);
    let deep = format!("{{\"features\": {}", "[".repeat(100_000));
    assert_eq!(daemon.post("/v1/records", JSON, &deep).0, 400);
    assert_eq!(daemon.get("/healthz").0, 200);
}

#[test]
fn a_learner_that_stopped_is_not_healthy() {
    let mut daemon = Daemon::start(None, 1000);
    assert_eq!(daemon.get("/healthz").0, 200);
    daemon.handle.stop();
    let _ended = daemon.thread.take().unwrap().join().unwrap();
    assert_eq!(daemon.get("/healthz").0, 503);
    assert_eq!(daemon.get("/v1/status").0, 503);
}
