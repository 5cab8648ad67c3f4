//! What the owner of a learner sees of it. All of it is private except the budget and the public model.

use crate::loss_history::{History, Series};
use crate::protocol::{Node, NodeState, Presence};
use crate::store::Storage;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use undertone::noise::Entropy;
use undertone::privacy::{Accountant, Cap, Receipt, Statement};
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
    pub state: NodeState,
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
    pub presence: Presence,
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
    /// How many rounds the noise was chosen for, if it was and all went as planned so far.
    pub planned_rounds: Option<u64>,
    /// Their ε.
    pub planned_epsilon: Option<f64>,
    /// A bound on ε for ever with this noise and without the cap, if neighbours are heard and records arrive as planned
    /// from now on.
    pub lifetime_epsilon: Option<f64>,
    /// Whether a round has departed from the plan, so that this bound starts at the learner's present state.
    pub lifetime_from_here: bool,
    /// Why there is no such bound, if so.
    pub no_certificate: Option<String>,
    /// What holds for ever, in a few words.
    pub for_ever: String,
    /// What is planned, and what holds for ever, in sentences.
    pub statement: Vec<String>,
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
        presence: one.presence,
        newest: one.newest.map(|round| round.0),
        lag: one.newest.map(|newest| round.saturating_sub(newest.0)),
    });
    let counters = node.counters();
    let mut dropped: BTreeMap<String, u64> = counters
        .rejected
        .iter()
        .map(|(reason, &count)| (format!("{reason:?}").to_lowercase(), count))
        .collect();
    dropped.insert("unknown-sender".into(), counters.unknown_senders);
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

/// The last statement, with the account that it is of. A bound from the present state sums up many rounds, and owners
/// ask more often than rounds end.
#[derive(Clone, Debug, Default)]
pub struct LastStatement(Option<(Accountant, Statement)>);

impl LastStatement {
    fn of<E: Entropy, S: Storage>(&mut self, node: &Node<E, S>) -> Statement {
        let (setup, learner) = (node.setup(), node.learner());
        let account = learner.accountant();
        match &self.0 {
            Some((of, statement)) if of == account => statement.clone(),
            Some(_) | None => {
                let delta = setup.agreement.delta;
                let statement = setup.statement(learner.id(), account, delta, 1);
                self.0 = Some((account.clone(), statement.clone()));
                statement
            }
        }
    }
}

/// What was spent.
#[must_use]
pub fn budget<E: Entropy, S: Storage>(node: &Node<E, S>) -> Budget {
    budget_again(node, &mut LastStatement::default())
}

/// The same, without computing the statement again if the account is still what it was.
#[must_use]
pub fn budget_again<E: Entropy, S: Storage>(node: &Node<E, S>, last: &mut LastStatement) -> Budget {
    let privacy = last.of(node);
    Budget {
        unit: privacy.unit,
        delta: privacy.delta,
        epsilon: privacy.spent.epsilon,
        pure_epsilon: privacy.spent.pure_epsilon,
        zcdp: privacy.spent.zcdp,
        cap: privacy.cap.and_then(|cap| match cap {
            Cap::Approximate { epsilon, .. } => Some(epsilon),
            Cap::Pure { .. } => None,
        }),
        pure_cap: privacy.cap.and_then(|cap| match cap {
            Cap::Pure { epsilon } => Some(epsilon),
            Cap::Approximate { .. } => None,
        }),
        planned_rounds: privacy.planned.map(|planned| planned.rounds),
        planned_epsilon: privacy.planned.map(|planned| planned.loss.epsilon),
        lifetime_epsilon: privacy.lifetime.as_ref().ok().map(|bound| bound.epsilon),
        lifetime_from_here: privacy.from_here,
        no_certificate: privacy.lifetime.as_ref().err().map(ToString::to_string),
        for_ever: privacy.for_ever_words(),
        statement: privacy.sentences_to_come(),
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

/// The source of records that an experiment deals out.
pub const REPLAY: &str = "replay";

const CONTENT: &str = "average of noisy releases; safe to publish";
/// The node does not know the experiment, whose partition decides.
const CONTENT_OF_REPLAY: &str = "average of noisy releases; safe to publish only where labels and the split among \
                                 learners are public, unless the experiment deals records iid or in-order";

/// The model that may be published, as safetensors.
///
/// # Errors
/// When the format cannot hold it.
pub fn public_model<E: Entropy, S: Storage>(node: &Node<E, S>) -> Result<Vec<u8>, ExportError> {
    let agreement = &node.setup().agreement;
    let replayed = node.positions().contains_key(REPLAY);
    let content = if replayed { CONTENT_OF_REPLAY } else { CONTENT };
    let mut metadata = HashMap::from(
        [
            ("producer", format!("undertone {}", env!("CARGO_PKG_VERSION"))),
            ("name", agreement.name.clone()),
            ("content", content.into()),
            ("round", node.learner().round().0.to_string()),
        ]
        .map(|(key, value)| (key.to_string(), value)),
    );
    metadata
        .extend(agreement.transform.map(|transform| ("features".into(), transform.to_string())));
    let (neural, accounts) = (agreement.neural.as_ref(), node.model_accounts());
    model_file(node.public_model(), neural, &accounts, agreement.delta, metadata)
}
