//! What an attacker on the wire learns about a learner's gradient.
//!
//! Two consecutive releases differ by the neighbours' releases, which are observed too, by noise,
//! and by the step along the gradient. So [(1−a_t) y_t + γ_t Σ w_ij y_t^j − y_{t+1}] / λ_t is the
//! gradient plus noise.

use crate::entropy::RunEntropy;
use crate::error::ExperimentError;
use crate::simulate::{Member, SimulateError, absorb_all, gather, release_all};
use crate::stream::Streams;
use undertone::method::{Gradients, Perturbs};
use undertone::privacy::Mechanism;
use undertone::{Release, Round};
use undertone_models::{BoundedRecord, Setup};

/// One learner as observed from outside, and the attacked records, to compare guesses with.
pub(super) struct Overheard {
    /// The point at which the gradient was taken, as observed.
    pub(super) theta: Vec<f64>,
    /// The gradient, as observed.
    pub(super) gradient: Vec<f64>,
    /// The records behind it. The attacker does not see them.
    pub(super) truth: Vec<BoundedRecord>,
}

/// What is observed.
#[derive(Clone, Copy)]
pub(super) struct Script {
    /// The seed of records and noise.
    pub(super) seed: u64,
    /// The round whose gradient is attacked.
    pub(super) round: u64,
    /// Records of a learner in each round.
    pub(super) records: u64,
}

/// What the attacker knows about a victim.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    /// Its releases.
    Releases,
    /// Its releases and θ_0, because all learners start at one public point.
    ReleasesAndStart,
    /// Its values before noise: the attack without any protection.
    Unprotected,
}

/// Runs all learners until their gradients of the round have been released, and observes them.
pub(super) fn overhear(
    setup: &Setup,
    streams: Streams,
    Script { seed, round, records }: Script,
    view: View,
) -> Result<Vec<Overheard>, ExperimentError> {
    let entropy = RunEntropy::new(Some(seed));
    let mut members = gather(setup, streams.learners, streams.order)?;
    let mut truths: Vec<Vec<BoundedRecord>> = vec![Vec::new(); members.len()];
    for t in 0..=round {
        observe(&mut members, records, &mut truths);
        if t < round {
            let releases = released(&mut members, entropy)?;
            absorb_all(&mut members, &releases, setup);
        }
    }
    let before: Vec<Vec<f64>> = members.iter().map(parameters).collect();
    let first = released(&mut members, entropy)?;
    absorb_all(&mut members, &first, setup);
    // A shielded learner's own gradient is private until its next release.
    let gradients: Vec<Option<Vec<f64>>> = members
        .iter()
        .map(|member| Some(member.learner.private_gradient()?.for_owner().to_vec()))
        .collect();
    let after: Vec<Vec<f64>> = members.iter().map(parameters).collect();
    let second = released(&mut members, entropy)?;
    let mut found = Vec::with_capacity(members.len());
    for (index, truth) in truths.into_iter().enumerate() {
        let mechanism = &setup.mechanisms[index];
        let unprotected = view == View::Unprotected;
        let start_known = view == View::ReleasesAndStart && round == 0;
        // What a shielded learner sends is where it is.
        let public = mechanism.method.describe().perturbs == Perturbs::Gradient;
        let own = if (unprotected || start_known) && !public {
            &before[index]
        } else {
            first[index].values()
        };
        let next = if unprotected { &after[index] } else { second[index].values() };
        let (theta, mut gradient) = estimate(setup, mechanism, index, (own, next), &first, round);
        if let Some(private) = gradients[index].as_ref().filter(|_| unprotected) {
            gradient.clone_from(private);
        }
        found.push(Overheard { theta, gradient, truth });
    }
    Ok(found)
}

/// Estimates the gradient and the point where it was taken, from two releases of a learner and
/// those of its neighbours.
fn estimate(
    setup: &Setup,
    mechanism: &Mechanism,
    index: usize,
    (own, next): (&[f64], &[f64]),
    releases: &[Release],
    round: u64,
) -> (Vec<f64>, Vec<f64>) {
    let id = releases[index].learner();
    let round = Round(round);
    let coupling = mechanism.schedule.coupling.at(round);
    // With the other methods a learner continues from its own noisy copy.
    let gradients = mechanism.method.describe().gradients;
    let base = if gradients.are_of_newest_batch() { releases[index].values() } else { own };
    let mut mixed = base.to_vec();
    for &(neighbour, weight) in setup.agreement.graph.neighbours(id) {
        let said = releases[neighbour.0 as usize].values();
        for ((slot, &said), &base) in mixed.iter_mut().zip(said).zip(base) {
            *slot += coupling * weight * (said - base);
        }
    }
    let step = mechanism.step(round);
    let gradient = mixed.iter().zip(next).map(|(mixed, next)| (mixed - next) / step).collect();
    let theta = match gradients {
        Gradients::NewestAtMixed => mixed,
        Gradients::NewestAtOwn | Gradients::History => own.to_vec(),
    };
    (theta, gradient)
}

fn parameters(member: &Member) -> Vec<f64> {
    member.learner.private_parameters().for_owner().to_vec()
}

fn observe(members: &mut [Member], count: u64, truths: &mut [Vec<BoundedRecord>]) {
    for (member, truth) in members.iter_mut().zip(truths) {
        let batch = member.stream.next(count);
        member.learner.observe(&batch);
        // Methods without a memory use the newest batch alone.
        if member.learner.accountant().mechanism().method.describe().gradients.are_of_newest_batch()
        {
            truth.clear();
        }
        truth.extend(batch);
    }
}

fn released(members: &mut [Member], entropy: RunEntropy) -> Result<Vec<Release>, ExperimentError> {
    release_all(members, entropy)
        .map_err(|(learner, error)| SimulateError::Release { learner, error }.into())
}
