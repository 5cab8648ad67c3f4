//! A learner on a real network: one thread that owns it, and does one thing after another.

use crate::history::History;
use crate::link::{Deliver, Incoming, Link};
use crate::mailbox::{Full, Receiver, Sender};
use crate::owner::{self, Budget, Status};
use crate::protocol::{Action, Halt, Node, RoundEnd, TakeInError};
use crate::store::{Position, Storage};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use undertone::noise::Entropy;
use undertone::privacy::Refusal;
use undertone::{LearnerId, RecordError, Round};
use undertone_models::{ExportError, Features, Prediction, Record};

/// What the learner's thread is told.
pub enum Event {
    /// Something came from the network.
    Network(Incoming),
    /// The owner has records.
    Records {
        /// The records.
        records: Vec<Record>,
        /// How far their source was read.
        position: Option<Position>,
        /// Where to say whether they were taken.
        answer: oneshot::Sender<Result<Taken, TakeInError>>,
    },
    /// The owner wants to know something.
    Question(Question),
    /// The owner wants it to stop. What was released stays released, and it can be started again.
    Stop,
}

/// Records were taken, and are kept safely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// How many.
    pub accepted: usize,
    /// How many wait for a round now.
    pub waiting: usize,
}

/// What the owner wants to know, and where to say it.
pub enum Question {
    /// What the learner is doing.
    Status(oneshot::Sender<Status>),
    /// What was spent.
    Budget(oneshot::Sender<Budget>),
    /// What it predicts.
    Predict(Vec<Features>, oneshot::Sender<Result<Vec<Prediction>, RecordError>>),
    /// The model that may be published.
    PublicModel(oneshot::Sender<Result<Vec<u8>, ExportError>>),
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

/// What a driver may want to hear of.
pub enum News<'a> {
    /// A round has ended. Private: there are losses in it.
    Round(&'a RoundEnd),
    /// These neighbours were not heard, a while after the start. Said once.
    Unheard(Vec<LearnerId>),
    /// A neighbour sent two different releases of one round, and is not heard any more.
    CutOff(LearnerId),
}

/// Who hears of it, and may look at the learner then.
pub type Watch<'a, E, S> = &'a mut dyn FnMut(News<'_>, &Node<E, S>);

/// When a learner ends.
#[derive(Clone, Copy, Debug)]
pub struct Until {
    /// The first round that is not run any more.
    pub end: Round,
    /// For so long it then stays, so that neighbours can ask for its last releases, and the owner for anything.
    pub linger: Duration,
}

/// So many messages of one neighbour wait for a learner: one that floods it shuts out neither the owner nor others.
const NEIGHBOUR_MAX: usize = 16;

/// Takes what comes from the network to a learner's thread. When too much of the same neighbour is there, it waits or drops
/// it, as the link can bear: what was dropped is asked for again.
#[must_use]
pub fn deliver_to(learner: Sender<Event>, full: Full) -> Deliver {
    Arc::new(move |incoming: Incoming| {
        let lane = incoming.neighbour().0;
        // A farewell is said once, and always has a place.
        let most = NEIGHBOUR_MAX + usize::from(matches!(incoming, Incoming::Left(_)));
        // When nobody takes it the learner has ended.
        let _ = learner.send_by(lane, most, full, Event::Network(incoming));
    })
}

/// Runs a learner until it is told to stop, has run all rounds, or has spent its budget.
///
/// # Errors
/// When it cannot go on.
pub fn run<E: Entropy, S: Storage>(
    node: &mut Node<E, S>,
    link: &Link,
    events: &Receiver<Event>,
    until: Until,
    watch: Watch<'_, E, S>,
) -> Result<Ending, Halt> {
    let begin = Instant::now();
    let mut history = History::default();
    let mut done: Option<(Ending, Duration)> = None;
    let mut missed = false;
    let mut actions = node.start(Duration::ZERO)?;
    loop {
        let exhausted = perform(node, link, actions, &mut history, watch);
        let now = begin.elapsed();
        if let Some(refusal) = exhausted {
            link.say_farewell();
            done = Some((Ending::Exhausted(refusal), now));
        } else if done.is_none() && node.learner().round() >= until.end {
            done = Some((Ending::Finished, now));
        }
        if let Some((ending, _)) =
            done.clone().filter(|(_, since)| now >= since.saturating_add(until.linger))
        {
            return Ok(ending);
        }
        if !missed && now >= UNHEARD {
            missed = true;
            report_unheard(node, watch);
        }
        let wake = node.wake_at().unwrap_or(now + IDLE).min(now + IDLE);
        actions = match events.recv_timeout(wake.saturating_sub(now)) {
            Ok(Event::Network(incoming)) => {
                if matches!(incoming, Incoming::Came { .. }) && node.refusal().is_some() {
                    // It may have missed the farewell.
                    link.say_farewell();
                }
                hear(node, incoming, begin.elapsed())?
            }
            Ok(Event::Records { records, position, answer }) => {
                take_in(node, records, position, answer)?;
                Vec::new()
            }
            Ok(Event::Question(question)) => {
                tell(node, &history, question);
                Vec::new()
            }
            Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => {
                return Ok(done.map_or(Ending::Stopped, |(ending, _)| ending));
            }
            Err(RecvTimeoutError::Timeout) => Vec::new(),
        };
        // Whatever else comes, what is due is done.
        actions.extend(node.tick(begin.elapsed())?);
    }
}

/// Even when nothing is due the thread looks around this often.
const IDLE: Duration = Duration::from_millis(200);

/// After this time a neighbour should have been heard.
const UNHEARD: Duration = Duration::from_secs(20);

fn report_unheard<E: Entropy, S: Storage>(node: &Node<E, S>, watch: Watch<'_, E, S>) {
    let silent = node.neighbours().filter(|one| one.newest.is_none());
    let silent: Vec<LearnerId> = silent.map(|one| one.id).collect();
    if !silent.is_empty() {
        watch(News::Unheard(silent), node);
    }
}

fn hear<E: Entropy, S: Storage>(
    node: &mut Node<E, S>,
    incoming: Incoming,
    now: Duration,
) -> Result<Vec<Action>, Halt> {
    match incoming {
        Incoming::Came { who, answer } => {
            if let Some(release) = node.newest_for(who) {
                answer.send(&release);
            }
            Ok(node.came(who))
        }
        Incoming::Heard { from, bytes } => node.hear(from, bytes, now),
        Incoming::Asked { by, round, answer } => {
            if let Some(release) = node.asked(by, round) {
                answer.send(&release);
            }
            Ok(Vec::new())
        }
        Incoming::Left(neighbour) => node.left(neighbour, now),
    }
}

/// Whoever brought the records may be gone; why the learner halted is for the one who runs it.
fn take_in<E: Entropy, S: Storage>(
    node: &mut Node<E, S>,
    records: Vec<Record>,
    position: Option<Position>,
    answer: oneshot::Sender<Result<Taken, TakeInError>>,
) -> Result<(), Halt> {
    let accepted = records.len();
    let taken = match node.take_in(records, position) {
        Err(TakeInError::Halt(halt)) => {
            let _ = answer.send(Err(Halt::Before.into()));
            return Err(halt);
        }
        taken => taken.map(|()| Taken { accepted, waiting: node.waiting_records() }),
    };
    let _ = answer.send(taken);
    Ok(())
}

/// Answers a question; whoever asked may be gone.
fn tell<E: Entropy, S: Storage>(node: &Node<E, S>, history: &History, question: Question) {
    match question {
        Question::Status(answer) => drop(answer.send(owner::status(node, history))),
        Question::Budget(answer) => drop(answer.send(owner::budget(node))),
        Question::Predict(features, answer) => drop(answer.send(owner::predict(node, &features))),
        Question::PublicModel(answer) => drop(answer.send(owner::public_model(node))),
    }
}

/// Does what the node asks for; says whether its budget is spent.
fn perform<E: Entropy, S: Storage>(
    node: &Node<E, S>,
    link: &Link,
    actions: Vec<Action>,
    history: &mut History,
    watch: Watch<'_, E, S>,
) -> Option<Refusal> {
    let mut exhausted = None;
    for action in actions {
        match action {
            Action::Publish(release) => link.publish(&release),
            Action::Ask { neighbour, round } => link.ask(neighbour, round),
            Action::Ended(end) => {
                history.push(&end, node.learner().accountant().spent().zcdp);
                watch(News::Round(&end), node);
            }
            Action::CutOff(neighbour) => watch(News::CutOff(neighbour), node),
            Action::Retired(refusal) => exhausted = Some(refusal),
        }
    }
    exhausted
}
