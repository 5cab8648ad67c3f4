//! Who is refused: a peer with no certificate, an expired one, one of another network, or another's name.

use crate::sockets::{certified, identity, ports};
use crate::support::plan;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, SystemTime};
use undertone::LearnerId;
use undertone_node::certificates::{self, CertificateError, Holder, Validity};
use undertone_node::link::{
    Addresses, Certificates, Identity, Incoming, Link, Security, router_settings,
};
use undertone_node::wire::Wire;
use zenoh::Wait as _;

/// Learner 0 of a ring of five, with its neighbours 1 and 4, and what it hears.
struct Victim {
    _link: Link,
    /// What is between it and the others.
    router: Option<zenoh::Session>,
    identity: Identity,
    address: String,
    heard: Receiver<LearnerId>,
}

impl Victim {
    fn new(folder: &Path) -> Victim {
        let address = format!("127.0.0.1:{}", ports(1)[0]);
        let listen = vec![address.clone()];
        Victim::at(
            folder,
            address,
            Addresses { listen, connect: Vec::new(), through_router: false },
            None,
        )
    }

    fn behind_router(folder: &Path) -> Victim {
        let address = format!("127.0.0.1:{}", ports(1)[0]);
        let plan = plan(5, "algorithm1", "");
        let files = certificates::files(folder, Holder::Router);
        let wire = Wire::new(Arc::clone(&plan));
        let settings = router_settings(&wire, &plan.config.graph, &address, &files).unwrap();
        let config = zenoh::Config::from_json5(&settings.to_string()).unwrap();
        let router = zenoh::open(config).wait().unwrap();
        let connect = vec![address.clone()];
        let addresses = Addresses { listen: Vec::new(), connect, through_router: true };
        Victim::at(folder, address, addresses, Some(router))
    }

    fn at(
        folder: &Path,
        address: String,
        addresses: Addresses,
        router: Option<zenoh::Session>,
    ) -> Victim {
        let identity = identity(&plan(5, "algorithm1", ""), 0);
        let files = certificates::files(folder, Holder::Learner(LearnerId(0)));
        let (sender, heard) = channel();
        let sender = std::sync::Mutex::new(sender);
        let deliver = Arc::new(move |incoming| {
            let from = match incoming {
                Incoming::Heard { from, .. } | Incoming::Left(from) => from,
                Incoming::Asked { by, .. } => by,
            };
            let _ = sender.lock().unwrap().send(from);
        });
        let link = Link::open(&identity, &addresses, &Security::MutualTls(files), deliver).unwrap();
        Victim { _link: link, router, identity, address, heard }
    }

    fn mode(&self) -> &'static str {
        if self.router.is_some() { "client" } else { "peer" }
    }

    /// Whether anything said on a learner's keys is heard, by one who shows these certificates.
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
        let session = zenoh::open(settings(self.mode(), &self.address, &tls)).wait();
        // Some are refused at the door, and some when they speak.
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

fn settings(mode: &str, address: &str, tls: &Value) -> zenoh::Config {
    let mut config = zenoh::Config::default();
    let settings = [
        ("mode", json!(mode)),
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

#[test]
fn only_neighbours_with_a_valid_certificate_are_heard_and_only_as_themselves() {
    let folder = certified();
    let victim = Victim::new(folder.path());
    let own = learner(folder.path(), 1);
    // The control: without it the others might be silent for another reason.
    assert!(victim.hears(&own, true, 1), "a neighbour is heard");
    assert!(!victim.hears(&own, true, 4), "a neighbour is not heard as another");
    assert!(!victim.hears(&own, false, 1), "nobody is heard without a certificate");
    let stranger = learner(folder.path(), 2);
    assert!(!victim.hears(&stranger, true, 1), "who is no neighbour is not heard as one");
    assert!(!victim.hears(&stranger, true, 2), "nor as itself");

    // The same name, from another authority; whom the peer trusts is its own affair.
    let other = certified();
    let mut foreign = learner(other.path(), 1);
    foreign.authority = folder.path().join("authority.pem");
    assert!(!victim.hears(&foreign, true, 1), "nobody of another network is heard");

    let expired = tempfile::tempdir().unwrap();
    for file in ["authority.pem", "authority.key"] {
        std::fs::copy(folder.path().join(file), expired.path().join(file)).unwrap();
    }
    let ten_days_ago = SystemTime::now() - Duration::from_secs(10 * 24 * 3600);
    let past = Validity { from: ten_days_ago, days: 9 };
    let hosts = ["127.0.0.1".to_string()];
    let holder = Holder::Learner(LearnerId(1));
    let files = certificates::add(expired.path(), holder, &hosts, past).unwrap();
    assert!(!victim.hears(&files, true, 1), "an expired certificate is none");
    assert!(victim.hears(&own, true, 1), "and the neighbour is heard still");
}

#[test]
fn a_router_lets_learners_speak_for_themselves_alone() {
    let folder = certified();
    let victim = Victim::behind_router(folder.path());
    let (neighbour, stranger) = (learner(folder.path(), 1), learner(folder.path(), 2));
    assert!(victim.hears(&neighbour, true, 1), "a neighbour is heard");
    assert!(!victim.hears(&neighbour, true, 4), "and not as another");
    assert!(!victim.hears(&stranger, true, 1) && !victim.hears(&stranger, true, 2));
    assert!(!victim.hears(&neighbour, false, 1), "nobody is heard without a certificate");
    assert!(victim.hears(&neighbour, true, 1), "the neighbour is heard still");
}

#[test]
fn certificates_are_made_once_and_keys_are_for_their_owner() {
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
