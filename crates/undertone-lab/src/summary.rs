//! The summary of a run: `summary.json`, and the privacy statement in plain words.

use crate::budget::{LifetimeBudget, SCHEMA_VERSION, finite};
use crate::metrics::Metrics;
use crate::simulate::{Ending, Outcome, RoundRow};
use serde::Serialize;
use undertone::method::Bound;
use undertone::noise::NoiseKind;
use undertone::privacy::{Cap, Unit, format_epsilon};
use undertone_models::Setup;

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
    /// `finished`, `interrupted` or `budget-exhausted`.
    pub ending: &'static str,
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
    pub unit: String,
    /// One entry for each learner.
    pub learners: Vec<LearnerSummary>,
    /// The statement, paragraph by paragraph.
    pub privacy_statement: Vec<String>,
    /// Wall-clock seconds of the rounds.
    pub seconds: f64,
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
    /// Records that were left out, because enough of the same person are used; null where privacy is stated for records.
    pub records_left_out: Option<u64>,
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
    /// Persons that it learns from; null where privacy is stated for records.
    pub persons: Option<u64>,
    /// Whether its records ran out before the last round.
    pub ran_dry: bool,
    /// How often its most used record was used.
    pub draws_max: u64,
    /// ε at `delta` that the most used record has paid: r² times the zCDP for r draws.
    pub epsilon_of_most_drawn: f64,
    /// Pure ε spent on a record used once; null for Gaussian noise.
    pub pure_epsilon: Option<f64>,
    /// zCDP spent.
    pub zcdp: f64,
    /// ε at `delta` spent.
    pub epsilon: f64,
    /// The δ.
    pub delta: f64,
    /// The cap, if there is one.
    pub cap_epsilon: Option<f64>,
    /// Lifetime bounds.
    pub lifetime: LifetimeBudget,
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
        let mut summary = Summary {
            schema_version: SCHEMA_VERSION,
            undertone_version: env!("CARGO_PKG_VERSION"),
            name: agreement.name.clone(),
            private: facts.seed.is_none(),
            warning: facts.seed.map(|_| NOT_PRIVATE),
            seed: facts.seed,
            ending: match outcome.ending {
                Ending::Finished => "finished",
                Ending::Interrupted => "interrupted",
                Ending::BudgetExhausted { .. } => "budget-exhausted",
            },
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
                records_left_out: left_out(agreement.unit, outcome),
                warmup: agreement.records.warmup,
                batch: agreement.records.batch,
                repeat: facts.records_repeat,
            },
            first: metrics(outcome.rows.first()),
            last: metrics(outcome.rows.last()),
            prequential_accuracy: outcome.rows.last().and_then(|row| row.prequential_accuracy),
            unit: agreement.unit.to_string(),
            learners: learner_summaries(setup, outcome),
            privacy_statement: Vec::new(),
            seconds: facts.seconds,
        };
        summary.privacy_statement = statement(&summary, agreement.unit);
        summary
    }

    /// The largest ε any learner has spent.
    #[must_use]
    pub fn epsilon_max(&self) -> f64 {
        self.learners.iter().map(|learner| learner.epsilon).fold(0.0, f64::max)
    }

    /// The largest ε that any record has paid, records drawn more than once included.
    #[must_use]
    pub fn epsilon_paid_max(&self) -> f64 {
        self.learners.iter().map(|learner| learner.epsilon_of_most_drawn).fold(0.0, f64::max)
    }

    /// Whether a learner's records ran out, which voids its certificate.
    #[must_use]
    pub fn ran_dry(&self) -> bool {
        self.learners.iter().any(|learner| learner.ran_dry)
    }

    /// The largest lifetime ε, if every learner has a certificate.
    #[must_use]
    pub fn lifetime_epsilon_max(&self) -> Option<f64> {
        self.learners
            .iter()
            .map(|learner| learner.lifetime.epsilon)
            .try_fold(0.0, |most: f64, epsilon| epsilon.map(|epsilon| most.max(epsilon)))
    }
}

fn learner_summaries(setup: &Setup, outcome: &Outcome) -> Vec<LearnerSummary> {
    let delta = setup.agreement.delta;
    outcome
        .learners
        .iter()
        .enumerate()
        .map(|(index, learner)| {
            let mechanism = &setup.mechanisms[index];
            LearnerSummary {
                learner: u32::try_from(index).unwrap_or(u32::MAX),
                records: learner.records,
                persons: learner.persons,
                ran_dry: learner.ran_dry,
                draws_max: learner.draws_max,
                epsilon_of_most_drawn: (learner.spent.of_repeated(learner.draws_max))
                    .epsilon(mechanism.noise.kind, delta),
                pure_epsilon: finite(learner.spent.pure),
                zcdp: learner.spent.zcdp,
                epsilon: learner.epsilon,
                delta,
                cap_epsilon: setup.agreement.caps[index].map(|cap| match cap {
                    Cap::Pure { epsilon } | Cap::Approximate { epsilon, .. } => epsilon,
                }),
                lifetime: LifetimeBudget::of(setup, index, delta),
                method: mechanism.method.describe().name,
                bound: mechanism.method.describe().bound,
                method_summary: mechanism.method.describe().summary,
                noise: mechanism.noise.kind,
                noise_scale: mechanism.noise.scale.initial,
                noise_exponent: mechanism.noise.scale.exponent,
            }
        })
        .collect()
}

/// What is guaranteed and what is not, in plain words.
fn statement(summary: &Summary, unit: Unit) -> Vec<String> {
    let delta = summary.learners.first().map_or(0.0, |learner| learner.delta);
    let mut text = Vec::new();
    if summary.seed.is_some() {
        text.push(format!(
            "{NOT_PRIVATE}. Everything below describes what the same run would guarantee without a seed."
        ));
    }
    text.push(unit_in_words(unit));
    text.push(format!(
        "Spent in {} rounds, by each learner's own account of the neighbours it has heard: \
        at most ε = {} at δ = {delta:e}.",
        summary.rounds_run,
        format_epsilon(summary.epsilon_max()),
    ));
    let dry = summary.learners.iter().filter(|learner| learner.ran_dry).count();
    text.push(match summary.lifetime_epsilon_max() {
        Some(_) if dry > 0 => format!(
            "For ever: the certificate is void. The records of {dry} learners ran out, so a record's \
            share of the history stopped shrinking as planned. The running account above applies."
        ),
        Some(epsilon) => format!(
            "For ever: ε = {} at δ = {delta:e}, however long the run goes on, as long as all \
             neighbours are heard and records keep arriving as planned. When neighbours are missing, the \
             running account above applies, and a cap is enforced on it.",
            format_epsilon(epsilon)
        ),
        None => "For ever: no certificate. No finite bound over all rounds is proved for these settings."
            .into(),
    });
    let draws = summary.learners.iter().map(|learner| learner.draws_max).max().unwrap_or(0);
    if draws > 1 {
        text.push(format!(
            "Records were drawn again: a record drawn r times pays r times the pure ε and r² times the \
             zCDP stated here, which hold for a record used once. The most used record was drawn \
             {draws} times and has paid ε = {} at δ = {delta:e}.",
            format_epsilon(summary.epsilon_paid_max())
        ));
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
        format!(
            "Not covered: the learners' own parameters and predictions made with them; {}; how long a slow \
            computation takes; a learner restored from an old backup. \
            Losses, accuracies and regrets in this folder were computed from all private records, which \
            only a simulation can do: if the data are private, do not publish rounds.csv, summary.json or \
            report.html.",
            not_covered(unit)
        ),
    );
    text
}

/// Records left out, of persons with enough of them used.
fn left_out(unit: Unit, outcome: &Outcome) -> Option<u64> {
    unit.is_person().then(|| outcome.learners.iter().map(|learner| learner.left_out).sum())
}

fn unit_in_words(unit: Unit) -> String {
    let relation = match unit {
        Unit::Record => {
            "one record of one learner. Two histories are neighbours when one record is replaced by \
             another and all else is equal (event level)."
        }
        Unit::LimitedPerson { .. } | Unit::GroupedPerson { .. } => {
            "all records of one person at one learner. Two histories are neighbours when they have the same person \
             keys, arrival times and counts of records, and only what is in the records of one person differs \
             (person level). How many records a person has, and when they arrive, is not protected. A person with \
             records at several learners has this guarantee from each of them, for the records there."
        }
    };
    format!(
        "Unit: {relation} Even an observer of every message of the network, such as a neighbour, can hardly tell the \
         two apart; no party is trusted."
    )
}

fn not_covered(unit: Unit) -> &'static str {
    match unit {
        Unit::Record => "a person with many records",
        Unit::LimitedPerson { .. } | Unit::GroupedPerson { .. } => "a person under several keys",
    }
}
