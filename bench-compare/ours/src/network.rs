//! A network in one process: a plain loop of observe, release and absorb, with each learner's account and ledger and no metrics.
//!
//! A learner ends a round and begins the next in one go: its state goes through the caches once a round, and learners on
//! several threads wait for each other once.

use rayon::prelude::*;
use std::sync::Arc;
use undertone::noise::OsEntropy;
use undertone::{Learner, LearnerId, Release};
use undertone_lab::Setup;
use undertone_models::{AnyMemory, BoundedRecord};

pub(crate) struct Network {
    setup: Arc<Setup>,
    learners: Vec<Learner<AnyMemory>>,
    /// The releases of all learners in the current round; empty before the first.
    releases: Vec<Release>,
    /// Whether learners are distributed over threads.
    threads: bool,
}

impl Network {
    pub(crate) fn new(setup: Arc<Setup>, threads: bool) -> Network {
        let learners = setup.agreement.graph.ids().map(|id| setup.learner(id).expect("a learner")).collect();
        Network { setup, learners, releases: Vec::new(), threads }
    }

    /// One round of all, from absorb to release; `record` gives what arrives at a learner.
    pub(crate) fn round<R: AsRef<[BoundedRecord]>>(&mut self, record: impl Fn(LearnerId) -> R + Sync) {
        let (graph, releases) = (&self.setup.agreement.graph, &self.releases);
        let round = |learner: &mut Learner<AnyMemory>| {
            if !releases.is_empty() {
                let neighbours = graph.neighbours(learner.id());
                let heard: Vec<&Release> = neighbours.iter().map(|&(id, _)| &releases[id.0 as usize]).collect();
                learner.absorb(&heard);
            }
            learner.observe(record(learner.id()).as_ref());
            learner.release(&mut OsEntropy).expect("a release")
        };
        self.releases = if self.threads {
            self.learners.par_iter_mut().map(round).collect()
        } else {
            self.learners.iter_mut().map(round).collect()
        };
    }
}
