//! Real nodes on real sockets, in threads of one process.

use crate::support::{Dice, plan, record, settings};
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use undertone::noise::{Cipher, Entropy, EntropyError, StreamKey};
use undertone::{LearnerId, Round};
use undertone_models::Plan;
use undertone_node::daemon::{Ending, Event, run};
use undertone_node::link::{Addresses, Identity, Link};
use undertone_node::protocol::{Node, Settings};
use undertone_node::store::DiskStore;
use undertone_node::wire::Wire;

/// The same noise for the same learner and round.
#[derive(Clone, Copy)]
struct Fixed;

impl Entropy for Fixed {
    fn key(&mut self, learner: LearnerId, round: Round) -> Result<StreamKey, EntropyError> {
        let mut bytes = [7; 32];
        bytes[..4].copy_from_slice(&learner.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&round.0.to_le_bytes());
        Ok(StreamKey::new(Cipher::ChaCha20, bytes))
    }
}

/// Free ports, as far as anybody can tell.
fn ports(count: usize) -> Vec<u16> {
    let held: Vec<_> =
        (0..count).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    held.iter().map(|socket| socket.local_addr().unwrap().port()).collect()
}

fn one(plan: &Arc<Plan>, id: u32, ports: &[u16], folder: &Path, rounds: u64) -> Vec<u64> {
    let own = LearnerId(id);
    let wire = Wire::new(Arc::clone(plan));
    let path = folder.join(format!("{id}.redb"));
    let store = DiskStore::create(&path, wire.network(), own).unwrap();
    // On a machine with much else to do nobody is to be given up.
    let patient = Settings { deadline: Duration::from_secs(120), ..settings(rounds) };
    let mut node = Node::open(Arc::clone(plan), own, patient, Fixed, store).unwrap();
    let neighbours: Vec<LearnerId> =
        plan.config.graph.neighbours(own).iter().map(|&(id, _)| id).collect();
    let identity = Identity {
        network: wire.network(),
        own,
        neighbours: neighbours.clone(),
        message_bytes: wire.message_bytes(),
    };
    let address = |id: u32| format!("127.0.0.1:{}", ports[id as usize]);
    let addresses = Addresses {
        listen: vec![address(id)],
        connect: neighbours.iter().filter(|one| one.0 > id).map(|one| address(one.0)).collect(),
    };
    let (sender, events) = sync_channel(1000);
    let network = sender.clone();
    let deliver = Arc::new(move |incoming| {
        let _ = network.send(Event::Network(incoming));
    });
    let link = Link::open(&identity, &addresses, deliver).unwrap();
    let mut dice = Dice(u64::from(id));
    let records = (0..3 + 2 * rounds).map(|_| record(&mut dice)).collect();
    let (answer, _taken) = sync_channel(1);
    sender.send(Event::Records { records, answer }).unwrap();
    let linger = Duration::from_secs(5);
    let ending = run(&mut node, &link, &events, (Round(rounds), linger), &mut |_, _| ()).unwrap();
    assert_eq!(ending, Ending::Finished);
    link.close();
    node.learner().private_parameters().for_owner().iter().map(|x| x.to_bits()).collect()
}

/// The same rounds in a plain loop.
fn in_a_loop(plan: &Plan, rounds: u64) -> Vec<Vec<u64>> {
    let ids: Vec<LearnerId> = plan.config.graph.ids().collect();
    let mut learners: Vec<_> = ids.iter().map(|&id| plan.learner(id).unwrap()).collect();
    let mut dice: Vec<Dice> = ids.iter().map(|id| Dice(u64::from(id.0))).collect();
    for t in 0..rounds {
        let count = if t == 0 { 5 } else { 2 };
        let mut releases = Vec::new();
        for (learner, dice) in learners.iter_mut().zip(&mut dice) {
            let batch: Vec<_> = (0..count).map(|_| record(dice)).collect();
            learner.observe(&batch).unwrap();
            releases.push(learner.release(&mut { Fixed }).unwrap());
        }
        for learner in &mut learners {
            let neighbours = plan.config.graph.neighbours(learner.id());
            let heard: Vec<_> = neighbours.iter().map(|(id, _)| &releases[id.0 as usize]).collect();
            learner.absorb(&heard);
        }
    }
    let bits = |theta: &[f64]| theta.iter().map(|x| x.to_bits()).collect();
    learners.iter().map(|learner| bits(learner.private_parameters().for_owner())).collect()
}

#[test]
fn five_learners_on_sockets_learn_what_a_loop_learns_bit_for_bit() {
    let (plan, rounds) = (plan(5, "algorithm1", ""), 200);
    let (ports, folder) = (ports(5), tempfile::tempdir().unwrap());
    let found = Mutex::new(vec![Vec::new(); 5]);
    thread::scope(|scope| {
        for id in 0..5 {
            let (plan, ports, folder, found) = (&plan, &ports, folder.path(), &found);
            scope.spawn(move || {
                let bits = one(plan, id, ports, folder, rounds);
                found.lock().unwrap()[id as usize] = bits;
            });
        }
    });
    assert_eq!(found.into_inner().unwrap(), in_a_loop(&plan, rounds));
}

#[test]
fn without_certificates_only_this_machine_can_be_reached() {
    let plan = plan(5, "algorithm1", "");
    let wire = Wire::new(plan);
    let identity = Identity {
        network: wire.network(),
        own: LearnerId(0),
        neighbours: vec![LearnerId(1)],
        message_bytes: wire.message_bytes(),
    };
    for address in ["0.0.0.0:7000", "192.168.1.1:7000", "example.org:7000", "[::]:7000"] {
        let addresses = Addresses { listen: vec![address.into()], connect: Vec::new() };
        let link = Link::open(&identity, &addresses, Arc::new(|_| ()));
        let error = link.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("certificates"), "{address}: {error}");
    }
}
