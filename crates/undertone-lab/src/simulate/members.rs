//! All learners of a run, and the three calls of a round on each learner.

use super::SimulateError;
use crate::entropy::RunEntropy;
use crate::metrics::Evaluator;
use crate::stream::Stream;
use rayon::prelude::*;
use undertone::privacy::Cost;
use undertone::{Learner, LearnerId, Release, ReleaseError, Score};
use undertone_models::{AnyMemory, BoundedRecord, PublicRandom, Setup};

/// A learner and its stream of records.
pub(crate) struct Member {
    pub(crate) learner: Learner<AnyMemory>,
    pub(crate) stream: Stream,
    pub(super) batch: Vec<BoundedRecord>,
    pub(super) ran_dry: bool,
}

impl Member {
    /// What its most used record has paid.
    pub(super) fn paid(&self) -> Cost {
        self.learner.accountant().spent().of_repeated(self.stream.draws_max())
    }
}

/// All learners before round 0.
pub(crate) fn gather(
    setup: &Setup,
    streams: Vec<Stream>,
    mut order: PublicRandom,
) -> Result<Vec<Member>, SimulateError> {
    let mut members = Vec::with_capacity(streams.len());
    let start = setup.common_start(|| order.unit());
    for (id, stream) in setup.agreement.graph.ids().zip(streams) {
        let mut learner = setup.learner(id)?;
        if let Some(start) = start.clone().or_else(|| setup.spread_start(|| order.unit())) {
            learner = learner.starting_at(&start);
        }
        members.push(Member { learner, stream, batch: Vec::new(), ran_dry: false });
    }
    Ok(members)
}

/// From this many multiplications on, a round of all learners runs in several threads: waking a thread takes
/// longer than a round of five small learners.
const THREADS_FROM: u64 = 500_000;

/// The cost of one coordinate of noise, in multiplications.
const NOISE_WORK: u64 = 20;

/// Applies a function to every learner, in several threads where that is faster. Learners share nothing, so the
/// result is the same either way.
fn with_each<R: Send>(
    members: &mut [Member],
    work: impl Fn(&mut Member) -> R + Sync + Send,
) -> Vec<R> {
    let cost = |member: &Member| {
        let parameters = member.learner.private_parameters().for_owner().len();
        let noise = NOISE_WORK * parameters as u64;
        member.learner.memory().work(parameters).saturating_add(noise)
    };
    let total = members.iter().map(cost).fold(0, u64::saturating_add);
    if total >= THREADS_FROM {
        members.par_iter_mut().map(work).collect()
    } else {
        members.iter_mut().map(work).collect()
    }
}

pub(super) fn observe_all(
    members: &mut [Member],
    count: u64,
    warming_up: bool,
    evaluator: &mut Evaluator,
) -> Score {
    let scores: Vec<Score> = with_each(members, |member| {
        member.batch = member.stream.next(count);
        member.ran_dry |= (member.batch.len() as u64) < count;
        member.learner.observe(&member.batch)
    });
    let mut total = Score::default();
    for score in scores {
        total.records += score.records;
        total.loss_sum += score.loss_sum;
        total.correct += score.correct;
    }
    for (index, member) in members.iter().enumerate() {
        let theta = member.learner.private_parameters().for_owner();
        evaluator.remember(index, theta, &member.batch);
    }
    // The warm-up is collected before anything is learnt, so it is not scored.
    if warming_up { Score::default() } else { total }
}

pub(crate) fn release_all(
    members: &mut [Member],
    entropy: RunEntropy,
) -> Result<Vec<Release>, (LearnerId, ReleaseError)> {
    let released = with_each(members, |member| {
        let id = member.learner.id();
        member.learner.release(&mut { entropy }).map_err(|error| (id, error))
    });
    released.into_iter().collect()
}

pub(crate) fn absorb_all(members: &mut [Member], releases: &[Release], setup: &Setup) {
    with_each(members, |member| {
        let neighbours = setup.agreement.graph.neighbours(member.learner.id());
        let heard: Vec<&Release> =
            neighbours.iter().map(|&(id, _)| &releases[id.0 as usize]).collect();
        member.learner.absorb(&heard);
    });
}
