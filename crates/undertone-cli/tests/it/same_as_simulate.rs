//! Learners on sockets and the simulation of the same config, with the same noise: the same parameters.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use undertone::LearnerId;
use undertone_lab::experiment::Overrides;
use undertone_lab::presets::load_preset;
use undertone_lab::stream::{self, Stream};
use undertone_lab::{Measuring, RunEntropy, SeededEntropy, simulate};
use undertone_models::Setup;
use undertone_node::daemon::{Daemon, DaemonSettings, Ending, RecordSource};
use undertone_node::link::Peers;
use undertone_node::store::StoreFile;

const SEED: u64 = 11;

/// Runs one learner to the end; gives its parameters.
fn learner(setup: &Arc<Setup>, rounds: u64, id: u32, ports: &[u16], stream: Stream) -> Box<[f64]> {
    let own = LearnerId(id);
    let address = |id: u32| format!("127.0.0.1:{}", ports[id as usize]);
    let neighbours = setup.agreement.graph.neighbours(own).iter();
    let peers = Peers::Direct {
        listen: address(id),
        neighbours: neighbours.map(|&(one, _)| (one, address(one.0))).collect(),
    };
    let settings = DaemonSettings {
        source: Some(RecordSource::replay("records".into(), stream.into_records())),
        rounds: Some(rounds),
        // Long: on a busy machine nobody may miss a neighbour or a record.
        deadline: Duration::from_secs(240),
        request_after: Some(Duration::from_secs(5)),
        ..DaemonSettings::new(own, peers)
    };
    let folder = tempfile::tempdir().unwrap();
    let store = StoreFile::New(folder.path().join("store"));
    let daemon = Daemon::open(setup, settings, &store, SeededEntropy::new(SEED)).unwrap();
    let ended = daemon.run(|_| ()).unwrap();
    assert_eq!(ended.ending, Ending::Finished);
    ended.node.learner().private_parameters().for_owner().into()
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
