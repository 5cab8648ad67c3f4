//! `undertone node`: one learner as a daemon. The command reads options and writes the log; all else is in
//! [`undertone_node::Daemon`].

pub(crate) mod log;
mod peers;
mod replay;
mod sources;

use crate::agreement_source::load_agreement;
use crate::failure::{BUDGET_EXHAUSTED, Failure};
use anyhow::Context;
use clap::{Args, ValueEnum};
use log::{Line, log};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use undertone::noise::OsEntropy;
use undertone::{LearnerId, Memory as _};
use undertone_models::Setup;
use undertone_node::daemon::{
    Daemon, DaemonSettings, Ended, Ending, Handle, HttpSettings, LINGER, News,
};
use undertone_node::http::Token;
use undertone_node::link::log_link;
use undertone_node::protocol::{FOLLOW_RATE, Node};
use undertone_node::store::{DiskStore, StoreFile};

/// Run one learner as a daemon: it accepts records and learns with its neighbours
#[derive(Args)]
#[command(after_help = "\
A record is a line of JSON: {\"features\": [0.1, 0, 2.5], \"label\": 1}. Without --replay, --records, --stdin or
--follow, records arrive by HTTP only (POST /v1/records). The log on stdout is one JSON object a line.
SIGTERM and Ctrl-C stop the learner. When it is started again it continues where it stopped. docs/node.md has a guide.")]
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
    /// Create the store: this learner has never run before
    #[arg(long)]
    new: bool,
    #[command(flatten)]
    peers: peers::Arguments,
    #[command(flatten)]
    sources: sources::Arguments,
    /// Serve the HTTP API and the dashboard for the owner at this address; port 0 is any free port
    #[arg(long, value_name = "ADDRESS:PORT")]
    http: Option<SocketAddr>,
    /// A file with the token that every request must carry; needed if other machines can connect
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
    /// Stop after this many rounds [default: never]
    #[arg(long)]
    rounds: Option<u64>,
    /// How long a round waits for neighbours, in seconds
    #[arg(long, default_value_t = 10.0)]
    deadline: f64,
    /// Do not end a round before this many neighbours were heard, even after the deadline
    #[arg(long = "heard-least", value_name = "COUNT", default_value_t = 1)]
    heard_min: usize,
    /// How many rounds a second one neighbour alone may move this learner, unless most neighbours confirm its round
    #[arg(long, value_name = "ROUNDS", default_value_t = FOLLOW_RATE)]
    follow_rate: u32,
    /// Log connections and refused connections, with the reason, to stderr
    #[arg(long, value_name = "LEVEL")]
    network_log: Option<Level>,
    /// Keep serving the owner and the neighbours after the last round, until stopped
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
    let settings = settings(arguments, &setup)?;
    let path = arguments.store.clone();
    let store = if arguments.new { StoreFile::New(path) } else { StoreFile::Existing(path) };
    let running = stop_on_signals()?;
    let daemon = Daemon::open(&setup, settings, &store, OsEntropy)?;
    let _ = running.set(daemon.handle());
    let (learner, delta) = (arguments.learner, setup.agreement.delta);
    started(&daemon);
    conclude(&daemon.run(move |news| report(news, learner, delta))?)
}

const NOT_FOLLOWED: &str = "too few neighbours confirm it, so this learner follows it at --follow-rate at most. \
                            If the network has not reached that round, stop that neighbour";
const UNHEARD: &str = "not heard yet. Are they running? Are addresses, certificates and agreements right? \
                       --network-log debug shows which connections are refused, and why";

/// What the options say.
fn settings(arguments: &Arguments, setup: &Setup) -> anyhow::Result<DaemonSettings> {
    let learner = LearnerId(arguments.learner);
    let token = arguments.token_file.as_deref().map(read_token).transpose()?;
    let deadline = Duration::try_from_secs_f64(arguments.deadline);
    Ok(DaemonSettings {
        certificates: arguments.peers.certificates.clone(),
        http: arguments.http.map(|address| HttpSettings { address, token }),
        source: arguments.sources.open(setup, learner)?,
        new_source: arguments.sources.new_source,
        rounds: arguments.rounds,
        deadline: deadline.context("--deadline: must be a number of seconds")?,
        heard_min: arguments.heard_min,
        follow_rate: arguments.follow_rate,
        linger: if arguments.stay { Duration::MAX } else { LINGER },
        ..DaemonSettings::new(learner, arguments.peers.peers()?)
    })
}

fn read_token(path: &Path) -> anyhow::Result<Token> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    Token::new(&text).with_context(|| path.display().to_string())
}

/// On a signal the learner stops; before it runs, the process ends at once: a router may never be reached.
fn stop_on_signals() -> anyhow::Result<Arc<OnceLock<Handle>>> {
    let running = Arc::new(OnceLock::<Handle>::new());
    let runs = Arc::clone(&running);
    ctrlc::set_handler(move || match runs.get() {
        Some(handle) => handle.stop(),
        None => std::process::exit(0),
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(running)
}

fn started(daemon: &Daemon<OsEntropy, DiskStore>) {
    let node = daemon.node();
    log(&Line::Started {
        learner: node.learner().id().0,
        network: node.wire().network().to_string(),
        round: node.learner().round().0,
        http: daemon.http_address().map(|address| format!("http://{address}/")),
    });
}

fn report(news: News<'_>, learner: u32, delta: f64) {
    match news {
        News::Round { end, accountant } => log(&Line::Round {
            learner,
            round: end.report.round.0,
            heard: end.report.heard,
            missing: end.report.missing,
            records: end.report.records,
            epsilon: accountant.epsilon(delta),
        }),
        News::Unheard(neighbours) => log(&Line::Unheard {
            learner,
            neighbours: neighbours.iter().map(|id| id.0).collect(),
            hint: UNHEARD.into(),
        }),
        News::CutOff(neighbour) => log(&Line::CutOff { learner, neighbour: neighbour.0 }),
        News::NotFollowed { neighbour, round, claimed } => log(&Line::NotFollowed {
            learner,
            neighbour: neighbour.0,
            round: round.0,
            claimed: claimed.0,
            hint: NOT_FOLLOWED.into(),
        }),
        News::Refused(refused) => log(&Line::Refused {
            source: refused.source.into(),
            line: refused.line,
            reason: refused.reason.clone(),
        }),
        News::SourceEnded { source, error } => log(&Line::SourceEnded {
            source: source.into(),
            error: error.map(|error| error.to_string()),
        }),
    }
}

fn epsilon(node: &RealNode) -> f64 {
    node.learner().accountant().epsilon(node.setup().agreement.delta)
}

fn conclude(ended: &Ended<OsEntropy, DiskStore>) -> Result<ExitCode, Failure> {
    let learner = ended.node.learner();
    log(&Line::Ended {
        learner: learner.id().0,
        how: match &ended.ending {
            Ending::Stopped => "stopped",
            Ending::Finished => "finished",
            Ending::Exhausted(_) => "exhausted",
        }
        .into(),
        round: learner.round().0,
        records: learner.memory().records(),
        epsilon: epsilon(&ended.node),
    });
    match &ended.ending {
        Ending::Exhausted(refusal) => {
            writeln!(io::stderr(), "budget exhausted: learner {}: {refusal}", learner.id())?;
            Ok(ExitCode::from(BUDGET_EXHAUSTED))
        }
        Ending::Stopped | Ending::Finished => Ok(ExitCode::SUCCESS),
    }
}
