//! Real nodes on real sockets, in threads of one process.

use crate::support::{Fixed, record, setup};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use undertone::LearnerId;
use undertone_models::Setup;
use undertone_node::certificates::{self, Holder, Validity};
use undertone_node::daemon::{Daemon, DaemonSettings, Ending, RecordSource};
use undertone_node::link::{Addresses, Identity, Link, Peers, Security, router_settings};
use undertone_node::store::StoreFile;
use undertone_node::wire::Wire;
use undertone_simulation::Dice;
use zenoh::Wait as _;

/// Ports that are free now.
pub(crate) fn ports(count: usize) -> Vec<u16> {
    let held: Vec<_> =
        (0..count).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    held.iter().map(|socket| socket.local_addr().unwrap().port()).collect()
}

/// How learners are connected.
#[derive(Clone, Copy)]
pub(crate) enum LinkKind<'a> {
    Plain,
    /// With the certificates in a folder.
    Tls(&'a Path),
    /// With certificates, through a router on the last port.
    Router(&'a Path),
}

pub(crate) fn identity(setup: &Arc<Setup>, id: u32) -> Identity {
    Identity::of(&Wire::new(Arc::clone(setup)), LearnerId(id))
}

/// Where a learner listens and finds its neighbours, given the ports to listen on and to connect to.
pub(crate) fn direct(setup: &Setup, id: u32, (listen, connect): (&[u16], &[u16])) -> Peers {
    let address = |ports: &[u16], id: u32| format!("127.0.0.1:{}", ports[id as usize]);
    let neighbours = setup.agreement.graph.neighbours(LearnerId(id)).iter();
    Peers::Direct {
        listen: address(listen, id),
        neighbours: neighbours.map(|&(one, _)| (one, address(connect, one.0))).collect(),
    }
}

/// Long: on a busy machine no neighbour may miss it.
const DEADLINE: Duration = Duration::from_secs(120);

fn run_learner(
    setup: &Arc<Setup>,
    id: u32,
    ports: (&[u16], &[u16]),
    kind: LinkKind<'_>,
    rounds: u64,
) -> Vec<u64> {
    let own = LearnerId(id);
    let direct = direct(setup, id, ports);
    // On a direct link releases are exchanged when a connection is made, so no request is needed. A router does not
    // report connections.
    let (peers, folder, request_after) = match kind {
        LinkKind::Plain => (direct, None, DEADLINE),
        LinkKind::Tls(folder) => (direct, Some(folder), DEADLINE),
        LinkKind::Router(folder) => {
            let router = ports.1.last().unwrap();
            let peers = Peers::Router(format!("127.0.0.1:{router}"));
            (peers, Some(folder), Duration::from_millis(500))
        }
    };
    let mut dice = Dice::new(u64::from(id));
    let records = (0..3 + 2 * rounds).map(|_| record(&mut dice)).collect();
    let settings = DaemonSettings {
        certificates: folder.map(Path::to_path_buf),
        source: Some(RecordSource::replay("records".into(), records)),
        rounds: Some(rounds),
        deadline: DEADLINE,
        request_after: Some(request_after),
        linger: Duration::from_secs(5),
        ..DaemonSettings::new(own, peers)
    };
    let folder = tempfile::tempdir().unwrap();
    let store = StoreFile::New(folder.path().join("store"));
    let ended = Daemon::open(setup, settings, &store, Fixed).unwrap().run(|_| ()).unwrap();
    assert_eq!(ended.ending, Ending::Finished);
    let theta = ended.node.learner().private_parameters().for_owner();
    theta.iter().map(|x| x.to_bits()).collect()
}

/// The same rounds in a plain loop, without a network.
fn in_a_loop(setup: &Setup, rounds: u64) -> Vec<Vec<u64>> {
    let ids: Vec<LearnerId> = setup.agreement.graph.ids().collect();
    let mut learners: Vec<_> = ids.iter().map(|&id| setup.learner(id).unwrap()).collect();
    let mut dice: Vec<Dice> = ids.iter().map(|id| Dice::new(u64::from(id.0))).collect();
    for t in 0..rounds {
        let count = if t == 0 { 5 } else { 2 };
        let mut releases = Vec::new();
        for (learner, dice) in learners.iter_mut().zip(&mut dice) {
            let batch: Vec<_> = (0..count).map(|_| record(dice)).collect();
            learner.observe(&batch);
            releases.push(learner.release(&mut { Fixed }).unwrap());
        }
        for learner in &mut learners {
            let neighbours = setup.agreement.graph.neighbours(learner.id());
            let heard: Vec<_> = neighbours.iter().map(|(id, _)| &releases[id.0 as usize]).collect();
            learner.absorb(&heard);
        }
    }
    let bits = |theta: &[f64]| theta.iter().map(|x| x.to_bits()).collect();
    learners.iter().map(|learner| bits(learner.private_parameters().for_owner())).collect()
}

/// Runs five learners in threads, and compares with the loop.
fn five_learners(rounds: u64, ports: &[u16], kind: LinkKind<'_>) {
    five_learners_by(rounds, ports, ports, kind);
}

/// The same with other ports to listen on than to connect to.
pub(crate) fn five_learners_by(rounds: u64, listen: &[u16], connect: &[u16], kind: LinkKind<'_>) {
    let setup = setup(5, "algorithm1", "");
    let found = Mutex::new(vec![Vec::new(); 5]);
    thread::scope(|scope| {
        for id in 0..5 {
            let (setup, found) = (&setup, &found);
            scope.spawn(move || {
                let bits = run_learner(setup, id, (listen, connect), kind, rounds);
                found.lock().unwrap()[id as usize] = bits;
            });
        }
    });
    assert_eq!(found.into_inner().unwrap(), in_a_loop(&setup, rounds));
}

/// A folder with certificates for five learners and a router.
pub(crate) fn certified() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    certificates::new_network(folder.path(), Validity::days(30)).unwrap();
    let hosts = ["127.0.0.1".to_string()];
    for id in 0..5 {
        let holder = Holder::Learner(LearnerId(id));
        certificates::add(folder.path(), holder, &hosts, Validity::days(3)).unwrap();
    }
    certificates::add(folder.path(), Holder::Router, &hosts, Validity::days(3)).unwrap();
    folder
}

#[test]
fn five_learners_on_sockets_learn_what_a_loop_learns_bit_for_bit() {
    five_learners(200, &ports(5), LinkKind::Plain);
}

#[test]
fn certificates_do_not_change_the_result() {
    five_learners(100, &ports(5), LinkKind::Tls(certified().path()));
}

#[test]
fn learners_connected_by_a_router_get_the_same_result() {
    let (ports, folder) = (ports(6), certified());
    let setup = setup(5, "algorithm1", "");
    let wire = Wire::new(Arc::clone(&setup));
    let files = certificates::files(folder.path(), Holder::Router);
    let listen = format!("127.0.0.1:{}", ports[5]);
    let settings = router_settings(&wire, &setup.agreement.graph, &listen, &files).unwrap();
    let config = zenoh::Config::from_json5(&settings.to_string()).unwrap();
    let router = zenoh::open(config).wait().unwrap();
    five_learners(100, &ports, LinkKind::Router(folder.path()));
    router.close().wait().unwrap();
}

#[test]
fn without_certificates_only_loopback_addresses_are_allowed() {
    let identity = identity(&setup(5, "algorithm1", ""), 0);
    for address in ["0.0.0.0:7000", "192.168.1.1:7000", "example.org:7000", "[::]:7000"] {
        let (local, remote) = ("127.0.0.1:0".to_string(), address.to_string());
        for addresses in [
            Addresses::Direct { listen: remote.clone(), connect: Vec::new() },
            Addresses::Direct { listen: local, connect: vec![(LearnerId(1), remote.clone())] },
            Addresses::Router(remote),
        ] {
            let link = Link::open(&identity, &addresses, &Security::Loopback, Arc::new(|_| ()));
            let error = link.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains("certificates"), "{addresses:?}: {error}");
        }
    }
}
