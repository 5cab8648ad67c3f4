//! A network of nodes in one process, with a clock, a network and disks that can fail.
//!
//! Everything follows from a seed. After every step the invariants of the architecture are checked.

use crate::invariants::Invariants;
use crate::support::{record, settings};
use std::sync::Arc;
use std::time::Duration;
use undertone_models::Setup;
use undertone_node::protocol::Settings;
use undertone_node::wire::Wire;
use undertone_simulation::{Faults, FaultyConditions, RepeatableEntropy, Simulation};

pub(crate) type Network = Simulation<FaultyConditions, Invariants>;

/// A network that is about to start, and runs for this many rounds.
pub(crate) fn network(setup: &Arc<Setup>, end: u64, faults: Faults, seed: u64) -> Network {
    network_with(setup, settings(end), faults, seed)
}

pub(crate) fn network_with(
    setup: &Arc<Setup>,
    settings: Settings,
    faults: Faults,
    seed: u64,
) -> Network {
    let learners = setup.mechanisms.len();
    let conditions = FaultyConditions::new(faults, learners, seed, record);
    let (wire, entropy) = (Wire::new(Arc::clone(setup)), RepeatableEntropy::counting(seed));
    let mut network = Simulation::new(wire, settings, entropy, conditions, Invariants::new(setup));
    network.start_all();
    network
}

/// Runs a network until every learner has done its rounds, and says whether they all have.
pub(crate) fn finishes(network: &mut Network, within: Duration) -> bool {
    network.run(within, Network::all_have_finished)
}
