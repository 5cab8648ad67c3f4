//! One learner on its own, driven by its records: a round for every full batch.
//!
//! It has no neighbours (`network.topology = "alone"`), so all it publishes is its public model.
//! Between two batches it has released and is waiting for records. A release does not depend on the
//! records of its own round, so this order does not change the account.

use std::fmt;
use std::sync::Arc;
use thiserror::Error;
use undertone_core::method::Perturbs;
use undertone_core::noise::{Entropy, OsEntropy};
use undertone_core::persist::{self, Damaged, Fields, Persist};
use undertone_core::privacy::{Accountant, ModelAccounts, Refusal, Statement, format_epsilon};
use undertone_core::{
    Learner, LearnerId, Memory, PrivateParameters, PublicModel, ReleaseError, Score,
};
use undertone_models::{
    AnyMemory, BoundedRecord, DeclaredFault, Features, Prediction, PublicRandom, Record,
    RecordChecker, RecordError, Setup, SetupError, accounts_sentence, visit_bounded_records,
};

/// A learner without neighbours: records go in, a public model comes out.
pub struct OnlineLearner<E = OsEntropy> {
    setup: Arc<Setup>,
    checker: RecordChecker,
    entropy: E,
    learner: Learner<AnyMemory>,
    public: PublicModel,
    /// What records have paid for the model that it started from; empty if it started from none.
    start: ModelAccounts,
    /// Records of a batch that is not full yet.
    waiting: Vec<BoundedRecord>,
    total: Score,
    /// How many records were scaled into the bounds.
    scaled: u64,
    /// Why it learns no more.
    end: Option<ReleaseError>,
}

/// Why a learner cannot continue.
#[derive(Debug, Error)]
pub enum OnlineError {
    /// A setup of several learners.
    #[error("network.topology: a learner on its own needs \"alone\", and learners = 1")]
    NotAlone,
    /// A method whose releases contain nothing.
    #[error("method = \"local\" releases nothing: there is no budget to keep")]
    NothingReleased,
    /// The memory does not fit the loss.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A record, or the features of a query, do not fit the model or are outside the bounds.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The budget is spent: nothing more is learnt. The model stays as it is.
    #[error(transparent)]
    Budget(Refusal),
    /// A release failed for another reason than the budget.
    #[error(transparent)]
    Release(ReleaseError),
    /// A user's loss failed; nothing more is learnt.
    #[error(transparent)]
    Function(#[from] DeclaredFault),
    /// A saved state does not fit.
    #[error(transparent)]
    Damaged(#[from] Damaged),
}

impl From<ReleaseError> for OnlineError {
    fn from(error: ReleaseError) -> OnlineError {
        match error {
            ReleaseError::Refused(refusal) => OnlineError::Budget(refusal),
            ReleaseError::Noise(_) => OnlineError::Release(error),
        }
    }
}

impl<E: Entropy> OnlineLearner<E> {
    /// A learner before its first record.
    ///
    /// # Errors
    /// When the setup is not that of one learner, or memory and loss do not fit.
    pub fn new(setup: Arc<Setup>, entropy: E) -> Result<OnlineLearner<E>, OnlineError> {
        let mut fresh = Self::unreleased(setup, entropy)?;
        // The start is public and always the same: it must not depend on any record.
        let mut random = PublicRandom::new(0);
        let start = fresh.setup.common_start(|| random.unit());
        if let Some(start) = start.or_else(|| fresh.setup.spread_start(|| random.unit())) {
            fresh.learner = fresh.learner.starting_at(&start);
        }
        fresh.release()?;
        Ok(fresh)
    }

    /// A learner that starts from a model that was published before.
    ///
    /// Starting from public values costs nothing: the records behind the model have paid for it, and `accounts` says how
    /// much. Records that arrive now must be other ones, and pay for their own effect.
    ///
    /// # Errors
    /// As [`OnlineLearner::new`].
    ///
    /// # Panics
    /// When the model has another dimension: a bug in the caller.
    pub fn starting_at(
        setup: Arc<Setup>,
        entropy: E,
        start: &PublicModel,
        accounts: &ModelAccounts,
    ) -> Result<OnlineLearner<E>, OnlineError> {
        let mut fresh = Self::unreleased(setup, entropy)?;
        fresh.start = accounts.clone();
        fresh.learner = fresh.learner.starting_at(start.values());
        fresh.release()?;
        Ok(fresh)
    }

    fn unreleased(setup: Arc<Setup>, entropy: E) -> Result<OnlineLearner<E>, OnlineError> {
        if setup.agreement.graph.learners() != 1 {
            return Err(OnlineError::NotAlone);
        }
        if setup.agreement.method.describe().perturbs == Perturbs::Nothing {
            return Err(OnlineError::NothingReleased);
        }
        Ok(OnlineLearner {
            checker: setup.record_checker(),
            entropy,
            learner: setup.learner(LearnerId(0))?,
            public: PublicModel::new(setup.model.parameters()),
            start: ModelAccounts::default(),
            waiting: Vec::new(),
            total: Score::default(),
            scaled: 0,
            end: None,
            setup,
        })
    }

    /// Takes a record; the intercept is added where the agreement has one. When the batch is full,
    /// the learner predicts and scores it, learns from it and releases. Returns whether the batch
    /// was full.
    ///
    /// # Errors
    /// As [`learn_record`](Self::learn_record).
    pub fn learn(&mut self, features: &[f64], label: f64) -> Result<bool, OnlineError> {
        let features = self.with_intercept(features);
        self.learn_record(Record { features, label })
    }

    /// Takes a record that has all features of the model, including the intercept.
    ///
    /// # Errors
    /// When the record does not fit: it is then not kept. Or when the budget is spent, a user's
    /// function fails, or there is no entropy: nothing more is learnt then.
    pub fn learn_record(&mut self, record: Record) -> Result<bool, OnlineError> {
        self.check_able()?;
        let record = self.check(record)?;
        self.learn_checked(record)
    }

    /// Checks a record and brings it within the bounds, without learning from it.
    ///
    /// # Errors
    /// When the record does not fit.
    pub fn check(&self, record: Record) -> Result<BoundedRecord, OnlineError> {
        Ok(self.checker.check(record)?)
    }

    /// Takes a record that was [checked](Self::check).
    ///
    /// # Errors
    /// When the budget is spent, a user's function fails or there is no entropy; nothing more is learnt then.
    ///
    /// # Panics
    /// When the record was checked for a learner of another setup: a bug in the caller.
    pub fn learn_checked(&mut self, record: BoundedRecord) -> Result<bool, OnlineError> {
        self.check_able()?;
        assert!(self.checker.has_checked(&record), "a record is learnt that was checked for it");
        self.scaled += u64::from(record.was_scaled());
        self.waiting.push(record);
        if (self.waiting.len() as u64) < self.batch_wanted() {
            return Ok(false);
        }
        self.round()?;
        Ok(true)
    }

    /// Checks that it may continue to learn.
    fn check_able(&self) -> Result<(), OnlineError> {
        if let Some(fault) = self.setup.model.declared_fault() {
            return Err(fault.into());
        }
        self.end.map_or(Ok(()), |end| Err(end.into()))
    }

    /// How many records the current round takes.
    fn batch_wanted(&self) -> u64 {
        let data = &self.setup.agreement.records;
        data.batch + if self.learner.memory().records() == 0 { data.warmup } else { 0 }
    }

    fn round(&mut self) -> Result<(), OnlineError> {
        let warming_up = self.batch_wanted() > self.setup.agreement.records.batch;
        let score = self.learner.observe(&self.waiting);
        self.waiting.clear();
        // The warm-up is collected before anything is learnt, so its score is not a score of
        // predictions.
        if !warming_up {
            self.total.records += score.records;
            self.total.loss_sum += score.loss_sum;
            self.total.correct += score.correct;
        }
        self.check_able()?;
        self.learner.absorb(&[]);
        self.check_able()?;
        self.release()
    }

    fn release(&mut self) -> Result<(), OnlineError> {
        match self.learner.release(&mut self.entropy) {
            Ok(release) => {
                self.public.include(&release);
                Ok(())
            }
            Err(error) => {
                self.end = Some(error);
                Err(error.into())
            }
        }
    }

    /// The setup it follows.
    #[must_use]
    pub fn setup(&self) -> &Arc<Setup> {
        &self.setup
    }

    /// Its account.
    #[must_use]
    pub fn accountant(&self) -> &Accountant {
        self.learner.accountant()
    }

    /// Predicts with the learner's own parameters, for its owner.
    ///
    /// # Errors
    /// When there are more or fewer features than a record has, or one is not finite.
    pub fn predict(&self, features: &[f64]) -> Result<Prediction, OnlineError> {
        let features = self.checker.check_features(self.with_intercept(features))?;
        Ok(self.setup.model.predict(self.private_parameters().for_owner(), &features)?)
    }

    /// The features, with the constant one if the agreement adds it.
    fn with_intercept(&self, features: &[f64]) -> Features {
        let mut values = features.to_vec();
        values.extend(self.setup.agreement.records.intercept.then_some(1.0));
        Features::Dense(values.into())
    }

    /// The model that may be published.
    #[must_use]
    pub fn public_model(&self) -> &PublicModel {
        &self.public
    }

    /// What records have paid for the public model: this learner's, and those behind the model that it started from.
    #[must_use]
    pub fn model_accounts(&self) -> ModelAccounts {
        self.start.continued_by([self.accountant().paid_account(self.learner.id(), 1)])
    }

    /// Its own parameters, for its owner.
    #[must_use]
    pub fn private_parameters(&self) -> PrivateParameters<'_> {
        self.learner.private_parameters()
    }

    /// How many records it has learnt from.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.learner.memory().records()
    }

    /// How many records wait for their batch to be full.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How many records were scaled into the bounds.
    #[must_use]
    pub fn scaled(&self) -> u64 {
        self.scaled
    }

    /// How well records were predicted before they were learnt from. Private: for the owner.
    #[must_use]
    pub fn score(&self) -> Score {
        self.total
    }

    /// Why it learns no more, if its budget is spent.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        self.end.and_then(|end| match end {
            ReleaseError::Refused(refusal) => Some(refusal),
            ReleaseError::Noise(_) => None,
        })
    }

    /// What may be said of its privacy in numbers, at the agreement's δ.
    #[must_use]
    pub fn privacy(&self) -> Statement {
        let delta = self.setup.agreement.delta;
        self.setup.statement(self.learner.id(), self.accountant(), delta, 1)
    }

    /// The privacy statement, in sentences.
    #[must_use]
    pub fn statement(&self) -> Vec<String> {
        let privacy = self.privacy();
        let mut text = Vec::new();
        text.push(format!("Unit: {}.", privacy.unit));
        text.push(format!(
            "Spent in {} rounds: ε = {} at δ = {:e}.",
            self.accountant().round(),
            format_epsilon(privacy.spent.epsilon),
            privacy.delta
        ));
        text.extend(privacy.sentences_to_come());
        if let Some(declared) = self.setup.agreement.model.declared_by_user() {
            text.push(format!("A loss of the user's own: {declared}."));
        }
        text.push(
            "Covered: the public model. Not covered: records, losses and accuracies, which are for the \
             learner's owner; a person behind many records."
                .into(),
        );
        if self.start.iter().next().is_some() {
            text.push(format!(
                "It started from a published model. {} Records that came since must be others.",
                accounts_sentence(&self.start, privacy.delta)
            ));
        }
        text
    }

    /// The whole state as bytes. Private: they hold records and parameters.
    ///
    /// Two learners that continue from one state release the same rounds twice, and each pays once. So the bytes
    /// leave this crate only in a file that is loaded once.
    ///
    /// # Errors
    /// When a user's function has failed in the middle of a round, or a release has for another reason than the
    /// budget: what there is then must never be released.
    pub(crate) fn state(&mut self) -> Result<Vec<u8>, OnlineError> {
        match self.check_able() {
            Ok(()) | Err(OnlineError::Budget(_)) => Ok(persist::save(self)),
            Err(error) => Err(error),
        }
    }

    /// The learner that `state` was called on, from the same setup.
    ///
    /// # Errors
    /// When the bytes are damaged or of another setup.
    pub(crate) fn from_state(
        setup: Arc<Setup>,
        entropy: E,
        bytes: &[u8],
    ) -> Result<OnlineLearner<E>, OnlineError> {
        let mut learner = Self::unreleased(setup, entropy)?;
        persist::load(&mut learner, bytes)?;
        if !learner.learner.has_released() {
            // It was saved after a refusal, and must be refused again. No other state like this is
            // ever saved.
            if !learner.learner.accountant().would_exceed() {
                return Err(Damaged.into());
            }
            match learner.release() {
                Err(OnlineError::Budget(_)) => {}
                Ok(()) => return Err(Damaged.into()),
                Err(error) => return Err(error),
            }
        }
        Ok(learner)
    }
}

/// Prints its progress only: parameters and records are private.
impl<E: Entropy> fmt::Debug for OnlineLearner<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (records, round) = (self.records(), self.learner.round());
        write!(formatter, "OnlineLearner(records={records}, round={round}, <redacted>)")
    }
}

impl<E: Entropy> Persist for OnlineLearner<E> {
    fn visit(&mut self, fields: &mut dyn Fields) {
        self.learner.visit(fields);
        self.public.visit(fields);
        self.start.visit(fields);
        let checker = &self.checker;
        visit_bounded_records(fields, &mut self.waiting, |record| checker.check_again(record));
        fields.count(&mut self.total.records);
        fields.number(&mut self.total.loss_sum);
        fields.count(&mut self.total.correct);
        fields.count(&mut self.scaled);
    }
}
