//! A learner on a real network: one thread that owns it, and does one thing after another.

use crate::link::{Incoming, Link};
use crate::protocol::{Action, Halt, Node, RoundEnd, TakeInError};
use crate::store::Storage;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};
use undertone::Round;
use undertone::noise::Entropy;
use undertone::privacy::Refusal;
use undertone_models::Record;

/// What the learner's thread is told.
pub enum Event {
    /// Something came from the network.
    Network(Incoming),
    /// The owner has records.
    Records {
        /// The records.
        records: Vec<Record>,
        /// Where to say whether they were taken.
        answer: SyncSender<Result<(), TakeInError>>,
    },
    /// The owner wants it to stop. What was released stays released, and it can be started again.
    Stop,
}

/// Why a learner's thread ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// It was told to.
    Stopped,
    /// All rounds were run.
    Finished,
    /// The budget is spent.
    Exhausted(Refusal),
}

/// What a driver may want to see of a round, and of the learner then. Private: it has losses in it.
pub type Watch<'a, E, S> = &'a mut dyn FnMut(&RoundEnd, &Node<E, S>);

/// Runs a learner until it is told to stop, has run all rounds, or has spent its budget.
///
/// A learner that has run all rounds stays for a while, so that neighbours can ask for its last releases.
///
/// # Errors
/// When it cannot go on.
pub fn run<E: Entropy, S: Storage>(
    node: &mut Node<E, S>,
    link: &Link,
    events: &Receiver<Event>,
    (end, linger): (Round, Duration),
    watch: Watch<'_, E, S>,
) -> Result<Ending, Halt> {
    let begin = Instant::now();
    let mut finished_at = None;
    let actions = node.start(Duration::ZERO)?;
    let mut exhausted = perform(node, link, actions, watch);
    loop {
        let now = begin.elapsed();
        if let Some(refusal) = exhausted {
            link.say_farewell();
            return Ok(Ending::Exhausted(refusal));
        }
        if node.learner().round() >= end {
            let since = *finished_at.get_or_insert(now);
            if now >= since + linger {
                return Ok(Ending::Finished);
            }
        }
        let wake = node.wake_at().unwrap_or(now + IDLE).min(now + IDLE);
        let actions = match events.recv_timeout(wake.saturating_sub(now)) {
            Ok(Event::Network(incoming)) => hear(node, incoming, begin.elapsed())?,
            Ok(Event::Records { records, answer }) => {
                // Whoever asked may be gone. Why the learner halted is for the one who runs it.
                let taken = match node.take_in(records) {
                    Err(TakeInError::Halt(halt)) => {
                        let _ = answer.send(Err(Halt::Before.into()));
                        return Err(halt);
                    }
                    taken => taken,
                };
                let _ = answer.send(taken);
                node.tick(begin.elapsed())?
            }
            Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return Ok(Ending::Stopped),
            Err(RecvTimeoutError::Timeout) => node.tick(begin.elapsed())?,
        };
        exhausted = perform(node, link, actions, watch);
    }
}

/// Even when nothing is due the thread looks around this often.
const IDLE: Duration = Duration::from_millis(200);

fn hear<E: Entropy, S: Storage>(
    node: &mut Node<E, S>,
    incoming: Incoming,
    now: Duration,
) -> Result<Vec<Action>, Halt> {
    match incoming {
        Incoming::Heard { from, bytes } => node.hear(from, &bytes, now),
        Incoming::Asked { by, round, answer } => {
            if let Some(release) = node.asked(by, round) {
                answer.send(&release);
            }
            Ok(Vec::new())
        }
        Incoming::Left(neighbour) => node.left(neighbour, now),
    }
}

/// Does what the node asks for; says whether its budget is spent.
fn perform<E: Entropy, S: Storage>(
    node: &Node<E, S>,
    link: &Link,
    actions: Vec<Action>,
    watch: Watch<'_, E, S>,
) -> Option<Refusal> {
    let mut exhausted = None;
    for action in actions {
        match action {
            Action::Publish(release) => link.publish(&release),
            Action::Ask { neighbour, round } => link.ask(neighbour, round),
            Action::Ended(end) => watch(&end, node),
            Action::CutOff(_) => {}
            Action::Retired(refusal) => exhausted = Some(refusal),
        }
    }
    exhausted
}
