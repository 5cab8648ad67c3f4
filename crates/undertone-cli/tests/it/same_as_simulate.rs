//! Learners on sockets and the simulation of the same config, with the same noise: the same parameters.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use undertone::{LearnerId, Round};
use undertone_lab::experiment::Overrides;
use undertone_lab::presets::load_preset;
use undertone_lab::stream::{self, Stream};
use undertone_lab::{Measuring, RunEntropy, SeededEntropy, simulate};
use undertone_models::Setup;
use undertone_node::daemon::{Ending, Event, Until, run};
use undertone_node::link::{Addresses, Identity, Link, Security};
use undertone_node::mailbox::mailbox;
use undertone_node::protocol::{FOLLOW_RATE, Node, Settings};
use undertone_node::store::DiskStore;
use undertone_node::wire::Wire;

const SEED: u64 = 11;

/// Runs one learner to the end; gives its parameters.
fn learner(
    setup: &Arc<Setup>,
    rounds: u64,
    id: u32,
    ports: &[u16],
    mut stream: Stream,
) -> Box<[f64]> {
    let own = LearnerId(id);
    let wire = Wire::new(Arc::clone(setup));
    let folder = tempfile::tempdir().unwrap();
    let store = DiskStore::create(&folder.path().join("store"), wire.network(), own).unwrap();
    let settings = Settings {
        deadline: Duration::from_secs(120),
        request_after: Duration::from_secs(5),
        records_wait: Duration::from_secs(120),
        heard_min: 1,
        follow_rate: FOLLOW_RATE,
        end: Round(rounds),
        inbox_max: usize::MAX,
    };
    let entropy = SeededEntropy::new(SEED);
    let mut node = Node::open(Arc::clone(setup), own, settings, entropy, store).unwrap();
    let neighbours: Vec<LearnerId> =
        setup.agreement.graph.neighbours(own).iter().map(|&(id, _)| id).collect();
    let address = |id: u32| format!("127.0.0.1:{}", ports[id as usize]);
    let later = neighbours.iter().filter(|one| one.0 > id);
    let addresses = Addresses::Direct {
        listen: address(id),
        connect: later.map(|&one| (one, address(one.0))).collect(),
    };
    let message_bytes = wire.message_bytes();
    let identity = Identity { network: wire.network(), own, neighbours, message_bytes };
    let (sender, events) = mailbox(1000);
    let network = sender.clone();
    let deliver = Arc::new(move |incoming| {
        let _ = network.send(Event::Network(incoming));
    });
    let link = Link::open(&identity, &addresses, &Security::Loopback, deliver).unwrap();
    let records = stream.next(setup.agreement.records.taken_after(rounds));
    let (answer, _taken) = tokio::sync::oneshot::channel();
    sender.send(Event::Records { records, position: None, answer }).unwrap();
    let until = Until { end: Round(rounds), linger: Duration::from_secs(3) };
    let ending = run(&mut node, &link, &events, until, &mut |_, _| ()).unwrap();
    assert_eq!(ending, Ending::Finished);
    link.close();
    node.learner().private_parameters().for_owner().into()
}

#[test]
fn five_learners_on_sockets_end_where_simulate_ends_bit_for_bit() {
    let loaded = load_preset("mushrooms", &Overrides::default()).unwrap();
    let setup = Arc::new(loaded.checked.setup().unwrap());
    let streams = stream::load(&loaded.checked, &loaded.folder, SEED).unwrap();
    let rounds = loaded.checked.rounds;
    let ports = crate::free_ports(streams.learners.len());
    let found: Vec<Box<[f64]>> = thread::scope(|scope| {
        let learners: Vec<_> = (0_u32..)
            .zip(streams.learners.clone())
            .map(|(id, stream)| {
                let (setup, ports) = (&setup, &ports);
                scope.spawn(move || learner(setup, rounds, id, ports, stream))
            })
            .collect();
        learners.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let entropy = RunEntropy::new(Some(SEED));
    let go_on = |_: Option<&_>| ControlFlow::Continue(());
    let outcome = simulate(&setup, rounds, streams, entropy, Measuring::Evenly(2), go_on).unwrap();
    let bits = |thetas: &[Box<[f64]>]| -> Vec<Vec<u64>> {
        thetas.iter().map(|theta| theta.iter().map(|value| value.to_bits()).collect()).collect()
    };
    assert_eq!(bits(&found), bits(outcome.parameters.for_owners()));
    // The control: learners do differ, and so does another seed.
    assert_ne!(bits(&found)[0], bits(&found)[1]);
}
