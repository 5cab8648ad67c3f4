//! `undertone node`: one learner as a daemon.

pub(crate) mod log;
mod place;
mod sources;

use crate::agreement_source::load_agreement;
use crate::failure::{BUDGET_EXHAUSTED, Failure};
use anyhow::{Context, anyhow, bail, ensure};
use clap::{Args, ValueEnum};
use log::{Line, log};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use undertone::agreement::Agreement;
use undertone::noise::OsEntropy;
use undertone::{LearnerId, Memory as _, Round};
use undertone_node::daemon::{Ending, Event, News, Until, deliver_to, run as run_daemon};
use undertone_node::http::{Server, Token};
use undertone_node::intake::Intake;
use undertone_node::link::{Link, log_link};
use undertone_node::mailbox::{Sender, mailbox};
use undertone_node::protocol::{Node, Settings, check_method};
use undertone_node::store::DiskStore;
use undertone_node::wire::Wire;

/// Run one learner as a daemon: it takes records in and learns with its neighbours
#[derive(Args)]
#[command(after_help = "\
A record is a line of JSON: {\"features\": [0.1, 0, 2.5], \"label\": 1}. Without --replay, --records, --stdin or
--follow records come by HTTP alone (POST /v1/records). The log on stdout is one JSON object a line.
SIGTERM and Ctrl-C stop the learner; started again it goes on where it was. docs/node.md has a guide.")]
pub(crate) struct Arguments {
    /// The agreement of the network (TOML): the same file at every learner
    #[arg(value_name = "AGREEMENT.toml")]
    agreement: PathBuf,
    /// Which learner of the network this is, from 0
    #[arg(long, value_name = "NUMBER")]
    learner: u32,
    /// The learner's store. It holds private records; its mode is 0600
    #[arg(long, value_name = "FILE")]
    store: PathBuf,
    /// Make the store: this learner has never run before
    #[arg(long)]
    new: bool,
    #[command(flatten)]
    place: place::Arguments,
    #[command(flatten)]
    sources: sources::Arguments,
    /// Serve the owner here: dashboard, records, predictions, metrics. 127.0.0.1:0 takes any free port
    #[arg(long, value_name = "ADDRESS:PORT")]
    http: Option<SocketAddr>,
    /// A file with the token that the owner must show; needed where others than this machine can connect
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
    /// Stop after this many rounds [default: go on for ever]
    #[arg(long)]
    rounds: Option<u64>,
    /// How long a round waits for neighbours, in seconds
    #[arg(long, default_value_t = 10.0)]
    deadline: f64,
    /// Do not end a round before this many neighbours were heard, whatever the deadline
    #[arg(long = "heard-least", value_name = "COUNT", default_value_t = 1)]
    heard_min: usize,
    /// Write to stderr who connects, who is refused, and why
    #[arg(long, value_name = "LEVEL")]
    network_log: Option<Level>,
    /// Stay after the last round, and serve the owner and the neighbours until stopped
    #[arg(long)]
    stay: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Level {
    Warn,
    Info,
    Debug,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Level::Warn => "warn",
            Level::Info => "info",
            Level::Debug => "debug",
        }
    }
}

type RealNode = Node<OsEntropy, DiskStore>;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if let Some(level) = arguments.network_log {
        log_link(level.name());
    }
    let setup = load_agreement(&arguments.agreement)?;
    let own = LearnerId(arguments.learner);
    let last = setup.mechanisms.len() - 1;
    if own.0 as usize > last {
        return Err(anyhow!("--learner {own}: the network has learners 0 to {last}").into());
    }
    check_method(&setup)?;
    let wire = Wire::new(Arc::clone(&setup));
    let place = arguments.place.check(&setup, &wire, own)?;
    let end = rounds_end(arguments)?;
    let settings = settings(arguments, &setup.agreement, own, end)?;
    let token = arguments.token_file.as_deref().map(read_token).transpose()?;
    let source = arguments.sources.open(&setup, own)?;
    ensure_some_source(arguments)?;

    check_store(arguments)?;
    let open_node = || -> anyhow::Result<RealNode> {
        let store = open_store(arguments, &wire, own)?;
        Ok(Node::open(Arc::clone(&setup), own, settings, OsEntropy, store)?)
    };
    // An existing store may take long to read, so it is read before neighbours can connect.
    let there = if arguments.new { None } else { Some(open_node()?) };
    let (sender, events) = mailbox(EVENTS);
    let running = stop_on_signals(&sender)?;
    let deliver = deliver_to(sender.clone(), place.addresses.when_full());
    let link = Link::open(&place.identity, &place.addresses, &place.security, deliver)?;
    let intake = Intake::new(Arc::clone(&setup));
    let server = match arguments.http {
        Some(address) => Some(Server::start(address, token, intake.clone(), sender.clone())?),
        None => None,
    };
    // A new store is made last, so that none is made for a learner that cannot run.
    let mut node = there.map_or_else(open_node, Ok)?;
    source.check_known(node.positions(), arguments.sources.new_source)?;
    running.store(true, Ordering::Relaxed);
    started(&node, server.as_ref());
    sources::feed(source, intake, node.positions().clone(), sender);

    let linger = if arguments.stay { Duration::MAX } else { LINGER };
    let ending = run_daemon(&mut node, &link, &events, Until { end, linger }, &mut report);
    // The queue has no reader any more. Dropping the receiver ends all senders that wait.
    drop(events);
    link.close();
    conclude(&ending?, &node)
}

const UNHEARD: &str = "not heard yet; do they run, are addresses, certificates and configs right? \
                       --network-log debug shows who is refused, and why";
/// How many events may wait for the learner.
const EVENTS: usize = 1024;
/// How long a learner that has finished answers neighbours that have not.
const LINGER: Duration = Duration::from_secs(3);
const INBOX_MAX: usize = 4096;
const DEADLINE_MAX: Duration = Duration::from_secs(1_000_000);

/// The first round that is not run, by the owner's choice.
fn rounds_end(arguments: &Arguments) -> anyhow::Result<Round> {
    let end = Round(arguments.rounds.unwrap_or(Round::LIMIT.0));
    ensure!(end > Round::ZERO && end <= Round::LIMIT, "--rounds: must be 1 to {}", Round::LIMIT);
    Ok(end)
}

fn ensure_some_source(arguments: &Arguments) -> anyhow::Result<()> {
    ensure!(
        arguments.http.is_some() || arguments.sources.any(),
        "no records could ever come: give --http, --stdin, --follow, --records or --replay"
    );
    Ok(())
}

fn read_token(path: &std::path::Path) -> anyhow::Result<Token> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    Token::new(&text).with_context(|| path.display().to_string())
}

/// On a signal the learner stops. Before the learner runs, the process ends at once, because it may
/// wait for a router for ever.
fn stop_on_signals(learner: &Sender<Event>) -> anyhow::Result<Arc<AtomicBool>> {
    let stop = learner.clone();
    let running = Arc::new(AtomicBool::new(false));
    let runs = Arc::clone(&running);
    ctrlc::set_handler(move || {
        if !runs.load(Ordering::Relaxed) {
            std::process::exit(0);
        }
        let _ = stop.send(Event::Stop);
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(running)
}

fn check_store(arguments: &Arguments) -> anyhow::Result<()> {
    let path = &arguments.store;
    match (arguments.new, path.exists()) {
        (true, true) => {
            bail!("{}: is there already; leave --new out to go on with it", path.display())
        }
        (false, false) => bail!(
            "{}: there is no such store; --new makes one, for a learner that has never run before",
            path.display()
        ),
        _ => Ok(()),
    }
}

fn open_store(arguments: &Arguments, wire: &Wire, own: LearnerId) -> anyhow::Result<DiskStore> {
    let path = &arguments.store;
    if arguments.new {
        DiskStore::create(path, wire.network(), own)
    } else {
        DiskStore::open(path, wire.network(), own)
    }
    .with_context(|| path.display().to_string())
}

fn settings(
    arguments: &Arguments,
    agreement: &Agreement,
    own: LearnerId,
    end: Round,
) -> anyhow::Result<Settings> {
    let deadline = Duration::try_from_secs_f64(arguments.deadline)
        .ok()
        .filter(|deadline| !deadline.is_zero() && *deadline <= DEADLINE_MAX)
        .context("--deadline: a number of seconds above 0, and at most 1000000")?;
    let (heard_min, neighbours) = (arguments.heard_min, agreement.graph.neighbours(own).len());
    ensure!(
        (1..=neighbours).contains(&heard_min),
        "--heard-least {heard_min}: learner {own} has {neighbours} neighbours; 1 to {neighbours} can be asked for"
    );
    let warmup =
        usize::try_from(agreement.records.warmup + agreement.records.batch).unwrap_or(usize::MAX);
    Ok(Settings {
        deadline,
        request_after: deadline / 10,
        records_wait: deadline / 2,
        heard_min,
        end,
        inbox_max: warmup.saturating_add(INBOX_MAX),
    })
}

fn started(node: &RealNode, server: Option<&Server>) {
    let http = server.map(|server| format!("http://{}/", server.address()));
    log(&Line::Started {
        learner: node.learner().id().0,
        network: node.wire().network().to_string(),
        round: node.learner().round().0,
        http,
    });
}

fn report(news: News<'_>, node: &RealNode) {
    let learner = node.learner().id().0;
    match news {
        News::Round(end) => log(&Line::Round {
            learner,
            round: end.report.round.0,
            heard: end.report.heard,
            missing: end.report.missing,
            records: end.report.records,
            epsilon: epsilon(node),
        }),
        News::Unheard(neighbours) => log(&Line::Unheard {
            learner,
            neighbours: neighbours.iter().map(|id| id.0).collect(),
            hint: UNHEARD.into(),
        }),
        News::CutOff(neighbour) => log(&Line::CutOff { learner, neighbour: neighbour.0 }),
    }
}

fn epsilon(node: &RealNode) -> f64 {
    node.learner().accountant().epsilon(node.setup().agreement.delta)
}

fn conclude(ending: &Ending, node: &RealNode) -> Result<ExitCode, Failure> {
    let learner = node.learner();
    log(&Line::Ended {
        learner: learner.id().0,
        how: match ending {
            Ending::Stopped => "stopped",
            Ending::Finished => "finished",
            Ending::Exhausted(_) => "exhausted",
        }
        .into(),
        round: learner.round().0,
        records: learner.memory().records(),
        epsilon: epsilon(node),
    });
    match ending {
        Ending::Exhausted(refusal) => {
            writeln!(io::stderr(), "budget exhausted: learner {}: {refusal}", learner.id())?;
            Ok(ExitCode::from(BUDGET_EXHAUSTED))
        }
        Ending::Stopped | Ending::Finished => Ok(ExitCode::SUCCESS),
    }
}
