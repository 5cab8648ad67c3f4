//! A network in one process, as a program would run it: observe, release, absorb, and nothing that is measured.

use rayon::prelude::*;
use std::sync::Arc;
use undertone::noise::OsEntropy;
use undertone::{Learner, LearnerId, Release};
use undertone_lab::Plan;
use undertone_models::{AnyMemory, Record};

pub(crate) struct Network {
    plan: Arc<Plan>,
    learners: Vec<Learner<AnyMemory>>,
    /// Whether learners are shared out between threads.
    threads: bool,
}

impl Network {
    pub(crate) fn new(plan: Arc<Plan>, threads: bool) -> Network {
        let learners = plan.config.graph.ids().map(|id| plan.learner(id).expect("a learner")).collect();
        Network { plan, learners, threads }
    }

    /// One round of all; `record` gives what arrives at a learner.
    pub(crate) fn round<R: AsRef<[Record]>>(&mut self, record: impl Fn(LearnerId) -> R + Sync) {
        let say = |learner: &mut Learner<AnyMemory>| {
            learner.observe(record(learner.id()).as_ref()).expect("a record");
            learner.release(&mut OsEntropy).expect("a release")
        };
        let releases: Vec<Release> = if self.threads {
            self.learners.par_iter_mut().map(say).collect()
        } else {
            self.learners.iter_mut().map(say).collect()
        };
        let graph = &self.plan.config.graph;
        let hear = |learner: &mut Learner<AnyMemory>| {
            let neighbours = graph.neighbours(learner.id());
            let heard: Vec<&Release> = neighbours.iter().map(|&(id, _)| &releases[id.0 as usize]).collect();
            learner.absorb(&heard);
        };
        if self.threads {
            self.learners.par_iter_mut().for_each(hear);
        } else {
            self.learners.iter_mut().for_each(hear);
        }
    }
}
