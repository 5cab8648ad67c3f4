//! The summary of a run: `summary.json`, and the privacy statement in plain words.

use crate::budget::{LifetimeBudget, SCHEMA_VERSION};
use crate::metrics::Metrics;
use crate::simulate::{Ending, Outcome, RoundRow};
use crate::stream::PublicParts;
use serde::Serialize;
use std::fmt;
use undertone::LearnerId;
use undertone::method::Bound;
use undertone::noise::NoiseKind;
use undertone::privacy::{Accountant, Cap, Statement, format_epsilon};
use undertone_models::Setup;

/// The name of the file in a run folder.
pub const NAME: &str = "summary.json";

/// A run in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The version of this format.
    pub schema_version: u32,
    /// The version of Undertone that ran.
    pub undertone_version: &'static str,
    /// The agreement's name.
    pub name: String,
    /// False for a seeded run: anyone who knows the seed can subtract the noise.
    pub private: bool,
    /// `NOT PRIVATE` for a seeded run.
    pub warning: Option<&'static str>,
    /// The seed of a repeatable run.
    pub seed: Option<u64>,
    /// Whether labels and the split among learners are public: then the features of a record are protected,
    /// and its label is not.
    pub labels_public: bool,
    /// Whether classes or categories were read from the records, and count as public.
    pub schema_public: bool,
    /// How it ended.
    pub ending: RunEnding,
    /// Why the budget was exhausted.
    pub refusal: Option<String>,
    /// How many rounds the experiment has.
    pub rounds_planned: u64,
    /// How many rounds were run.
    pub rounds_run: u64,
    /// Conditions of the theorems that the agreement breaks.
    pub unproven: Vec<String>,
    /// What the user declares about a loss of their own; null for built-in losses.
    pub declared_by_user: Option<String>,
    /// The learners and the graph between them.
    pub network: NetworkSummary,
    /// The data.
    pub data: DataSummary,
    /// The first measurement.
    pub first: Metrics,
    /// The last measurement.
    pub last: Metrics,
    /// Share of records classified correctly before their labels were known.
    pub prequential_accuracy: Option<f64>,
    /// The unit of privacy.
    pub unit: &'static str,
    /// How many rounds the noise was chosen for; null where it was given, or chosen for ever.
    pub planned_rounds: Option<u64>,
    /// The largest ε at `delta` that any learner spends in them; null too where a run has departed from its plan.
    pub planned_epsilon: Option<f64>,
    /// One entry for each learner.
    pub learners: Vec<LearnerSummary>,
    /// The statement, paragraph by paragraph.
    pub privacy_statement: Vec<String>,
    /// Wall-clock seconds of the rounds.
    pub seconds: f64,
}

/// How a run ended; why a budget was exhausted is beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunEnding {
    /// All rounds were run.
    Finished,
    /// It was stopped.
    Interrupted,
    /// A release would have cost more than the cap allows.
    BudgetExhausted,
}

impl RunEnding {
    /// How a simulation ended.
    #[must_use]
    pub fn of(ending: &Ending) -> RunEnding {
        match ending {
            Ending::Finished => RunEnding::Finished,
            Ending::Interrupted => RunEnding::Interrupted,
            Ending::BudgetExhausted { .. } => RunEnding::BudgetExhausted,
        }
    }

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RunEnding::Finished => "finished",
            RunEnding::Interrupted => "interrupted",
            RunEnding::BudgetExhausted => "budget-exhausted",
        }
    }
}

impl fmt::Display for RunEnding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// The graph in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct NetworkSummary {
    /// How many learners.
    pub learners: usize,
    /// How many edges.
    pub edges: usize,
    /// δ₂ of W; null in large networks.
    pub delta_2: Option<f64>,
    /// δ_m of W; null in large networks.
    pub delta_m: Option<f64>,
}

/// The data in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct DataSummary {
    /// Their name.
    pub source: String,
    /// n, the number of parameters learnt.
    pub parameters: usize,
    /// Records kept for testing.
    pub test_records: usize,
    /// Records that were scaled into the bounds.
    pub records_scaled: u64,
    /// Records that were left out because they lie outside the bounds.
    pub records_refused: u64,
    /// Records collected before round 0, for each learner.
    pub warmup: u64,
    /// Records per round, for each learner.
    pub batch: u64,
    /// Whether records were drawn again when they ran out.
    pub repeat: bool,
}

/// One learner in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct LearnerSummary {
    /// The learner.
    pub learner: u32,
    /// Records in its history.
    pub records: u64,
    /// Whether its records ran out before the last round.
    pub ran_dry: bool,
    /// How often its most used record was used.
    pub draws_max: u64,
    /// Pure ε that its most used record has paid; null where it is infinite.
    pub pure_epsilon: Option<f64>,
    /// zCDP that it has paid: r² times that of one use for r uses.
    pub zcdp: f64,
    /// ε at `delta` that it has paid.
    pub epsilon: f64,
    /// The same as `epsilon`.
    pub epsilon_of_most_drawn: f64,
    /// ε at `delta` that a record has paid which was used once.
    pub epsilon_used_once: f64,
    /// The δ.
    pub delta: f64,
    /// The cap, if there is one.
    pub cap_epsilon: Option<f64>,
    /// Lifetime bounds.
    pub lifetime: LifetimeBudget,
    /// Everything that may be said of its privacy.
    #[serde(skip)]
    pub statement: Statement,
    /// The method's name.
    pub method: &'static str,
    /// How its sensitivity is bounded, where there is a choice.
    pub bound: Option<Bound>,
    /// The method in a few words.
    #[serde(skip)]
    pub method_summary: &'static str,
    /// The kind of noise.
    pub noise: NoiseKind,
    /// ρ_0, the noise scale of round 0.
    pub noise_scale: f64,
    /// ς, the exponent with which the noise grows.
    pub noise_exponent: f64,
}

/// The facts of a run that are neither in its setup nor in its outcome.
#[derive(Clone, Debug)]
pub struct RunFacts {
    /// How many rounds the experiment has.
    pub rounds_planned: u64,
    /// Whether records are drawn again when they run out.
    pub records_repeat: bool,
    /// The seed of a repeatable run.
    pub seed: Option<u64>,
    /// The name of the data.
    pub source: String,
    /// Records kept for testing.
    pub test_records: usize,
    /// Records that were scaled into the bounds.
    pub records_scaled: u64,
    /// Records that were left out because they lie outside the bounds.
    pub records_refused: u64,
    /// What of the records is public, beside their number.
    pub public: PublicParts,
    /// Wall-clock seconds of the rounds.
    pub seconds: f64,
}

/// The warning in every output of a seeded run.
pub const NOT_PRIVATE: &str =
    "NOT PRIVATE: the noise of this run follows from its seed and can be subtracted";

impl Summary {
    /// Summarises a run.
    #[must_use]
    pub fn new(setup: &Setup, outcome: &Outcome, facts: &RunFacts) -> Summary {
        let agreement = &setup.agreement;
        let spectrum = agreement.spectrum;
        let metrics = |row: Option<&RoundRow>| row.map(|row| row.metrics).unwrap_or_default();
        let learners = learner_summaries(setup, outcome, facts);
        let privacy = Statement::largest(learners.iter().map(|one| one.statement.clone()));
        let planned = privacy.and_then(|privacy| privacy.planned);
        let mut summary = Summary {
            schema_version: SCHEMA_VERSION,
            undertone_version: env!("CARGO_PKG_VERSION"),
            name: agreement.name.clone(),
            private: facts.seed.is_none(),
            warning: facts.seed.map(|_| NOT_PRIVATE),
            seed: facts.seed,
            labels_public: facts.public.labels,
            schema_public: facts.public.schema,
            ending: RunEnding::of(&outcome.ending),
            refusal: match &outcome.ending {
                Ending::BudgetExhausted { learner, refusal } => {
                    Some(format!("learner {learner}: {refusal}"))
                }
                Ending::Finished | Ending::Interrupted => None,
            },
            rounds_planned: facts.rounds_planned,
            rounds_run: outcome.rounds_run,
            unproven: agreement.broken_conditions().iter().map(ToString::to_string).collect(),
            declared_by_user: agreement.model.declared_by_user(),
            network: NetworkSummary {
                learners: agreement.graph.learners(),
                edges: agreement.graph.edges(),
                delta_2: spectrum.map(|spectrum| spectrum.delta_2),
                delta_m: spectrum.map(|spectrum| spectrum.delta_m),
            },
            data: DataSummary {
                source: facts.source.clone(),
                parameters: setup.model.parameters(),
                test_records: facts.test_records,
                records_scaled: facts.records_scaled,
                records_refused: facts.records_refused,
                warmup: agreement.records.warmup,
                batch: agreement.records.batch,
                repeat: facts.records_repeat,
            },
            first: metrics(outcome.rows.first()),
            last: metrics(outcome.rows.last()),
            prequential_accuracy: outcome.rows.last().and_then(|row| row.prequential_accuracy),
            unit: facts.public.unit(),
            planned_rounds: setup.planned.iter().flatten().map(|planned| planned.rounds).next(),
            planned_epsilon: planned.map(|planned| planned.loss.epsilon),
            learners,
            privacy_statement: Vec::new(),
            seconds: facts.seconds,
        };
        summary.privacy_statement = statement(&summary);
        summary
    }

    /// What of the records is public, beside their number.
    #[must_use]
    pub fn public(&self) -> PublicParts {
        PublicParts { labels: self.labels_public, schema: self.schema_public }
    }

    /// The largest ε that any record has paid, all its uses together.
    #[must_use]
    pub fn epsilon_paid_max(&self) -> f64 {
        self.learners.iter().map(|learner| learner.epsilon).fold(0.0, f64::max)
    }

    /// How often the record that was used most was used.
    #[must_use]
    pub fn draws_max(&self) -> u64 {
        self.learners.iter().map(|learner| learner.draws_max).max().unwrap_or(0)
    }

    /// What holds for every learner; `None` where there are none.
    #[must_use]
    pub fn privacy(&self) -> Option<Statement> {
        Statement::largest(self.learners.iter().map(|learner| learner.statement.clone()))
    }
}

/// What may be said of each learner. Learners whose accounts are equal have equal statements.
fn statements(setup: &Setup, outcome: &Outcome, facts: &RunFacts) -> Vec<Statement> {
    let (delta, unit) = (setup.agreement.delta, facts.public.unit());
    let mut known: Vec<(&Accountant, u64, Statement)> = Vec::new();
    let mut found = Vec::with_capacity(outcome.learners.len());
    for (index, learner) in outcome.learners.iter().enumerate() {
        let id = LearnerId(u32::try_from(index).unwrap_or(u32::MAX));
        let (account, uses) = (&learner.account, learner.draws_max);
        let same = known.iter().find(|(other, its, _)| *other == account && *its == uses);
        let statement = match same {
            Some((_, _, same)) => same.clone(),
            None => Statement { unit, ..setup.statement(id, account, delta, uses) },
        };
        if same.is_none() {
            known.push((account, uses, statement.clone()));
        }
        found.push(statement);
    }
    found
}

fn learner_summaries(setup: &Setup, outcome: &Outcome, facts: &RunFacts) -> Vec<LearnerSummary> {
    let summary = |(index, statement): (usize, Statement)| {
        let (mechanism, learner) = (&setup.mechanisms[index], &outcome.learners[index]);
        let (noise, delta) = (mechanism.noise.kind, statement.delta);
        LearnerSummary {
            learner: u32::try_from(index).unwrap_or(u32::MAX),
            records: learner.records,
            ran_dry: learner.ran_dry,
            draws_max: learner.draws_max,
            pure_epsilon: statement.spent.pure_epsilon,
            zcdp: statement.spent.zcdp,
            epsilon: statement.spent.epsilon,
            epsilon_of_most_drawn: statement.spent.epsilon,
            epsilon_used_once: learner.spent.epsilon(noise, delta),
            delta,
            cap_epsilon: statement.cap.map(Cap::epsilon),
            lifetime: LifetimeBudget::of(&statement),
            method: mechanism.method.describe().name,
            bound: mechanism.method.describe().bound,
            method_summary: mechanism.method.describe().summary,
            noise,
            noise_scale: mechanism.noise.scale.initial,
            noise_exponent: mechanism.noise.scale.exponent,
            statement,
        }
    };
    statements(setup, outcome, facts).into_iter().enumerate().map(summary).collect()
}

/// What was spent; the planned rounds, if there are any; then what holds for ever.
fn spent_and_to_come(summary: &Summary, privacy: &Statement) -> Vec<String> {
    let delta = privacy.delta;
    let mut text = vec![format!(
        "Spent in {} rounds, by each learner's own account of the neighbours it has heard: at most ε = {} at \
         δ = {delta:e}.",
        summary.rounds_run,
        format_epsilon(privacy.spent.epsilon),
    )];
    if privacy.uses > 1 {
        let once = summary.learners.iter().map(|learner| learner.epsilon_used_once);
        text.push(format!(
            "Records were drawn again: a record drawn r times pays r times the pure ε and r² times the zCDP of \
             one that is used once. The most used record was drawn {} times and has paid what is said above. A \
             record used once has paid at most ε = {} at δ = {delta:e}.",
            privacy.uses,
            format_epsilon(once.fold(0.0, f64::max))
        ));
    }
    text.extend(privacy.sentences_to_come());
    let dry = summary.learners.iter().filter(|learner| learner.ran_dry).count();
    if dry > 0 {
        text.push(format!(
            "Ran dry: the records of {dry} learners ran out, so a record's share of the history stopped \
             shrinking as planned. What was spent counts that."
        ));
    }
    text
}

/// What is guaranteed and what is not, in plain words.
fn statement(summary: &Summary) -> Vec<String> {
    let mut text = Vec::new();
    if summary.seed.is_some() {
        text.push(format!(
            "{NOT_PRIVATE}. Everything below describes what the same run would guarantee without a seed."
        ));
    }
    let public = summary.public();
    text.push(format!(
        "Unit: {} Even an observer of every message of the network, such as a neighbour, can hardly tell the \
         two apart; no party is trusted.",
        public.unit_sentences()
    ));
    text.extend(public.statement());
    if let Some(privacy) = summary.privacy() {
        text.extend(spent_and_to_come(summary, &privacy));
    }
    if !summary.unproven.is_empty() {
        text.push(format!(
            "UNPROVEN: the settings lie outside the convergence theorems ({}). Privacy does not depend \
             on them; convergence does.",
            summary.unproven.join("; ")
        ));
    }
    if let Some(declared) = &summary.declared_by_user {
        text.push(format!("A loss of the user's own: {declared}."));
    }
    text.push(
        "Covered: every release, and everything computed from releases, such as model.safetensors."
            .into(),
    );
    text.push(
        "Not covered: the learners' own parameters and predictions made with them; a person with \
        many records; how long a slow computation takes; a learner restored from an old backup. \
        Losses, accuracies and regrets in this folder were computed from all private records, which \
        only a simulation can do: if the data are private, do not publish rounds.csv, summary.json or \
        report.html."
            .into(),
    );
    text
}
