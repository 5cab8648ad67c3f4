//! The account of one learner, without learning.

use crate::config::{PyConfig, from_any};
use crate::errors::{BudgetError, checked_delta, checked_rounds};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use std::sync::Arc;
use undertone::privacy::{
    Accountant, Cap, Cost, Refusal, RoundTerms, format_epsilon, planned_cost, zcdp_from_epsilon,
};
use undertone::{LearnerId, Round};
use undertone_lab::Setup;

/// The compiled part of :class:`undertone.Accountant`.
#[pyclass(module = "undertone", name = "Accountant", subclass)]
pub(crate) struct PyAccountant {
    setup: Arc<Setup>,
    learner: LearnerId,
    account: Accountant,
    records: u64,
}

impl PyAccountant {
    /// One round: there are so many records, neighbours are heard, and the next release is charged. If the
    /// charge is refused, nothing changes.
    fn advance(&mut self, records: u64, weight_heard: f64) -> Result<(), Refusal> {
        let mut account = self.account.clone();
        account.advance(&RoundTerms { round: account.round(), weight_heard, records });
        account.pay()?;
        (self.account, self.records) = (account, records);
        Ok(())
    }

    /// What the account counts in this round: the records so far, or the persons behind the gradient.
    fn counted(&self, records: Option<u64>) -> u64 {
        let (round, data) = (self.account.round(), &self.setup.agreement.records);
        if self.setup.agreement.unit.is_grouped() {
            return records.unwrap_or(self.account.mechanism().planned_terms(round).records);
        }
        let warmup = if round == Round::ZERO { data.warmup } else { 0 };
        self.records.saturating_add(records.unwrap_or(data.batch + warmup))
    }
}

#[pymethods]
impl PyAccountant {
    #[new]
    #[pyo3(signature = (config, learner=0))]
    fn new(py: Python<'_>, config: &Bound<'_, PyAny>, learner: u32) -> PyResult<PyAccountant> {
        let setup = PyConfig::new(from_any(config)?).setup(py)?;
        let learners = setup.agreement.graph.learners();
        let Some(&mechanism) = setup.mechanisms.get(learner as usize) else {
            let text = format!("learner = {learner}: there are {learners}, from 0");
            return Err(PyIndexError::new_err(text));
        };
        let mut account = Accountant::new(mechanism, setup.agreement.caps[learner as usize]);
        // The release of round 0 depends on no record, and is free.
        account.pay().map_err(|refusal| BudgetError::new_err(refusal.to_string()))?;
        Ok(PyAccountant { setup, learner: LearnerId(learner), account, records: 0 })
    }

    /// Pays for the releases of this many more rounds. In each, ``records`` records arrive (by
    /// default the config's batch) and neighbours with a total weight of ``weight_heard`` are heard
    /// (by default all). Where gradients are cut by person, ``records`` is instead how many persons are behind the
    /// gradient. The release of round 0 is free and comes first, so ``step(n)`` is what a
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
            let counted = self.counted(records);
            self.advance(counted, heard)
                .map_err(|refusal| BudgetError::new_err(refusal.to_string()))?;
            if done % 65_536 == 65_535 {
                py.check_signals()?;
            }
        }
        Ok(())
    }

    /// ε spent so far, at the given δ or the config's.
    #[pyo3(signature = (delta=None))]
    fn get_epsilon(&self, delta: Option<f64>) -> PyResult<f64> {
        Ok(self.account.epsilon(checked_delta(delta, self.setup.agreement.delta)?))
    }

    /// Pure ε spent so far; None with Gaussian noise.
    fn get_pure_epsilon(&self) -> Option<f64> {
        Some(self.account.spent().pure).filter(|pure| pure.is_finite())
    }

    /// zCDP spent so far.
    #[getter]
    fn zcdp(&self) -> f64 {
        self.account.spent().zcdp
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
        };
        let heard = self.setup.agreement.graph.weight(self.learner);
        for done in 0..rounds {
            let counted = trial.counted(None);
            if trial.advance(counted, heard).is_err() {
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

    /// ε over a number of rounds as planned, with all records and neighbours. Nothing is charged.
    #[pyo3(signature = (rounds, delta=None))]
    fn planned_epsilon(&self, py: Python<'_>, rounds: u64, delta: Option<f64>) -> PyResult<f64> {
        let rounds = checked_rounds(rounds)?;
        let delta = checked_delta(delta, self.setup.agreement.delta)?;
        let mechanism = self.account.mechanism();
        Ok(py.detach(|| planned_cost(mechanism, rounds)).epsilon(mechanism.noise.kind, delta))
    }

    /// ε for ever, as planned; None if there is no certificate.
    #[pyo3(signature = (delta=None))]
    fn lifetime_epsilon(&self, delta: Option<f64>) -> PyResult<Option<f64>> {
        let delta = checked_delta(delta, self.setup.agreement.delta)?;
        let noise = self.setup.agreement.noise_kind;
        let lifetime = self.setup.lifetimes[self.learner.0 as usize].as_ref().ok();
        let epsilon = lifetime.map(|lifetime| lifetime.total.epsilon(noise, delta));
        Ok(epsilon.filter(|epsilon| epsilon.is_finite()))
    }

    /// What every ε is about: the unit of privacy.
    #[getter]
    fn unit(&self) -> String {
        self.setup.agreement.unit.to_string()
    }

    /// What the user has declared about a loss of their own; None for built-in losses.
    #[getter]
    fn declared_by_user(&self) -> Option<String> {
        self.setup.agreement.model.declared_by_user()
    }

    fn __repr__(&self) -> PyResult<String> {
        let epsilon = self.get_epsilon(None)?;
        let (rounds, delta) = (self.account.round(), self.setup.agreement.delta);
        Ok(format!(
            "Accountant(rounds={rounds}, epsilon={}, delta={delta:e})",
            format_epsilon(epsilon)
        ))
    }
}
