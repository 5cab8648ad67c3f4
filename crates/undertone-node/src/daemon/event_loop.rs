//! The loop of the learner's thread: one event after another.

use super::events::{Accepted, Ending, Event, News, Query};
use crate::link::{Deliver, Incoming, Link};
use crate::loss_history::History;
use crate::mailbox::{Receiver, Sender, WhenFull};
use crate::owner::{self, LastStatement};
use crate::protocol::{AcceptError, Action, Halt, Node};
use crate::store::{Position, Storage};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use undertone::noise::Entropy;
use undertone::privacy::Refusal;
use undertone::{LearnerId, Round};
use undertone_models::BoundedRecord;

/// When a learner ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Until {
    /// The first round that is not run.
    pub(super) end: Round,
    /// How long it stays after its last round, for requests of neighbours and of the owner.
    pub(super) linger: Duration,
}

/// Called with what happens.
pub(super) type Report = dyn Fn(News<'_>) + Send + Sync;

/// How many messages of one neighbour may wait for the learner. A neighbour that floods it shuts out neither the owner
/// nor other neighbours.
const NEIGHBOUR_MAX: usize = 16;

/// Delivers what arrives from neighbours to a learner's thread. When too many messages of one neighbour wait, the next
/// waits or is dropped. A release that was dropped is requested again.
pub(super) fn deliver_to(learner: Sender<Event>, when_full: WhenFull) -> Deliver {
    Arc::new(move |incoming: Incoming| {
        let lane = incoming.neighbour().0;
        // A farewell is sent once, so there is always room for it.
        let lane_max = NEIGHBOUR_MAX + usize::from(matches!(incoming, Incoming::Left(_)));
        // An error means that the learner has ended.
        let _ = learner.send_by(lane, lane_max, when_full, Event::Network(incoming));
    })
}

/// Runs a learner until it is stopped, has run all rounds, or has spent its budget.
///
/// # Errors
/// When the node has halted.
pub(super) fn run<E: Entropy, S: Storage>(
    node: &mut Node<E, S>,
    link: &Link,
    events: &Receiver<Event>,
    until: Until,
    report: &Report,
) -> Result<Ending, Halt> {
    let begin = Instant::now();
    let mut history = History::default();
    let mut done: Option<(Ending, Duration)> = None;
    let mut checked_unheard = false;
    let mut last = LastStatement::default();
    let mut actions = node.start(Duration::ZERO)?;
    loop {
        let exhausted = perform(node, link, actions, &mut history, report);
        let now = begin.elapsed();
        if let Some(refusal) = exhausted {
            link.send_farewell();
            done = Some((Ending::Exhausted(refusal), now));
        } else if done.is_none() && node.learner().round() >= until.end {
            done = Some((Ending::Finished, now));
        }
        if let Some((ending, _)) =
            done.clone().filter(|(_, since)| now >= since.saturating_add(until.linger))
        {
            return Ok(ending);
        }
        if !checked_unheard && now >= UNHEARD_AFTER {
            checked_unheard = true;
            report_unheard(node, report);
        }
        let wake = node.wake_at().unwrap_or(now + IDLE_MAX).min(now + IDLE_MAX);
        actions = match events.recv_timeout(wake.saturating_sub(now)) {
            Ok(Event::Network(incoming)) => {
                if matches!(incoming, Incoming::Connected { .. }) && node.refusal().is_some() {
                    // The neighbour may have missed the farewell.
                    link.send_farewell();
                }
                handle_incoming(node, incoming, begin.elapsed())?
            }
            Ok(Event::Records { records, position, answer }) => {
                accept_records(node, records, position, answer)?;
                Vec::new()
            }
            Ok(Event::Query(query)) => {
                answer_query(node, &history, &mut last, query);
                Vec::new()
            }
            Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => {
                return Ok(done.map_or(Ending::Stopped, |(ending, _)| ending));
            }
            Err(RecvTimeoutError::Timeout) => Vec::new(),
        };
        // Deadlines are checked after every event.
        actions.extend(node.tick(begin.elapsed())?);
    }
}

/// The longest time between two checks.
const IDLE_MAX: Duration = Duration::from_millis(200);

/// By this time every neighbour should have been heard.
const UNHEARD_AFTER: Duration = Duration::from_secs(20);

fn report_unheard<E: Entropy, S: Storage>(node: &Node<E, S>, report: &Report) {
    let silent = node.neighbours().filter(|one| one.newest.is_none());
    let silent: Vec<LearnerId> = silent.map(|one| one.id).collect();
    if !silent.is_empty() {
        report(News::Unheard(&silent));
    }
}

fn handle_incoming<E: Entropy, S: Storage>(
    node: &mut Node<E, S>,
    incoming: Incoming,
    now: Duration,
) -> Result<Vec<Action>, Halt> {
    match incoming {
        Incoming::Connected { neighbour, reply } => {
            if let Some(release) = node.newest_release_for(neighbour) {
                reply.send(&release);
            }
            Ok(node.on_connected(neighbour))
        }
        Incoming::Release { from, bytes } => node.receive(from, bytes, now),
        Incoming::Request { from, round, reply } => {
            if let Some(release) = node.release_for(from, round) {
                reply.send(&release);
            }
            Ok(Vec::new())
        }
        Incoming::Left(neighbour) => node.on_left(neighbour, now),
    }
}

/// Accepts records and answers. If the node halts, the sender is not told why: the error goes to the caller of `run`.
fn accept_records<E: Entropy, S: Storage>(
    node: &mut Node<E, S>,
    records: Vec<BoundedRecord>,
    position: Option<Position>,
    answer: oneshot::Sender<Result<Accepted, AcceptError>>,
) -> Result<(), Halt> {
    let count = records.len();
    let accepted = match node.accept_records(records, position) {
        Err(AcceptError::Halt(halt)) => {
            let _ = answer.send(Err(Halt::AlreadyHalted.into()));
            return Err(halt);
        }
        accepted => accepted.map(|()| Accepted { count, waiting: node.waiting_records() }),
    };
    let _ = answer.send(accepted);
    Ok(())
}

/// Answers a query. The client may have disconnected.
fn answer_query<E: Entropy, S: Storage>(
    node: &Node<E, S>,
    history: &History,
    last: &mut LastStatement,
    query: Query,
) {
    match query {
        Query::Status(answer) => drop(answer.send(owner::status(node, history))),
        Query::Budget(answer) => drop(answer.send(owner::budget_again(node, last))),
        Query::Predict(features, answer) => drop(answer.send(owner::predict(node, &features))),
        Query::PublicModel(answer) => drop(answer.send(owner::public_model(node))),
    }
}

/// Does what the node asks for. Returns the refusal if its budget is spent.
fn perform<E: Entropy, S: Storage>(
    node: &Node<E, S>,
    link: &Link,
    actions: Vec<Action>,
    history: &mut History,
    report: &Report,
) -> Option<Refusal> {
    let mut exhausted = None;
    for action in actions {
        match action {
            Action::Publish(release) => link.publish(&release),
            Action::Request { neighbour, round } => link.request(neighbour, round),
            Action::Ended(end) => {
                let accountant = node.learner().accountant();
                history.push(&end, accountant.spent());
                report(News::Round { end: &end, accountant });
            }
            Action::CutOff(neighbour) => report(News::CutOff(neighbour)),
            Action::NotFollowed { neighbour, claimed } => {
                let round = node.learner().round();
                report(News::NotFollowed { neighbour, round, claimed });
            }
            Action::Exhausted(refusal) => exhausted = Some(refusal),
        }
    }
    exhausted
}
