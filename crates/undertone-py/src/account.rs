//! The account of one learner, without learning.

use crate::config::{PyConfig, from_any};
use crate::errors::{BudgetError, checked_delta, checked_rounds};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use std::sync::Arc;
use undertone::privacy::{
    Accountant, Cap, Cost, Refusal, RoundTerms, Statement, format_epsilon, zcdp_from_epsilon,
};
use undertone::{LearnerId, Round};
use undertone_lab::Setup;
use undertone_lab::budget::epsilon_of_uses;

/// The compiled part of :class:`undertone.Accountant`.
#[pyclass(module = "undertone", name = "Accountant", subclass)]
pub(crate) struct PyAccountant {
    setup: Arc<Setup>,
    learner: LearnerId,
    account: Accountant,
    records: u64,
    /// Whether the config draws records again when they run out.
    records_repeat: bool,
}

impl PyAccountant {
    /// How often a record was used: as given, or once, or where records are drawn again as often as any can have been.
    fn uses(&self, given: Option<u64>) -> u64 {
        given.unwrap_or(if self.records_repeat { self.records } else { 1 })
    }

    fn statement(&self, delta: Option<f64>, uses: Option<u64>) -> PyResult<Statement> {
        let delta = checked_delta(delta, self.setup.agreement.delta)?;
        Ok(self.setup.statement(self.learner, &self.account, delta, self.uses(uses)))
    }

    /// One round: records arrive, neighbours are heard, and the next release is charged. If the
    /// charge is refused, nothing changes.
    fn advance(&mut self, arriving: u64, weight_heard: f64) -> Result<(), Refusal> {
        let (mut account, records) = (self.account.clone(), self.records.saturating_add(arriving));
        account.advance(&RoundTerms { round: account.round(), weight_heard, records });
        account.pay()?;
        (self.account, self.records) = (account, records);
        Ok(())
    }

    fn arriving(&self, round: Round, records: Option<u64>) -> u64 {
        let data = &self.setup.agreement.records;
        records.unwrap_or(data.batch + if round == Round::ZERO { data.warmup } else { 0 })
    }
}

#[pymethods]
impl PyAccountant {
    #[new]
    #[pyo3(signature = (config, learner=0))]
    fn new(py: Python<'_>, config: &Bound<'_, PyAny>, learner: u32) -> PyResult<PyAccountant> {
        let config = PyConfig::new(from_any(config)?);
        let (setup, records_repeat) = (config.setup(py)?, config.loaded.records_repeat());
        let learners = setup.agreement.graph.learners();
        let Some(&mechanism) = setup.mechanisms.get(learner as usize) else {
            let text = format!("learner = {learner}: there are {learners}, from 0");
            return Err(PyIndexError::new_err(text));
        };
        let mut account = Accountant::new(mechanism, setup.agreement.caps[learner as usize]);
        // The release of round 0 depends on no record, and is free.
        account.pay().map_err(|refusal| BudgetError::new_err(refusal.to_string()))?;
        let learner = LearnerId(learner);
        Ok(PyAccountant { setup, learner, account, records: 0, records_repeat })
    }

    /// Pays for the releases of this many more rounds. In each, ``records`` records arrive (by
    /// default the config's batch) and neighbours with a total weight of ``weight_heard`` are heard
    /// (by default all). The release of round 0 is free and comes first, so ``step(n)`` is what a
    /// learner has paid after n rounds.
    ///
    /// Raises :class:`BudgetError` at the first round that would exceed the cap; the rounds before
    /// it are charged.
    #[pyo3(signature = (rounds=1, *, records=None, weight_heard=None))]
    fn step(
        &mut self,
        py: Python<'_>,
        rounds: u64,
        records: Option<u64>,
        weight_heard: Option<f64>,
    ) -> PyResult<()> {
        let all = self.setup.agreement.graph.weight(self.learner);
        let heard = weight_heard.unwrap_or(all);
        if !(heard >= 0.0 && heard <= all * (1.0 + 1e-12)) {
            let text = format!("weight_heard = {heard}: must be from 0 to {all}");
            return Err(PyValueError::new_err(text));
        }
        for done in 0..rounds {
            let arriving = self.arriving(self.account.round(), records);
            self.advance(arriving, heard)
                .map_err(|refusal| BudgetError::new_err(refusal.to_string()))?;
            if done % 65_536 == 65_535 {
                py.check_signals()?;
            }
        }
        Ok(())
    }

    /// ε spent so far, at the given δ or the config's: what a record has paid that was used ``uses`` times.
    ///
    /// Records are used once, unless the config draws them again (``data.repeat``). Then ``uses`` is by default
    /// the number of records that have arrived, because all of them may be draws of one record.
    #[pyo3(signature = (delta=None, *, uses=None))]
    fn get_epsilon(&self, delta: Option<f64>, uses: Option<u64>) -> PyResult<f64> {
        let delta = checked_delta(delta, self.setup.agreement.delta)?;
        let noise = self.account.mechanism().noise.kind;
        Ok(self.account.spent().of_repeated(self.uses(uses)).epsilon(noise, delta))
    }

    /// Pure ε spent so far; None with Gaussian noise.
    #[pyo3(signature = (*, uses=None))]
    fn get_pure_epsilon(&self, uses: Option<u64>) -> Option<f64> {
        let spent = self.account.spent().of_repeated(self.uses(uses));
        Some(spent.pure).filter(|pure| pure.is_finite())
    }

    /// zCDP spent so far.
    #[getter]
    fn zcdp(&self) -> f64 {
        self.account.spent().of_repeated(self.uses(None)).zcdp
    }

    /// How many releases were charged, after the free one of round 0.
    #[getter]
    fn rounds(&self) -> u64 {
        self.account.round().0
    }

    /// Whether this many more rounds would exceed the cap. Nothing is charged.
    #[pyo3(signature = (rounds=1))]
    fn would_exceed(&self, py: Python<'_>, rounds: u64) -> PyResult<bool> {
        let mut trial = PyAccountant {
            setup: Arc::clone(&self.setup),
            learner: self.learner,
            account: self.account.clone(),
            records: self.records,
            records_repeat: self.records_repeat,
        };
        let heard = self.setup.agreement.graph.weight(self.learner);
        for done in 0..rounds {
            let arriving = trial.arriving(trial.account.round(), None);
            if trial.advance(arriving, heard).is_err() {
                return Ok(true);
            }
            if done % 65_536 == 65_535 {
                py.check_signals()?;
            }
        }
        Ok(false)
    }

    /// What is left of the cap, as an ε: spending this much more reaches the cap.
    ///
    /// It is in the currency of the cap: ε at the cap's δ, computed in zCDP, which adds up; or pure
    /// ε. None without a cap.
    fn remaining(&self) -> Option<f64> {
        let spent = self.account.spent();
        match self.setup.agreement.caps[self.learner.0 as usize]? {
            Cap::Pure { epsilon } => Some((epsilon - spent.pure).max(0.0)),
            Cap::Approximate { epsilon, delta } => {
                let noise = self.account.mechanism().noise.kind;
                let zcdp = (zcdp_from_epsilon(noise, epsilon, delta) - spent.zcdp).max(0.0);
                Some(Cost { pure: f64::INFINITY, zcdp }.epsilon(noise, delta))
            }
        }
    }

    /// ε over a number of rounds as planned, with all records and neighbours. Nothing is charged. Where the config
    /// draws records again, it is of one that is used in every draw.
    ///
    /// With Laplace noise it may be less than what the same rounds have spent afterwards: a plan has fixed costs, and is
    /// priced by the exact Rényi divergence.
    #[pyo3(signature = (rounds, delta=None))]
    fn planned_epsilon(&self, py: Python<'_>, rounds: u64, delta: Option<f64>) -> PyResult<f64> {
        let rounds = checked_rounds(rounds)?;
        let delta = checked_delta(delta, self.setup.agreement.delta)?;
        let mechanism = self.account.mechanism();
        let taken = self.setup.agreement.records.taken_after(rounds);
        let uses = if self.records_repeat { taken } else { 1 };
        Ok(py.detach(|| epsilon_of_uses(mechanism, rounds, uses, delta)))
    }

    /// A bound on ε for ever, if all goes as planned from now on and there is no cap; None if there is no finite one.
    ///
    /// It is the certificate of the plan until a round has departed from it (``has_departed``), and after that what
    /// was spent and a bound on the rest.
    #[pyo3(signature = (delta=None))]
    fn lifetime_epsilon(&self, delta: Option<f64>) -> PyResult<Option<f64>> {
        Ok(self.statement(delta, None)?.lifetime.ok().map(|bound| bound.epsilon))
    }

    /// Whether a neighbour that counts or a record was missing, so that the certificate of the plan is void.
    #[getter]
    fn has_departed(&self) -> bool {
        self.account.has_departed()
    }

    /// What was spent, what is planned and what holds for ever, in sentences.
    #[getter]
    fn privacy_statement(&self) -> PyResult<Vec<String>> {
        let privacy = self.statement(None, None)?;
        let mut text = vec![format!("Unit: {}.", privacy.unit)];
        text.push(format!(
            "Spent in {} rounds: ε = {} at δ = {:e}{}.",
            self.account.round(),
            format_epsilon(privacy.spent.epsilon),
            privacy.delta,
            match privacy.uses {
                1 => String::new(),
                uses => format!(", by a record that was used {uses} times"),
            }
        ));
        text.extend(privacy.sentences_to_come());
        Ok(text)
    }

    /// What the user has declared about a loss of their own; None for built-in losses.
    #[getter]
    fn declared_by_user(&self) -> Option<String> {
        self.setup.agreement.model.declared_by_user()
    }

    fn __repr__(&self) -> PyResult<String> {
        let epsilon = self.get_epsilon(None, None)?;
        let (rounds, delta) = (self.account.round(), self.setup.agreement.delta);
        Ok(format!(
            "Accountant(rounds={rounds}, epsilon={}, delta={delta:e})",
            format_epsilon(epsilon)
        ))
    }
}
