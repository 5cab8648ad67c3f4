//! `undertone node`: one learner as a process of its own.

use crate::config_source::ConfigSource;
use crate::failure::{BUDGET_EXHAUSTED, Failure};
use anyhow::{Context, anyhow, bail, ensure};
use clap::Args;
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;
use undertone::config::Config;
use undertone::noise::OsEntropy;
use undertone::{LearnerId, Memory, Round};
use undertone_lab::config_file::Overrides;
use undertone_lab::stream::{self, Stream};
use undertone_models::{Plan, Record};
use undertone_node::daemon::{Ending, Event, run as run_daemon};
use undertone_node::link::{Addresses, Identity, Link};
use undertone_node::protocol::{Node, Settings, TakeInError};
use undertone_node::store::DiskStore;
use undertone_node::wire::Wire;

/// Run one learner as a process of its own; on this machine only, so far
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: ConfigSource,
    /// Which learner of the config's network this is, from 0
    #[arg(long, value_name = "NUMBER")]
    learner: u32,
    /// The learner's store. It holds private records; its mode is 0600
    #[arg(long, value_name = "FILE")]
    store: PathBuf,
    /// Make the store: this learner has never run before
    #[arg(long)]
    new: bool,
    /// Where to listen, on this machine
    #[arg(long, value_name = "HOST:PORT")]
    listen: String,
    /// Where a neighbour listens; once for each. Of two neighbours the smaller number calls
    #[arg(long = "peer", value_name = "NUMBER=HOST:PORT", value_parser = peer)]
    peers: Vec<(u32, String)>,
    /// Run this many rounds instead of the config's
    #[arg(long)]
    rounds: Option<u64>,
    /// How long a round waits for neighbours, in seconds
    #[arg(long, default_value_t = 10.0)]
    deadline: f64,
}

fn peer(text: &str) -> Result<(u32, String), String> {
    let bad = || "expected NUMBER=HOST:PORT, such as 1=127.0.0.1:7441".to_string();
    let (number, address) = text.split_once('=').ok_or_else(bad)?;
    address.rsplit_once(':').ok_or_else(bad)?;
    Ok((number.parse().map_err(|_| bad())?, address.to_string()))
}

/// One line of the log. Public facts only.
#[derive(Serialize)]
struct Line<'a> {
    event: &'a str,
    learner: u32,
    round: u64,
    heard: usize,
    missing: usize,
    records: u64,
    epsilon: f64,
}

type RealNode = Node<OsEntropy, DiskStore>;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let overrides = Overrides { rounds: arguments.rounds, ..Overrides::default() };
    let loaded = arguments.source.load(&overrides)?;
    let plan = Arc::new(Plan::new(loaded.config.clone())?);
    let own = LearnerId(arguments.learner);
    let last = plan.mechanisms.len() - 1;
    if own.0 as usize > last {
        return Err(anyhow!("--learner {own}: the network has learners 0 to {last}").into());
    }
    let wire = Wire::new(Arc::clone(&plan));
    let (identity, addresses) = whereabouts(arguments, &plan, &wire, own)?;
    let end = Round(plan.config.rounds);
    let settings = settings(arguments, &plan.config, end)?;
    let mut streams = stream::load(&plan.config, &loaded.folder, 0)?;
    let mut stream = streams.learners.swap_remove(own.0 as usize);
    let store = open_store(arguments, &wire, own)?;
    let mut node = Node::open(Arc::clone(&plan), own, settings, OsEntropy, store)?;
    // Those it has taken in are in its store.
    stream.next(node.learner().memory().records() + node.waiting_records() as u64);

    let (sender, events) = sync_channel(1024);
    let stop = sender.clone();
    ctrlc::set_handler(move || {
        let _ = stop.send(Event::Stop);
    })
    .context("cannot listen for Ctrl-C")?;
    let network = sender.clone();
    let deliver = Arc::new(move |incoming| {
        let _ = network.send(Event::Network(incoming));
    });
    let link = Link::open(&identity, &addresses, deliver)?;
    thread::spawn(move || feed(stream, &sender));
    let delta = plan.config.delta;
    let ending = run_daemon(&mut node, &link, &events, (end, LINGER), &mut |end, node| {
        // Nobody may be reading; the learner goes on.
        let _ = log(&Line {
            event: "round",
            learner: own.0,
            round: end.report.round.0,
            heard: end.report.heard,
            missing: end.report.missing,
            records: end.report.records,
            epsilon: node.learner().accountant().epsilon(delta),
        });
    })?;
    link.close();
    conclude(&ending, &node, delta)
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

fn conclude(ending: &Ending, node: &RealNode, delta: f64) -> Result<ExitCode, Failure> {
    let learner = node.learner();
    log(&Line {
        event: match ending {
            Ending::Stopped => "stopped",
            Ending::Finished => "finished",
            Ending::Exhausted(_) => "exhausted",
        },
        learner: learner.id().0,
        round: learner.round().0,
        heard: 0,
        missing: 0,
        records: learner.memory().records(),
        epsilon: learner.accountant().epsilon(delta),
    })?;
    match ending {
        Ending::Exhausted(refusal) => {
            writeln!(io::stderr(), "budget exhausted: learner {}: {refusal}", learner.id())?;
            Ok(ExitCode::from(BUDGET_EXHAUSTED))
        }
        Ending::Stopped | Ending::Finished => Ok(ExitCode::SUCCESS),
    }
}

/// How long a learner that is done answers those who are not.
const LINGER: Duration = Duration::from_secs(3);
/// Records are taken in so many at a time.
const CHUNK: u64 = 64;
const INBOX_MAX: usize = 4096;

fn log(line: &Line<'_>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, line).map_err(io::Error::from)?;
    writeln!(out)?;
    out.flush()
}

fn settings(arguments: &Arguments, config: &Config, end: Round) -> anyhow::Result<Settings> {
    let deadline = Duration::try_from_secs_f64(arguments.deadline)
        .ok()
        .filter(|deadline| !deadline.is_zero())
        .context("--deadline: a number of seconds above 0")?;
    let warmup = usize::try_from(config.data.warmup + config.data.batch).unwrap_or(usize::MAX);
    Ok(Settings {
        deadline,
        ask_after: deadline / 10,
        records_wait: deadline / 2,
        heard_least: 1,
        end,
        inbox_max: INBOX_MAX.max(warmup.saturating_add(CHUNK as usize)),
    })
}

fn whereabouts(
    arguments: &Arguments,
    plan: &Plan,
    wire: &Wire,
    own: LearnerId,
) -> anyhow::Result<(Identity, Addresses)> {
    let neighbours: Vec<LearnerId> =
        plan.config.graph.neighbours(own).iter().map(|&(id, _)| id).collect();
    for (number, _) in &arguments.peers {
        ensure!(
            neighbours.contains(&LearnerId(*number)),
            "--peer {number}: not a neighbour of learner {own}, which has {:?}",
            neighbours.iter().map(|id| id.0).collect::<Vec<_>>()
        );
    }
    let mut connect = Vec::new();
    for neighbour in neighbours.iter().filter(|neighbour| **neighbour > own) {
        match arguments.peers.iter().find(|(number, _)| *number == neighbour.0) {
            Some((_, address)) => connect.push(address.clone()),
            None => bail!("--peer {neighbour}=HOST:PORT is missing: learner {own} calls it"),
        }
    }
    let identity =
        Identity { network: wire.network(), own, neighbours, message_bytes: wire.message_bytes() };
    Ok((identity, Addresses { listen: vec![arguments.listen.clone()], connect }))
}

/// Hands the learner its records as fast as it takes them.
fn feed(mut stream: Stream, learner: &SyncSender<Event>) {
    loop {
        let records: Vec<Record> = stream.next(CHUNK);
        if records.is_empty() {
            return;
        }
        loop {
            let (answer, taken) = sync_channel(1);
            let event = Event::Records { records: records.clone(), answer };
            if learner.send(event).is_err() {
                return;
            }
            match taken.recv() {
                Ok(Ok(())) => break,
                Ok(Err(TakeInError::Full { .. })) => thread::sleep(Duration::from_millis(20)),
                Ok(Err(_)) | Err(_) => return,
            }
        }
    }
}
