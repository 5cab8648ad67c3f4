//! All learners in one process: the plain loop over `observe`, `release`, `absorb`.

use crate::entropy::{RunEntropy, Shuffle};
use crate::metrics::{DeclaredEvaluator, Evaluator, LinearEvaluator, Metrics};
use crate::neural_metrics::NeuralEvaluator;
use crate::stream::{Stream, StreamError, Streams, is_regression, keep_to_bounds};
use rayon::prelude::*;
use std::convert::Infallible;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use thiserror::Error;
use undertone::privacy::{Receipt, Refusal, epsilon_from_zcdp};
use undertone::{
    Learner, LearnerId, Memory, PublicModel, RecordError, Release, ReleaseError, Round, Score,
};
use undertone_models::Setup;
use undertone_models::{AnyMemory, AnyModel, DeclaredFault, MemoryError, Record};

/// One line of `rounds.csv`.
#[derive(Clone, Debug)]
pub struct RoundRow {
    /// The round t.
    pub round: u64,
    /// Records in all histories.
    pub records: u64,
    /// Mean loss of this round's records before their labels were known; absent without records.
    pub prequential_loss: Option<f64>,
    /// Share of all records so far that were classified rightly before their labels were known.
    pub prequential_accuracy: Option<f64>,
    /// What was measured.
    pub metrics: Metrics,
    /// ε at the config's δ that each learner has spent, this round's release included.
    pub epsilon: Vec<f64>,
    /// Pure ε that each learner has spent.
    pub pure_epsilon: Vec<f64>,
    /// The noise scale of this round's release, for each learner.
    pub noise_scale: Vec<f64>,
}

/// Why a simulation ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// All rounds were run.
    Finished,
    /// The caller asked to stop.
    Interrupted,
    /// A learner's accountant refused a release.
    BudgetExhausted {
        /// Which learner.
        learner: LearnerId,
        /// Why.
        refusal: Refusal,
    },
}

/// What a simulation leaves behind.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One row for each measured round.
    pub rows: Vec<RoundRow>,
    /// The model that may be published.
    pub public: PublicModel,
    /// One entry for each learner.
    pub learners: Vec<LearnerOutcome>,
    /// The learners' own parameters in the end.
    pub parameters: FinalParameters,
    /// One receipt for every release, by round and learner; empty in networks too large to keep it.
    pub ledger: Vec<Receipt>,
    /// How many rounds were finished.
    pub rounds_run: u64,
    /// Why it ended.
    pub ending: Ending,
}

/// The learners' parameters after the last round.
///
/// **Private**: they show nothing of themselves, and go into no file.
#[derive(Clone)]
pub struct FinalParameters(Vec<Box<[f64]>>);

impl FinalParameters {
    /// The parameters of each learner, for somebody who may see them.
    #[must_use]
    pub fn for_owners(&self) -> &[Box<[f64]>] {
        &self.0
    }
}

impl fmt::Debug for FinalParameters {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "FinalParameters(learners={}, <redacted>)", self.0.len())
    }
}

impl Outcome {
    /// Whether some learner's records ran out, which voids its certificate.
    #[must_use]
    pub fn ran_dry(&self) -> bool {
        self.learners.iter().any(|learner| learner.ran_dry)
    }
}

/// What one learner did and spent.
#[derive(Clone, Debug)]
pub struct LearnerOutcome {
    /// Records in its history, repeats included.
    pub records: u64,
    /// How often its most used record was used.
    pub draws_max: u64,
    /// Pure ε spent.
    pub pure_epsilon: f64,
    /// zCDP spent.
    pub zcdp: f64,
    /// ε at the config's δ.
    pub epsilon: f64,
    /// Whether its stream ran dry before the last round.
    pub ran_dry: bool,
}

/// Why a simulation could not go on.
#[derive(Debug, Error)]
pub enum SimulateError {
    /// The memory does not fit the loss.
    #[error("memory: {0}")]
    Memory(#[from] MemoryError),
    /// A record was refused.
    #[error("learner {learner}: {error}")]
    Record {
        /// Whose record.
        learner: LearnerId,
        /// Why.
        error: RecordError,
    },
    /// A test record was refused.
    #[error("test data: {0}")]
    TestRecord(RecordError),
    /// A release failed for another reason than the budget.
    #[error("learner {learner}: {error}")]
    Release {
        /// Whose release.
        learner: LearnerId,
        /// Why.
        error: ReleaseError,
    },
    /// A user's loss cannot be gone on with.
    #[error(transparent)]
    Function(#[from] DeclaredFault),
}

/// A learner and the records that will reach it.
pub(crate) struct Member {
    pub(crate) learner: Learner<AnyMemory>,
    pub(crate) stream: Stream,
    batch: Vec<Record>,
    ran_dry: bool,
}

/// Which rounds are measured. The last one always is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measuring {
    /// About this many rounds, evenly spaced.
    Evenly(u64),
    /// Every round at first, and then about this many for each doubling: for axes by powers of ten.
    Geometrically(u64),
}

impl Measuring {
    fn at(self, t: u64, rounds: u64) -> bool {
        let stride = match self {
            Measuring::Evenly(rows) => rounds.div_ceil(rows.max(1)),
            Measuring::Geometrically(rows) => t.div_ceil(rows.max(1)),
        };
        t.is_multiple_of(stride.max(1)) || t + 1 == rounds
    }

    fn at_most(self, most: u64) -> Measuring {
        match self {
            Measuring::Evenly(rows) => Measuring::Evenly(rows.min(most)),
            Measuring::Geometrically(_) => Measuring::Evenly(most),
        }
    }
}

/// Receipts beyond this number would take more than some 300 MB; then none are kept.
const RECEIPTS_MAX: u64 = 2_000_000;
/// In larger networks only this many learners, evenly spaced, are measured.
pub(crate) const MEASURED_LEARNERS_MAX: usize = 32;
/// Networks are measured in about this many rounds: it takes as long as learning in many.
const ROWS_OF_NETWORK_MAX: u64 = 40;
/// And only about this many rounds.
const ROWS_OF_LARGE_MAX: u64 = 200;

/// A run in progress: [`simulate`] takes it to its end, others may stop and look in between.
pub struct Simulation {
    setup: Arc<Setup>,
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
    /// When memory and loss do not fit, or a test record is outside the bounds.
    pub fn new(
        setup: Arc<Setup>,
        streams: Streams,
        entropy: RunEntropy,
        measuring: Measuring,
    ) -> Result<Simulation, SimulateError> {
        let config = &setup.config;
        // Every record of every learner counts in θ*, so a large network is measured less often.
        let large = config.graph.learners() > MEASURED_LEARNERS_MAX;
        let network = setup.model.linear().is_none();
        let measuring = if network {
            measuring.at_most(ROWS_OF_NETWORK_MAX)
        } else if large {
            measuring.at_most(ROWS_OF_LARGE_MAX)
        } else {
            measuring
        };
        let measured = measured_learners(config.graph.learners());
        let evaluator = evaluator(&setup, if large { 1 } else { measured.len() }, &streams.test)
            .map_err(SimulateError::TestRecord)?;
        let members = gather(&setup, streams.learners, streams.order)?;
        let keep_ledger = config.rounds.saturating_mul(members.len() as u64) <= RECEIPTS_MAX;
        Ok(Simulation {
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

    /// The setup it follows.
    #[must_use]
    pub fn setup(&self) -> &Arc<Setup> {
        &self.setup
    }

    /// How many rounds are over.
    #[must_use]
    pub fn rounds_run(&self) -> u64 {
        self.rounds_run
    }

    /// Why no more rounds can be run; `None` while they can.
    #[must_use]
    pub fn ended(&self) -> Option<&Ending> {
        (self.ending != Ending::Interrupted).then_some(&self.ending)
    }

    /// How many records learner i will take in the next rounds beyond those it has.
    #[must_use]
    pub fn records_wanted(&self, learner: usize, rounds: u64) -> u64 {
        let data = &self.setup.config.data;
        let warmup = if self.rounds_run == 0 { data.warmup } else { 0 };
        let wanted = data.batch.saturating_mul(rounds).saturating_add(warmup);
        wanted.saturating_sub(self.members[learner].stream.left())
    }

    /// Brings records within the bounds and appends them to the stream of learner i; says how many were scaled
    /// and how many left out.
    ///
    /// # Errors
    /// When a record has a value that is not finite; none is taken then.
    pub fn feed(
        &mut self,
        learner: usize,
        records: Vec<Record>,
    ) -> Result<(u64, u64), StreamError> {
        let bounded = keep_to_bounds(&self.setup.config, records)?;
        self.members[learner].stream.append(bounded.records);
        Ok((bounded.scaled, bounded.refused))
    }

    /// Runs one round, and gives its row if it is measured; `None` at the end.
    ///
    /// # Errors
    /// When a record is outside the bounds, a user's function fails or there is no entropy. An exhausted
    /// budget is an [`Ending`], not an error: what was learnt until then is kept.
    pub fn round(&mut self) -> Result<Option<RoundRow>, SimulateError> {
        let config = &self.setup.config;
        let t = self.rounds_run;
        let count = config.data.batch + if t == 0 { config.data.warmup } else { 0 };
        let warming_up = count > config.data.batch;
        let score = observe_all(&mut self.members, count, warming_up, &mut self.evaluator)?;
        self.check_function()?;
        self.total.records += score.records;
        self.total.correct += score.correct;
        let released = release_all(&mut self.members, self.entropy);
        if self.keep_ledger {
            // When one learner refuses, others have paid for the round already: it stays on record.
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
        let row = self.measuring.at(t, config.rounds).then(|| self.measure(t, &score));
        absorb_all(&mut self.members, &releases, &self.setup);
        self.check_function()?;
        self.rounds_run = t + 1;
        if self.rounds_run == self.setup.config.rounds {
            self.ending = Ending::Finished;
        }
        self.rows.extend(row.clone());
        Ok(row)
    }

    fn measure(&mut self, t: u64, score: &Score) -> RoundRow {
        let thetas: Vec<&[f64]> = self
            .measured
            .iter()
            .map(|&place| self.members[place].learner.private_parameters().for_owner())
            .collect();
        let since = self.rows.last().map_or(1, |row| t - row.round);
        let metrics = self.evaluator.measure(&thetas, self.public.values(), since);
        row(&self.setup, t, &self.members, score, &self.total, metrics)
    }

    fn check_function(&self) -> Result<(), SimulateError> {
        self.setup.model.declared_fault().map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// What has come of it so far; the rows of all measured rounds.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let delta = self.setup.config.delta;
        let learners = self.members.iter().map(|member| learner_outcome(member, delta)).collect();
        let thetas =
            self.members.iter().map(|member| member.learner.private_parameters().for_owner());
        Outcome {
            rows: self.rows.clone(),
            public: self.public.clone(),
            learners,
            parameters: FinalParameters(thetas.map(Into::into).collect()),
            ledger: self.ledger.clone(),
            rounds_run: self.rounds_run,
            ending: self.ending.clone(),
        }
    }
}

/// Shows how far it is; parameters and records are private.
impl fmt::Debug for Simulation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (learners, rounds) = (self.members.len(), self.rounds_run);
        write!(formatter, "Simulation(learners={learners}, rounds={rounds}, <redacted>)")
    }
}

/// Runs all rounds, calling `after_round` after each, with the row of those that are measured.
///
/// # Errors
/// When memory and loss do not fit, a record is outside the bounds, or there is no entropy. An
/// exhausted budget is an [`Ending`], not an error: what was learnt until then is kept.
pub fn simulate(
    setup: &Setup,
    streams: Streams,
    entropy: RunEntropy,
    measuring: Measuring,
    mut after_round: impl FnMut(Option<&RoundRow>) -> ControlFlow<()>,
) -> Result<Outcome, SimulateError> {
    let mut run = Simulation::new(Arc::new(setup.clone()), streams, entropy, measuring)?;
    while run.ended().is_none() {
        let row = run.round()?;
        let over = matches!(run.ended(), Some(Ending::BudgetExhausted { .. }));
        if !over && after_round(row.as_ref()).is_break() {
            break;
        }
    }
    Ok(run.outcome())
}

/// Learners may clip gradients; they are measured by the loss itself.
fn evaluator(setup: &Setup, histories: usize, test: &[Record]) -> Result<Evaluator, RecordError> {
    let config = &setup.config;
    match &setup.model {
        AnyModel::Linear(model) if model.is_declared() => {
            DeclaredEvaluator::new(model, test).map(Evaluator::Declared)
        }
        AnyModel::Linear(model) => {
            let model = Arc::new(model.unclipped());
            let regression = is_regression(config);
            LinearEvaluator::new(&model, config.domain, histories, test, regression)
                .map(Evaluator::Linear)
        }
        AnyModel::Neural(model) => {
            let each = config.data.batch.saturating_mul(config.rounds);
            let each = each.saturating_add(config.data.warmup);
            let learners = config.graph.learners();
            NeuralEvaluator::new(model, learners, each, test).map(Evaluator::Network)
        }
    }
}

/// Which learners are measured: all, or evenly spaced ones.
fn measured_learners(learners: usize) -> Vec<usize> {
    let count = learners.min(MEASURED_LEARNERS_MAX);
    (0..count).map(|place| place * learners / count).collect()
}

/// All learners before round 0.
pub(crate) fn gather(
    setup: &Setup,
    streams: Vec<Stream>,
    mut order: Shuffle,
) -> Result<Vec<Member>, SimulateError> {
    let config = &setup.config;
    let mut members = Vec::with_capacity(streams.len());
    let start = common_start(setup, &mut order);
    for (id, stream) in config.graph.ids().zip(streams) {
        let mut learner = setup.learner(id)?;
        if let Some(start) = start.clone().or_else(|| spread_start(setup, &mut order)) {
            learner = learner.starting_at(&start);
        }
        members.push(Member { learner, stream, batch: Vec::new(), ran_dry: false });
    }
    Ok(members)
}

/// Where all learners of a network start: at zero it would learn nothing, and learners who start apart could
/// not be averaged.
pub(crate) fn common_start(setup: &Setup, order: &mut Shuffle) -> Option<Vec<f64>> {
    match &setup.model {
        AnyModel::Neural(model) => {
            model.neural().initial_parameters(|| Ok::<_, Infallible>(order.unit())).ok()
        }
        AnyModel::Linear(_) => None,
    }
}

/// Where one learner starts, if the config wants learners apart.
pub(crate) fn spread_start(setup: &Setup, order: &mut Shuffle) -> Option<Vec<f64>> {
    let spread = setup.config.start_spread;
    let mut coordinate = || spread * (2.0 * order.unit() - 1.0);
    (spread > 0.0).then(|| (0..setup.model.parameters()).map(|_| coordinate()).collect())
}

/// A round of all learners is worth several threads from so many multiplications on: waking one takes longer
/// than a round of five small learners.
const WORTH_THREADS: u64 = 500_000;

/// What a coordinate of noise costs, in multiplications.
const NOISE_WORK: u64 = 20;

/// Does something with every learner, in several threads where that is worth it. Learners do not share anything,
/// so the result is the same either way.
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
    if total >= WORTH_THREADS {
        members.par_iter_mut().map(work).collect()
    } else {
        members.iter_mut().map(work).collect()
    }
}

fn observe_all(
    members: &mut [Member],
    count: u64,
    warming_up: bool,
    evaluator: &mut Evaluator,
) -> Result<Score, SimulateError> {
    let scores: Vec<Result<Score, (LearnerId, RecordError)>> = with_each(members, |member| {
        member.batch = member.stream.next(count);
        member.ran_dry |= (member.batch.len() as u64) < count;
        let id = member.learner.id();
        member.learner.observe(&member.batch).map_err(|error| (id, error))
    });
    let mut total = Score::default();
    for score in scores {
        let score = score.map_err(|(learner, error)| SimulateError::Record { learner, error })?;
        total.records += score.records;
        total.loss_sum += score.loss_sum;
        total.correct += score.correct;
    }
    for (place, member) in members.iter().enumerate() {
        let theta = member.learner.private_parameters().for_owner();
        let learner = member.learner.id();
        evaluator
            .remember(place, theta, &member.batch)
            .map_err(|error| SimulateError::Record { learner, error })?;
    }
    // The warm-up is collected before anything is learnt: it says nothing about predictions.
    Ok(if warming_up { Score::default() } else { total })
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
        let neighbours = setup.config.graph.neighbours(member.learner.id());
        let heard: Vec<&Release> =
            neighbours.iter().map(|&(id, _)| &releases[id.0 as usize]).collect();
        member.learner.absorb(&heard);
    });
}

fn row(
    setup: &Setup,
    t: u64,
    members: &[Member],
    score: &Score,
    total: &Score,
    metrics: Metrics,
) -> RoundRow {
    let delta = setup.config.delta;
    #[expect(clippy::cast_precision_loss, reason = "record counts stay far below 2^53")]
    let share = |part: f64, whole: u64| (whole > 0).then(|| part / whole as f64);
    #[expect(clippy::cast_precision_loss, reason = "record counts stay far below 2^53")]
    let correct = total.correct as f64;
    let accounts = || members.iter().map(|member| member.learner.accountant());
    RoundRow {
        round: t,
        records: members.iter().map(|member| member.learner.memory().records()).sum(),
        prequential_loss: share(score.loss_sum, score.records),
        prequential_accuracy: share(correct, total.records)
            .filter(|_| !is_regression(&setup.config)),
        metrics,
        epsilon: accounts().map(|account| epsilon_from_zcdp(account.spent().zcdp, delta)).collect(),
        pure_epsilon: accounts().map(|account| account.spent().pure).collect(),
        noise_scale: accounts().map(|account| account.mechanism().noise_scale(Round(t))).collect(),
    }
}

fn learner_outcome(member: &Member, delta: f64) -> LearnerOutcome {
    let spent = member.learner.accountant().spent();
    LearnerOutcome {
        records: member.learner.memory().records(),
        draws_max: member.stream.draws_max(),
        pure_epsilon: spent.pure,
        zcdp: spent.zcdp,
        epsilon: epsilon_from_zcdp(spent.zcdp, delta),
        ran_dry: member.ran_dry,
    }
}
