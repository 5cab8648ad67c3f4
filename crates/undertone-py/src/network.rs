//! A network of learners in this process.

use crate::arrays::{Matrix, Schema, Vector};
use crate::config::{PyConfig, to_python};
use crate::errors::{checked_delta, config_error, simulate_error, stream_error};
use crate::loss::PyLoss;
use crate::public_model::PyPublicModel;
use numpy::PyArray1;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use undertone_lab::columns::{COLUMNS, Values};
use undertone_lab::experiment::resolved;
use undertone_lab::summary::RunEnding;
use undertone_lab::{
    Ending, LearnerOutcome, Measuring, RoundRow, RunEntropy, RunFacts, Simulation, Summary,
    run_folder, stream,
};

/// The most rounds that are measured, as in the command.
const ROWS_MAX: u64 = 2000;

/// The compiled part of :class:`undertone.Network`.
#[pyclass(module = "undertone", name = "Network", subclass)]
pub(crate) struct PyNetwork {
    run: Simulation,
    schema: Schema,
    config: Py<PyConfig>,
    loss: Option<Py<PyLoss>>,
    facts: RunFacts,
    /// Set by an error in the middle of a round: the network cannot continue after that.
    broken: bool,
}

#[pymethods]
impl PyNetwork {
    #[new]
    #[pyo3(signature = (config, names=None, classes=None, sources=None, test=None, loss=None, seed=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        config: Py<PyConfig>,
        names: Option<Vec<String>>,
        classes: Option<Bound<'_, PyList>>,
        sources: Option<Vec<(Matrix<'_>, Vector<'_>)>>,
        test: Option<(Matrix<'_>, Vector<'_>)>,
        loss: Option<Py<PyLoss>>,
        seed: Option<u64>,
    ) -> PyResult<PyNetwork> {
        let loaded = config.get().experiment()?;
        let mut setup = config.get().setup(py)?;
        if let Some(loss) = &loss {
            setup = loss.get().join(py, &setup)?;
        }
        let order = seed.unwrap_or(0);
        let experiment = &loaded.checked;
        let (streams, schema) = match sources {
            None => {
                let streams = py.detach(|| stream::load(experiment, &loaded.folder, order));
                let streams = streams.map_err(config_error)?;
                let classes =
                    streams.classes.clone().map(|names| PyList::new(py, names)).transpose()?;
                (streams, Schema::new(py, &setup, None, classes)?)
            }
            Some(sources) => {
                let learners = setup.agreement.graph.learners();
                if sources.len() != learners {
                    let text = format!("{} sources for {learners} learners", sources.len());
                    return Err(PyValueError::new_err(text));
                }
                let schema = Schema::new(py, &setup, names, classes)?;
                let records: PyResult<Vec<_>> =
                    sources.iter().map(|(rows, labels)| schema.records(rows, labels)).collect();
                let test = test.map(|(rows, labels)| schema.records(&rows, &labels)).transpose()?;
                let streams =
                    stream::from_records(experiment, records?, test.unwrap_or_default(), order);
                (streams.map_err(|error| stream_error(None, error))?, schema)
            }
        };
        let facts = RunFacts {
            rounds_planned: experiment.rounds,
            records_repeat: experiment.data.repeat,
            seed,
            source: streams.name.clone(),
            test_records: streams.test.len(),
            records_scaled: streams.scaled,
            records_refused: streams.refused,
            public: streams.public,
            seconds: 0.0,
        };
        let rounds = experiment.rounds;
        let (entropy, measuring) = (RunEntropy::new(seed), Measuring::Evenly(ROWS_MAX));
        let run = py.detach(|| Simulation::new(setup, rounds, streams, entropy, measuring));
        let run = run.map_err(simulate_error)?;
        Ok(PyNetwork { run, schema, config, loss, facts, broken: false })
    }

    /// How many more records a learner needs for this many rounds.
    fn _records_wanted(&self, learner: usize, rounds: u64) -> PyResult<u64> {
        self.check_learner(learner)?;
        Ok(self.run.records_wanted(learner, rounds))
    }

    /// Appends rows to the stream of a learner.
    fn _feed(&mut self, learner: usize, matrix: Matrix<'_>, labels: Vector<'_>) -> PyResult<()> {
        self.check_learner(learner)?;
        let records = self.schema.records(&matrix, &labels)?;
        let fed = self.run.feed(learner, records);
        let (scaled, refused) = fed.map_err(|error| stream_error(Some(learner), error))?;
        self.facts.records_scaled += scaled;
        self.facts.records_refused += refused;
        Ok(())
    }

    /// Runs up to this many rounds. Returns how many were run, and the measurements of the last if
    /// it was measured.
    fn _run<'py>(
        &mut self,
        py: Python<'py>,
        rounds: u64,
    ) -> PyResult<(u64, Option<Bound<'py, PyDict>>)> {
        if self.broken {
            return Err(PyRuntimeError::new_err(
                "an error has ended this run in the middle of a round",
            ));
        }
        let mut last = None;
        for done in 0..rounds {
            if self.run.ended().is_some() {
                return Ok((done, last));
            }
            // Ctrl-C is checked between rounds, when no round is incomplete.
            py.check_signals()?;
            let started = Instant::now();
            let run = &mut self.run;
            let row = py.detach(|| run.round()).map_err(|error| {
                self.broken = true;
                let raised = self.loss.as_ref().and_then(|loss| loss.get().raised());
                raised.unwrap_or_else(|| simulate_error(error))
            })?;
            self.facts.seconds += started.elapsed().as_secs_f64();
            last = row.map(|row| row_dict(py, &row)).transpose()?;
        }
        Ok((rounds, last))
    }

    /// How many rounds were run.
    #[getter]
    fn rounds_run(&self) -> u64 {
        self.run.rounds_run()
    }

    /// How many learners there are.
    #[getter]
    fn learners(&self) -> usize {
        self.run.setup().agreement.graph.learners()
    }

    /// Why no more rounds can be run: ``"finished"`` or ``"budget-exhausted"``; None while rounds
    /// can be run.
    #[getter]
    fn ended(&self) -> Option<&'static str> {
        self.run.ended().map(|ending| RunEnding::of(ending).name())
    }

    /// Why the budget was exhausted, if it was.
    fn _refusal(&self) -> Option<String> {
        match self.run.ended() {
            Some(Ending::BudgetExhausted { learner, refusal }) => {
                Some(format!("learner {learner}: {refusal}"))
            }
            Some(Ending::Finished | Ending::Interrupted) | None => None,
        }
    }

    /// The measured rounds, as a list of dicts.
    fn _rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.run.outcome().rows.iter().map(|row| row_dict(py, row)).collect()
    }

    /// ε that each learner has spent, at the given δ or the config's: what its most used record has paid, all its uses
    /// together.
    #[pyo3(signature = (delta=None))]
    fn get_epsilon(&self, delta: Option<f64>) -> PyResult<Vec<f64>> {
        let delta = checked_delta(delta, self.run.setup().agreement.delta)?;
        let (learners, noise) =
            (self.run.outcome().learners, self.run.setup().agreement.noise_kind);
        let paid = |learner: &LearnerOutcome| learner.spent.of_repeated(learner.draws_max);
        Ok(learners.iter().map(|learner| paid(learner).epsilon(noise, delta)).collect())
    }

    /// The run in numbers and the privacy statement: what ``undertone simulate --json`` prints.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let summary = Summary::new(self.run.setup(), &self.run.outcome(), &self.facts);
        to_python(py, &summary)
    }

    /// The model that may be published: an average of all releases.
    #[getter]
    fn public_model(&self, py: Python<'_>) -> PyPublicModel {
        let setup = Arc::clone(self.run.setup());
        let outcome = self.run.outcome();
        PyPublicModel {
            setup,
            config: self.config.clone_ref(py),
            schema: self.schema.clone_ref(py),
            loss: self.loss.as_ref().map(|loss| loss.clone_ref(py)),
            model: outcome.public,
            accounts: outcome.accounts,
            private: self.facts.seed.is_none(),
            public: self.facts.public,
        }
    }

    /// One learner's own parameters. **Private**, unless the method is ``shielded``: never publish them.
    fn private_parameters<'py>(
        &self,
        py: Python<'py>,
        learner: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let outcome = self.run.outcome();
        let theta = outcome.parameters.for_owners().get(learner);
        let theta = theta.ok_or_else(|| PyValueError::new_err("there is no such learner"))?;
        Ok(PyArray1::from_slice(py, theta))
    }

    /// Writes what ``undertone simulate`` writes: config, rounds, summary, model, ledger and report.
    fn save(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        let setup = self.run.setup();
        let outcome = self.run.outcome();
        let summary = Summary::new(setup, &outcome, &self.facts);
        let raw = resolved(self.config.get().experiment()?, &setup.scales());
        let agreement = &setup.agreement;
        let os_error = |error: undertone_lab::FileError| PyOSError::new_err(error.to_string());
        py.detach(|| {
            run_folder::check(&folder).map_err(os_error)?;
            run_folder::write(&folder, &raw, &outcome, &summary, agreement).map_err(os_error)
        })
    }

    /// The settings.
    #[getter]
    fn config(&self, py: Python<'_>) -> Py<PyConfig> {
        self.config.clone_ref(py)
    }

    fn __repr__(&self) -> String {
        let (learners, rounds) = (self.learners(), self.rounds_run());
        format!("Network(learners={learners}, rounds_run={rounds})")
    }
}

impl PyNetwork {
    fn check_learner(&self, learner: usize) -> PyResult<()> {
        if learner < self.learners() {
            Ok(())
        } else {
            Err(PyValueError::new_err("there is no such learner"))
        }
    }
}

/// One measured round: the columns of `rounds.csv` by name.
fn row_dict<'py>(py: Python<'py>, row: &RoundRow) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for column in COLUMNS {
        match column.values {
            Values::Count(count) => dict.set_item(column.name, count(row))?,
            Values::Number(number) => dict.set_item(column.name, number(row))?,
            Values::PerLearner(numbers) => dict.set_item(column.name, numbers(row).to_vec())?,
        }
    }
    Ok(dict)
}
