//! Peers that are refused: without a certificate, or with one that is expired, of another network or of another name.

use crate::peer::{
    PATIENCE, PING, Victim, accept_tls, connect_tls, hello, is_heard, is_over, sender_of,
    wait_until_over,
};
use crate::sockets::{certified, identity, ports};
use crate::support::setup;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, SystemTime};
use undertone::LearnerId;
use undertone_node::certificates::{self, CertificateError, Holder, Validity};
use undertone_node::link::{Addresses, Certificates, Identity, Link, Security, router_settings};
use undertone_node::wire::Wire;
use zenoh::Wait as _;

/// Learner 0 of a ring of five behind a router, and the senders of what it receives.
struct BehindRouter {
    _link: Link,
    _router: zenoh::Session,
    identity: Identity,
    address: String,
    heard: Receiver<LearnerId>,
}

impl BehindRouter {
    fn new(folder: &Path) -> BehindRouter {
        let address = format!("127.0.0.1:{}", ports(1)[0]);
        let setup = setup(5, "algorithm1", "");
        let files = certificates::files(folder, Holder::Router);
        let wire = Wire::new(Arc::clone(&setup));
        let settings = router_settings(&wire, &setup.agreement.graph, &address, &files).unwrap();
        let config = zenoh::Config::from_json5(&settings.to_string()).unwrap();
        let router = zenoh::open(config).wait().unwrap();
        let identity = identity(&setup, 0);
        let (sender, heard) = channel();
        let sender = std::sync::Mutex::new(sender);
        let deliver = Arc::new(move |incoming| {
            let _ = sender.lock().unwrap().send(sender_of(&incoming));
        });
        let security = Security::MutualTls(learner(folder, 0));
        let addresses = Addresses::Router(address.clone());
        let link = Link::open(&identity, &addresses, &security, deliver).unwrap();
        BehindRouter { _link: link, _router: router, identity, address, heard }
    }

    /// Whether anything that the holder of these certificates publishes on a learner's keys is received.
    fn hears(&self, files: &Certificates, with_own: bool, claimed: u32) -> bool {
        let mut tls = json!({
            "root_ca_certificate": files.authority,
            "enable_mtls": true,
            "verify_name_on_connect": true,
        });
        if with_own {
            tls["connect_private_key"] = json!(files.key);
            tls["connect_certificate"] = json!(files.certificate);
        }
        let session = zenoh::open(settings(&self.address, &tls)).wait();
        // Some peers are refused when they connect, and some when they publish.
        let Ok(session) = session else { return false };
        let network = self.identity.network;
        let mut heard = false;
        for _ in 0..30 {
            for key in [format!("release/{claimed}"), format!("farewell/{claimed}")] {
                let key = format!("undertone/{network}/{key}");
                let _ = session.put(key, b"anything".as_slice()).wait();
            }
            let ask = format!("undertone/{network}/ask/0/{claimed}");
            let _ = session.get(ask).payload(7_u64.to_le_bytes()).wait();
            match self.heard.recv_timeout(Duration::from_millis(100)) {
                Ok(from) => heard |= from == LearnerId(claimed),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("the link is open"),
            }
            if heard {
                break;
            }
        }
        session.close().wait().unwrap();
        while self.heard.recv_timeout(Duration::from_millis(100)).is_ok() {}
        heard
    }
}

fn settings(address: &str, tls: &Value) -> zenoh::Config {
    let mut config = zenoh::Config::default();
    let settings = [
        ("mode", json!("client")),
        ("scouting/multicast/enabled", json!(false)),
        ("listen/endpoints", json!([])),
        ("connect/endpoints", json!([format!("quic/{address}")])),
        ("connect/timeout_ms", json!(2000)),
        ("connect/exit_on_failure", json!(true)),
        ("transport/link/tls", tls.clone()),
    ];
    for (key, value) in settings {
        config.insert_json5(key, &value.to_string()).unwrap();
    }
    config
}

fn learner(folder: &Path, id: u32) -> Certificates {
    certificates::files(folder, Holder::Learner(LearnerId(id)))
}

/// A certificate of the same authority that expired a day ago.
fn expired(folder: &Path, id: u32) -> (tempfile::TempDir, Certificates) {
    let ten_days_ago = SystemTime::now() - Duration::from_secs(10 * 24 * 3600);
    short_lived(folder, id, Validity { from: ten_days_ago, days: 9 })
}

fn short_lived(folder: &Path, id: u32, validity: Validity) -> (tempfile::TempDir, Certificates) {
    let other = tempfile::tempdir().unwrap();
    for file in ["authority.pem", "authority.key"] {
        std::fs::copy(folder.join(file), other.path().join(file)).unwrap();
    }
    let holder = Holder::Learner(LearnerId(id));
    let hosts = ["127.0.0.1".to_string()];
    let files = certificates::add(other.path(), holder, &hosts, validity).unwrap();
    (other, files)
}

/// The same name from another authority, with the network's own as the trusted root.
fn foreign(folder: &Path, other: &Path, id: u32) -> Certificates {
    Certificates { authority: folder.join("authority.pem"), ..learner(other, id) }
}

#[test]
fn only_neighbours_with_a_valid_certificate_are_heard_and_only_as_themselves() {
    let folder = certified();
    let victim = Victim::listening(Some(folder.path()));
    let hears = |files: &Certificates, with_own: bool, claimed: u32| {
        is_heard(&victim, &mut *connect_tls(&victim.address, files, with_own), claimed)
    };
    let own = learner(folder.path(), 1);
    // The control: without it the others might be refused for another reason.
    assert!(hears(&own, true, 1), "a neighbour is heard");
    assert!(!hears(&own, true, 4), "a neighbour is not heard as another");
    assert!(!hears(&own, false, 1), "nobody is heard without a certificate");
    let other = learner(folder.path(), 2);
    assert!(!hears(&other, true, 1), "a learner that is no neighbour is not heard as one");
    assert!(!hears(&other, true, 2), "nor as itself");
    let router = certificates::files(folder.path(), Holder::Router);
    assert!(!hears(&router, true, 1), "a router is not a neighbour");

    let other = certified();
    let foreign = foreign(folder.path(), other.path(), 1);
    assert!(!hears(&foreign, true, 1), "another network's certificate is refused");
    let (_folder, expired) = expired(folder.path(), 1);
    assert!(!hears(&expired, true, 1), "an expired certificate is refused");
    assert!(hears(&own, true, 1), "the neighbour is still heard");
}

#[test]
fn only_the_expected_neighbour_may_answer() {
    let folder = certified();
    let other = certified();
    let (_folder, expired) = expired(folder.path(), 1);
    let elsewhere = {
        // The right name and network, but another host.
        let other = tempfile::tempdir().unwrap();
        for file in ["authority.pem", "authority.key"] {
            std::fs::copy(folder.path().join(file), other.path().join(file)).unwrap();
        }
        let hosts = ["elsewhere.example".to_string()];
        let holder = Holder::Learner(LearnerId(1));
        certificates::add(other.path(), holder, &hosts, Validity::days(1)).unwrap();
        other
    };
    let answers = [
        (learner(folder.path(), 1), 1, true, "the expected neighbour"),
        (learner(folder.path(), 4), 4, false, "another neighbour"),
        (learner(folder.path(), 4), 1, false, "another neighbour under a false name"),
        (learner(folder.path(), 2), 1, false, "a learner that is no neighbour"),
        (learner(other.path(), 1), 1, false, "a learner of another network"),
        (learner(elsewhere.path(), 1), 1, false, "a learner with a certificate for another host"),
        (expired, 1, false, "a learner whose certificate has expired"),
    ];
    for (files, claimed, heard, peer) in answers {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let victim = Victim::connecting(Some(folder.path()), &address);
        let mut stream = accept_tls(&listener, &files);
        assert_eq!(is_heard(&victim, &mut *stream, claimed), heard, "{peer}");
    }
}

#[test]
fn a_refused_peer_gets_the_hello_of_the_learner_that_refuses_it() {
    let folder = certified();
    let victim = Victim::listening(Some(folder.path()));
    let mut refused = connect_tls(&victim.address, &learner(folder.path(), 2), true);
    refused.socket().set_read_timeout(Some(PATIENCE)).unwrap();
    refused.write_all(&hello(&victim.identity, 2)).unwrap();
    let expected = hello(&victim.identity, 0);
    let mut received = vec![0; expected.len()];
    refused.read_exact(&mut received).expect("a hello");
    assert_eq!(received, expected);
    wait_until_over(&mut *refused);
}

#[test]
fn a_peer_that_breaks_tls_gets_an_alert() {
    let folder = certified();
    let victim = Victim::listening(Some(folder.path()));
    let mut neighbour = connect_tls(&victim.address, &learner(folder.path(), 1), true);
    assert!(is_heard(&victim, &mut *neighbour, 1));
    // A record that was never encrypted.
    let mut record = vec![23, 3, 3, 0, 32];
    record.extend_from_slice(&[7; 32]);
    neighbour.socket().write_all(&record).unwrap();
    neighbour.socket().set_read_timeout(Some(PATIENCE)).unwrap();
    let error = loop {
        match neighbour.read(&mut [0; 4096]) {
            Ok(0) => panic!("closed without an alert"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("alert"), "{error}");
}

#[test]
fn a_connection_is_closed_when_its_certificate_expires() {
    let folder = certified();
    let victim = Victim::listening(Some(folder.path()));
    // It expires a few seconds from now.
    let a_day = Duration::from_secs(24 * 3600);
    let end = SystemTime::now() + Duration::from_secs(6);
    let (_folder, files) = short_lived(folder.path(), 1, Validity { from: end - a_day, days: 1 });
    let mut stream = connect_tls(&victim.address, &files, true);
    assert!(is_heard(&victim, &mut *stream, 1), "it is valid now");
    // Pings, so that the connection does not time out.
    while !is_over(&mut *stream) {
        let _ = stream.write_all(&PING).and_then(|()| stream.flush());
    }
    // Certificates have whole seconds.
    assert!(SystemTime::now() >= end - Duration::from_secs(1), "not too early");
    let mut stream = connect_tls(&victim.address, &files, true);
    assert!(!is_heard(&victim, &mut *stream, 1), "nor is a new connection accepted");
}

#[test]
fn a_learner_does_not_start_with_the_wrong_certificate() {
    let folder = certified();
    let other = certified();
    let (_folder, expired) = expired(folder.path(), 0);
    let own = learner(folder.path(), 0);
    let foreign_key = Certificates { key: learner(other.path(), 0).key, ..own.clone() };
    let renewed = Certificates { authority: learner(other.path(), 0).authority, ..own.clone() };
    let tomorrow = SystemTime::now() + Duration::from_secs(24 * 3600);
    let (_early, too_early) = short_lived(folder.path(), 0, Validity { from: tomorrow, days: 3 });
    let missing = Certificates { key: folder.path().join("none.key"), ..own.clone() };
    let identity = identity(&setup(5, "algorithm1", ""), 0);
    let open = |files: Certificates| {
        let listen = "127.0.0.1:0".to_string();
        let addresses = Addresses::Direct { listen, connect: Vec::new() };
        Link::open(&identity, &addresses, &Security::MutualTls(files), Arc::new(|_| ())).map(drop)
    };
    open(own).unwrap();
    for (files, says) in [
        (learner(folder.path(), 1), "learner-1"),
        (expired, "expired"),
        (renewed, "not a certificate of"),
        (too_early, "not valid yet"),
        (foreign_key, "learner-0.pem"),
        (missing, "none.key"),
    ] {
        let error = open(files).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_router_lets_learners_publish_under_their_own_number_only() {
    let folder = certified();
    let victim = BehindRouter::new(folder.path());
    let (neighbour, other) = (learner(folder.path(), 1), learner(folder.path(), 2));
    assert!(victim.hears(&neighbour, true, 1), "a neighbour is heard");
    assert!(!victim.hears(&neighbour, true, 4), "and not as another");
    assert!(!victim.hears(&other, true, 1) && !victim.hears(&other, true, 2));
    assert!(!victim.hears(&neighbour, false, 1), "nobody is heard without a certificate");
    assert!(victim.hears(&neighbour, true, 1), "the neighbour is still heard");
}

#[test]
fn certificates_are_never_overwritten_and_keys_are_private() {
    let folder = certified();
    let again = certificates::new_network(folder.path(), Validity::days(1));
    assert!(matches!(again, Err(CertificateError::File { .. })), "an authority is not replaced");
    let holder = Holder::Learner(LearnerId(0));
    let hosts = ["localhost".to_string()];
    let again = certificates::add(folder.path(), holder, &hosts, Validity::days(1));
    assert!(matches!(again, Err(CertificateError::File { .. })), "nor a certificate");
    let holder = Holder::Learner(LearnerId(7));
    for bad in ["", "a b", "höst", "x/y", "*.example.org"] {
        let made = certificates::add(folder.path(), holder, &[bad.into()], Validity::days(1));
        assert!(matches!(made, Err(CertificateError::Host { .. })), "{bad:?}");
    }
    let for_ever = certificates::add(folder.path(), holder, &hosts, Validity::days(u32::MAX));
    assert!(matches!(for_ever, Err(CertificateError::Validity)));
    #[cfg(unix)]
    for file in ["authority.key", "learner-0.key", "router.key"] {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(folder.path().join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    std::fs::write(folder.path().join("authority.key"), "no key").unwrap();
    let made = certificates::add(folder.path(), holder, &hosts, Validity::days(1));
    assert!(matches!(made, Err(CertificateError::Authority { .. })));
}
