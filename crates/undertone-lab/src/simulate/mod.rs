//! All learners in one process: the plain loop over `observe`, `release`, `absorb`.

mod measuring;
mod members;
mod outcome;

pub use measuring::Measuring;
pub(crate) use members::{Member, absorb_all, gather, release_all};
pub use outcome::{Ending, FinalParameters, LearnerOutcome, Outcome, RoundRow};

use crate::data::Bounded;
use crate::entropy::RunEntropy;
use crate::metrics::{Evaluator, HeldOutEvaluator, LinearEvaluator, Metrics};
use crate::neural_metrics::NeuralEvaluator;
use crate::optimum::is_feasible;
use crate::stream::{StreamError, Streams, is_regression};
use members::observe_all;
use outcome::{learner_outcome, paid_account};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use thiserror::Error;
use undertone::privacy::{Cost, ModelAccounts, Receipt};
use undertone::{LearnerId, Memory, PublicModel, ReleaseError, Round, Score};
use undertone_models::{AnyModel, BoundedRecord, DeclaredFault, Record, Setup, SetupError};

/// Why a simulation failed.
#[derive(Debug, Error)]
pub enum SimulateError {
    /// The memory does not fit the loss.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A release failed for another reason than the budget.
    #[error("learner {learner}: {error}")]
    Release {
        /// Whose release.
        learner: LearnerId,
        /// Why.
        error: ReleaseError,
    },
    /// A user's loss failed or broke its declaration.
    #[error(transparent)]
    Function(#[from] DeclaredFault),
}

/// No receipts are kept if there would be more than this: they would take over 300 MB.
const RECEIPTS_MAX: u64 = 2_000_000;
/// The most learners that are measured; in larger networks evenly spaced ones are.
pub(crate) const MEASURED_LEARNERS_MAX: usize = 32;
/// The most rounds in which neural networks are measured: one measurement takes as long as many rounds.
const NEURAL_ROWS_MAX: u64 = 40;
/// The most rounds in which a large network of learners is measured.
const LARGE_NETWORK_ROWS_MAX: u64 = 200;

/// A run in progress. [`simulate`] runs it to its end; other callers may stop between rounds.
pub struct Simulation {
    setup: Arc<Setup>,
    /// How many rounds to run.
    rounds: u64,
    entropy: RunEntropy,
    measuring: Measuring,
    /// Which learners are measured.
    measured: Vec<usize>,
    evaluator: Evaluator,
    members: Vec<Member>,
    public: PublicModel,
    total: Score,
    rows: Vec<RoundRow>,
    ledger: Vec<Receipt>,
    keep_ledger: bool,
    rounds_run: u64,
    ending: Ending,
}

impl Simulation {
    /// All learners before round 0.
    ///
    /// # Errors
    /// When memory and loss do not fit.
    ///
    /// # Panics
    /// When records were checked for another setup: a bug in the caller.
    pub fn new(
        setup: Arc<Setup>,
        rounds: u64,
        streams: Streams,
        entropy: RunEntropy,
        measuring: Measuring,
    ) -> Result<Simulation, SimulateError> {
        let graph = &setup.agreement.graph;
        // θ* depends on every record of every learner, so a large network is measured less often.
        let large = graph.learners() > MEASURED_LEARNERS_MAX;
        let neural = setup.model.linear().is_none();
        let measuring = if neural {
            measuring.at_most(NEURAL_ROWS_MAX)
        } else if large {
            measuring.at_most(LARGE_NETWORK_ROWS_MAX)
        } else {
            measuring
        };
        let measured = measured_learners(graph.learners());
        let evaluator =
            evaluator(&setup, rounds, if large { 1 } else { measured.len() }, &streams.test);
        let members = gather(&setup, streams.learners, streams.order)?;
        let keep_ledger = rounds.saturating_mul(members.len() as u64) <= RECEIPTS_MAX;
        Ok(Simulation {
            rounds,
            entropy,
            measuring,
            measured,
            evaluator,
            public: PublicModel::new(setup.model.parameters()),
            members,
            total: Score::default(),
            rows: Vec::new(),
            ledger: Vec::new(),
            keep_ledger,
            rounds_run: 0,
            ending: Ending::Interrupted,
            setup,
        })
    }

    /// The setup.
    #[must_use]
    pub fn setup(&self) -> &Arc<Setup> {
        &self.setup
    }

    /// How many rounds have been run.
    #[must_use]
    pub fn rounds_run(&self) -> u64 {
        self.rounds_run
    }

    /// Why the run has ended; `None` while rounds can be run.
    #[must_use]
    pub fn ended(&self) -> Option<&Ending> {
        (self.ending != Ending::Interrupted).then_some(&self.ending)
    }

    /// How many more records learner i needs for the next rounds.
    #[must_use]
    pub fn records_wanted(&self, learner: usize, rounds: u64) -> u64 {
        let data = &self.setup.agreement.records;
        let warmup = if self.rounds_run == 0 { data.warmup } else { 0 };
        let wanted = data.batch.saturating_mul(rounds).saturating_add(warmup);
        wanted.saturating_sub(self.members[learner].stream.left())
    }

    /// Checks records and appends them to the stream of learner i. Returns how many were scaled and how many
    /// were left out.
    ///
    /// # Errors
    /// When a record has a value that is not finite, or does not fit the model; then no record is appended.
    pub fn feed(
        &mut self,
        learner: usize,
        records: Vec<Record>,
    ) -> Result<(u64, u64), StreamError> {
        let bounded = Bounded::new(&self.setup.record_checker(), records)?;
        self.members[learner].stream.append(bounded.records);
        Ok((bounded.scaled, bounded.refused))
    }

    /// Runs one round, and returns its row if the round is measured.
    ///
    /// # Errors
    /// When a user's function fails or there is no entropy. An exhausted
    /// budget is an [`Ending`], not an error: what was learnt so far is kept.
    pub fn round(&mut self) -> Result<Option<RoundRow>, SimulateError> {
        let form = &self.setup.agreement.records;
        let t = self.rounds_run;
        let count = form.batch + if t == 0 { form.warmup } else { 0 };
        let warming_up = count > form.batch;
        let score = observe_all(&mut self.members, count, warming_up, &mut self.evaluator);
        self.check_function()?;
        self.total.records += score.records;
        self.total.correct += score.correct;
        let released = release_all(&mut self.members, self.entropy);
        if self.keep_ledger {
            // When one learner refuses, others have already paid for the round: their receipts are kept.
            let receipts = self.members.iter().filter_map(|member| member.learner.receipt());
            self.ledger.extend(receipts.filter(|receipt| receipt.round == Round(t)));
        }
        let releases = match released {
            Ok(releases) => releases,
            Err((learner, ReleaseError::Refused(refusal))) => {
                self.ending = Ending::BudgetExhausted { learner, refusal };
                return Ok(None);
            }
            Err((learner, error)) => return Err(SimulateError::Release { learner, error }),
        };
        for release in &releases {
            self.public.include(release);
        }
        let row = self.measuring.at(t, self.rounds).then(|| self.measure(t, &score));
        absorb_all(&mut self.members, &releases, &self.setup);
        self.check_function()?;
        self.rounds_run = t + 1;
        if self.rounds_run == self.rounds {
            self.ending = Ending::Finished;
        }
        self.rows.extend(row.clone());
        Ok(row)
    }

    fn measure(&mut self, t: u64, score: &Score) -> RoundRow {
        let thetas: Vec<&[f64]> = self
            .measured
            .iter()
            .map(|&index| self.members[index].learner.private_parameters().for_owner())
            .collect();
        let since = self.rows.last().map_or(1, |row| t - row.round);
        let metrics = self.evaluator.measure(&thetas, self.public.values(), since);
        row(&self.setup, t, &self.members, score, &self.total, metrics)
    }

    fn check_function(&self) -> Result<(), SimulateError> {
        self.setup.model.declared_fault().map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// The outcome so far.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let delta = self.setup.agreement.delta;
        let learners = self.members.iter().map(|member| learner_outcome(member, delta)).collect();
        let thetas =
            self.members.iter().map(|member| member.learner.private_parameters().for_owner());
        Outcome {
            rows: self.rows.clone(),
            public: self.public.clone(),
            accounts: ModelAccounts::new(self.members.iter().map(paid_account).collect()),
            delta,
            learners,
            parameters: FinalParameters(thetas.map(Into::into).collect()),
            ledger: self.ledger.clone(),
            rounds_run: self.rounds_run,
            ending: self.ending.clone(),
        }
    }
}

/// Shows progress only: parameters and records are private.
impl fmt::Debug for Simulation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (learners, rounds) = (self.members.len(), self.rounds_run);
        write!(formatter, "Simulation(learners={learners}, rounds={rounds}, <redacted>)")
    }
}

/// Runs all rounds. Calls `after_round` after each, with its row if the round was measured.
///
/// # Errors
/// When memory and loss do not fit, a user's function fails, or there is no entropy. An
/// exhausted budget is an [`Ending`], not an error: what was learnt so far is kept.
pub fn simulate(
    setup: &Setup,
    rounds: u64,
    streams: Streams,
    entropy: RunEntropy,
    measuring: Measuring,
    mut after_round: impl FnMut(Option<&RoundRow>) -> ControlFlow<()>,
) -> Result<Outcome, SimulateError> {
    let mut run = Simulation::new(Arc::new(setup.clone()), rounds, streams, entropy, measuring)?;
    while run.ended().is_none() {
        let row = run.round()?;
        let over = matches!(run.ended(), Some(Ending::BudgetExhausted { .. }));
        if !over && after_round(row.as_ref()).is_break() {
            break;
        }
    }
    Ok(run.outcome())
}

/// Learners may clip gradients; the metrics use the loss without clipping.
fn evaluator(setup: &Setup, rounds: u64, histories: usize, test: &[BoundedRecord]) -> Evaluator {
    let agreement = &setup.agreement;
    match &setup.model {
        AnyModel::Linear(model) if model.is_declared() => {
            Evaluator::HeldOut(HeldOutEvaluator::new(model, test, is_regression(agreement)))
        }
        AnyModel::Linear(model) => {
            let model = Arc::new(model.unclipped());
            let regression = is_regression(agreement);
            let learners = agreement.graph.learners() as u64;
            let records = agreement.records.taken_after(rounds).saturating_mul(learners);
            if !is_feasible(model.parameters(), records) {
                return Evaluator::HeldOut(HeldOutEvaluator::new(&model, test, regression));
            }
            let domain = agreement.domain;
            Evaluator::Linear(LinearEvaluator::new(&model, domain, histories, test, regression))
        }
        AnyModel::Neural(model) => {
            let each = agreement.records.taken_after(rounds);
            let learners = agreement.graph.learners();
            Evaluator::Neural(NeuralEvaluator::new(model, learners, each, test))
        }
    }
}

/// Which learners are measured: all, or evenly spaced ones.
fn measured_learners(learners: usize) -> Vec<usize> {
    let count = learners.min(MEASURED_LEARNERS_MAX);
    (0..count).map(|index| index * learners / count).collect()
}

fn row(
    setup: &Setup,
    t: u64,
    members: &[Member],
    score: &Score,
    total: &Score,
    metrics: Metrics,
) -> RoundRow {
    let delta = setup.agreement.delta;
    #[expect(clippy::cast_precision_loss, reason = "record counts stay far below 2^53")]
    let share = |part: f64, whole: u64| (whole > 0).then(|| part / whole as f64);
    #[expect(clippy::cast_precision_loss, reason = "record counts stay far below 2^53")]
    let correct = total.correct as f64;
    let noise = setup.agreement.noise_kind;
    let paid: Vec<Cost> = members.iter().map(Member::paid).collect();
    let mechanisms = members.iter().map(|member| member.learner.accountant().mechanism());
    RoundRow {
        round: t,
        records: members.iter().map(|member| member.learner.memory().records()).sum(),
        prequential_loss: share(score.loss_sum, score.records),
        prequential_accuracy: share(correct, total.records)
            .filter(|_| !is_regression(&setup.agreement)),
        metrics,
        epsilon: paid.iter().map(|cost| cost.epsilon(noise, delta)).collect(),
        pure_epsilon: paid.iter().map(|cost| cost.pure).collect(),
        noise_scale: mechanisms.map(|mechanism| mechanism.noise_scale(Round(t))).collect(),
    }
}
