//! What the owner of a learner sees of it. All of it is private except the budget and the public model.

use crate::history::{History, Series};
use crate::protocol::{Node, Standing, State};
use crate::store::Storage;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use undertone::noise::Entropy;
use undertone::privacy::{Cap, Receipt, UNIT};
use undertone::{LearnerId, Memory as _};
use undertone_models::{ExportError, Features, Prediction, RecordError, model_file};

/// What a learner is doing, and how well it predicts. Private: losses come from records.
#[derive(Clone, Serialize)]
pub struct Status {
    /// The agreement's name.
    pub name: String,
    /// The learner's number.
    pub learner: LearnerId,
    /// How many learners the network has.
    pub learners: usize,
    /// The network's id.
    pub network: String,
    /// The version of the program.
    pub version: &'static str,
    /// What it is doing.
    pub state: State,
    /// The round it is in.
    pub round: u64,
    /// How many rounds it will run; null if it runs for ever.
    pub rounds: Option<u64>,
    /// Records that were learnt from.
    pub records: u64,
    /// Records that wait for a round.
    pub waiting_records: usize,
    /// How many more there is room for.
    pub room: usize,
    /// What kind of model it learns.
    pub task: Task,
    /// Mean loss over the last rounds. Each record is scored before it is learnt from.
    pub loss: Option<f64>,
    /// The share of these records that was classified correctly.
    pub accuracy: Option<f64>,
    /// The distance to the neighbours' releases, noise included.
    pub distance: Option<f64>,
    /// The neighbours.
    pub neighbours: Vec<NeighbourStatus>,
    /// How far each source of records was read.
    pub sources: BTreeMap<String, u64>,
    /// Messages that were dropped, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Values since the process started.
    pub history: Series,
}

/// What a model's labels are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Numbers.
    Regression,
    /// Classes.
    Classification,
}

/// A neighbour, as this learner sees it.
#[derive(Clone, Debug, Serialize)]
pub struct NeighbourStatus {
    /// The neighbour's number.
    pub learner: LearnerId,
    /// Whether it is waited for.
    pub standing: Standing,
    /// The latest round it was heard in.
    pub newest: Option<u64>,
    /// How many rounds it is behind this learner.
    pub lag: Option<u64>,
}

/// What was spent. As public as the releases are.
#[derive(Clone, Debug, Serialize)]
pub struct Budget {
    /// What is protected: the unit of privacy.
    pub unit: &'static str,
    /// The δ of every ε.
    pub delta: f64,
    /// ε spent.
    pub epsilon: f64,
    /// Pure ε spent, if the noise has one.
    pub pure_epsilon: Option<f64>,
    /// zCDP spent.
    pub zcdp: f64,
    /// The cap on ε: a release that would exceed it is refused.
    pub cap: Option<f64>,
    /// The cap on pure ε.
    pub pure_cap: Option<f64>,
    /// The bound on ε for ever, while neighbours are heard and records arrive as planned.
    pub lifetime_epsilon: Option<f64>,
    /// Why there is no such bound, if so.
    pub no_certificate: Option<String>,
    /// How many releases were made.
    pub releases: u64,
    /// Why nothing more is released, if so.
    pub exhausted: Option<String>,
    /// The newest receipts, oldest first.
    pub ledger: Vec<Receipt>,
}

/// What the learner is doing.
#[must_use]
pub fn status<E: Entropy, S: Storage>(node: &Node<E, S>, history: &History) -> Status {
    let (setup, learner) = (node.setup(), node.learner());
    let agreement = &setup.agreement;
    let round = learner.round().0;
    let classes = agreement.model.loss.classes().is_some();
    let neighbours = node.neighbours().map(|one| NeighbourStatus {
        learner: one.id,
        standing: one.standing,
        newest: one.newest.map(|round| round.0),
        lag: one.newest.map(|newest| round.saturating_sub(newest.0)),
    });
    let counters = node.counters();
    let mut dropped: BTreeMap<String, u64> = counters
        .rejected
        .iter()
        .map(|(reason, &count)| (format!("{reason:?}").to_lowercase(), count))
        .collect();
    dropped.insert("strangers".into(), counters.unknown_senders);
    dropped.insert("repeated".into(), counters.duplicates);
    dropped.insert("too-far-ahead".into(), counters.not_followed);
    Status {
        name: agreement.name.clone(),
        learner: learner.id(),
        learners: agreement.graph.learners(),
        network: node.wire().network().to_string(),
        version: env!("CARGO_PKG_VERSION"),
        state: node.state(),
        round,
        rounds: node.rounds_to_run(),
        records: learner.memory().records(),
        waiting_records: node.waiting_records(),
        room: node.room(),
        task: if classes { Task::Classification } else { Task::Regression },
        loss: history.loss(),
        accuracy: history.accuracy().filter(|_| classes),
        distance: history.distance(),
        neighbours: neighbours.collect(),
        sources: node.positions().clone(),
        dropped,
        history: history.series(classes, agreement.noise_kind, agreement.delta),
    }
}

/// What was spent.
#[must_use]
pub fn budget<E: Entropy, S: Storage>(node: &Node<E, S>) -> Budget {
    let (setup, learner) = (node.setup(), node.learner());
    let index = learner.id().0 as usize;
    let (delta, spent) = (setup.agreement.delta, learner.accountant().spent());
    let cap = setup.agreement.caps[index];
    Budget {
        unit: UNIT,
        delta,
        epsilon: learner.accountant().epsilon(delta),
        pure_epsilon: Some(spent.pure).filter(|pure| pure.is_finite()),
        zcdp: spent.zcdp,
        cap: cap.and_then(|cap| match cap {
            Cap::Approximate { epsilon, .. } => Some(epsilon),
            Cap::Pure { .. } => None,
        }),
        pure_cap: cap.and_then(|cap| match cap {
            Cap::Pure { epsilon } => Some(epsilon),
            Cap::Approximate { .. } => None,
        }),
        lifetime_epsilon: setup.lifetime_epsilon(learner.id()),
        no_certificate: setup.lifetimes[index].as_ref().err().map(ToString::to_string),
        releases: node.releases(),
        exhausted: node.refusal().map(ToString::to_string),
        ledger: node.receipts().copied().collect(),
    }
}

/// Predictions by the learner's own parameters. They are private, and so are the predictions.
///
/// # Errors
/// When features do not fit the model.
pub fn predict<E: Entropy, S: Storage>(
    node: &Node<E, S>,
    features: &[Features],
) -> Result<Vec<Prediction>, RecordError> {
    let theta = node.learner().private_parameters().for_owner();
    features.iter().map(|features| node.setup().model.predict(theta, features)).collect()
}

/// The model that may be published, as safetensors.
///
/// # Errors
/// When the format cannot hold it.
pub fn public_model<E: Entropy, S: Storage>(node: &Node<E, S>) -> Result<Vec<u8>, ExportError> {
    let agreement = &node.setup().agreement;
    let epsilon = node.learner().accountant().epsilon(agreement.delta);
    let metadata = HashMap::from(
        [
            ("producer", format!("undertone {}", env!("CARGO_PKG_VERSION"))),
            ("name", agreement.name.clone()),
            ("content", "average of noisy releases; safe to publish".into()),
            ("round", node.learner().round().0.to_string()),
            ("epsilon_spent", epsilon.to_string()),
        ]
        .map(|(key, value)| (key.to_string(), value)),
    );
    model_file(node.public_model(), agreement, metadata)
}
