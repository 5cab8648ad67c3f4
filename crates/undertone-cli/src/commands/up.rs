//! `undertone up`: a whole network of learners on this machine, each in its own process.

use super::node::log::Line;
use crate::config_source::ConfigSource;
use crate::failure::{BUDGET_EXHAUSTED, Failure};
use crate::terminal::{free_folder, interruption, progress_bar};
use anyhow::{Context, anyhow};
use clap::Args;
use indicatif::ProgressBar;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use undertone::LearnerId;
use undertone::privacy::format_epsilon;
use undertone_lab::Setup;
use undertone_lab::experiment::{Overrides, resolved};
use undertone_lab::run_store::make_private_folder;

/// Run a network on this machine, each learner in its own process
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: ConfigSource,
    /// Run this many learners instead of the config's
    #[arg(long)]
    learners: Option<usize>,
    /// Run this many rounds instead of the config's
    #[arg(long)]
    rounds: Option<u64>,
    /// Read at most this many records a second in each learner, to watch it learn
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<f64>,
    /// Keep the learners and their dashboards running after the last round, until Ctrl-C
    #[arg(long)]
    stay: bool,
    /// Folder for stores, logs and the config; an existing network continues where it stopped
    /// [default: networks/NAME-1, -2, …]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Print errors only
    #[arg(long)]
    quiet: bool,
}

/// A learner's progress, from its log.
#[derive(Clone, Default)]
struct Progress {
    ended: Option<String>,
    round: u64,
    records: u64,
    epsilon: f64,
}

/// One learner's process.
struct Member {
    child: Child,
    reader: thread::JoinHandle<Progress>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let interrupted = interruption()?;
    let overrides = Overrides {
        rounds: arguments.rounds,
        learners: arguments.learners,
        ..Overrides::default()
    };
    let loaded = arguments.source.load(&overrides)?;
    if loaded.checked.data.repeat {
        return Err(
            anyhow!("data.repeat: is for `simulate`; on a network a record is used once").into()
        );
    }
    let setup = loaded.checked.setup()?;
    let folder =
        arguments.folder.clone().unwrap_or_else(|| free_folder("networks", &setup.agreement.name));
    make_private_folder(&folder).with_context(|| folder.display().to_string())?;
    let experiment = resolved(&loaded, &setup.scales());
    write_toml(&folder.join(EXPERIMENT), &experiment)?;
    write_toml(&folder.join(AGREEMENT), &experiment.agreement)?;
    let ports = free_ports(setup.mechanisms.len())?;
    let rounds = loaded.checked.rounds;
    let progress = progress_bar("round", rounds, !arguments.quiet);
    let shared = Arc::new(Shared {
        reached: ports.iter().map(|_| AtomicU64::new(0)).collect(),
        progress: progress.clone(),
        prints: !arguments.quiet,
    });
    let mut members = Vec::new();
    for id in setup.agreement.graph.ids() {
        let command = command(arguments, &setup, rounds, id, &folder, &ports)?;
        match start(command, id, &folder, &shared) {
            Ok(member) => members.push(member),
            Err(error) => {
                members.iter_mut().for_each(|member: &mut Member| stop(&mut member.child));
                return Err(error.into());
            }
        }
    }
    let ended = wait(&mut members, &interrupted);
    progress.finish_and_clear();
    let codes = ended?;
    let ends: Vec<Progress> =
        members.into_iter().map(|member| member.reader.join().unwrap_or_default()).collect();
    if !arguments.quiet {
        conclude(&ends, &folder)?;
    }
    Ok(match codes.iter().copied().max().unwrap_or(0) {
        0 => ExitCode::SUCCESS,
        code if code == i32::from(BUDGET_EXHAUSTED) => ExitCode::from(BUDGET_EXHAUSTED),
        _ => {
            for (id, code) in codes.iter().enumerate().filter(|(_, code)| **code != 0) {
                let log = folder.join(format!("learner-{id}.err"));
                writeln!(
                    io::stderr(),
                    "error: learner {id} ended with code {code}: {}",
                    log.display()
                )?;
            }
            ExitCode::from(2)
        }
    })
}

/// What all learners share.
const AGREEMENT: &str = "agreement.toml";
/// The experiment, whose data the learners replay.
const EXPERIMENT: &str = "experiment.toml";

fn write_toml(path: &Path, value: &impl serde::Serialize) -> anyhow::Result<()> {
    fs::write(path, toml::to_string(value)?).with_context(|| path.display().to_string())
}

/// Ports that are free now. If another program takes one first, the learner reports it.
fn free_ports(count: usize) -> anyhow::Result<Vec<u16>> {
    let held = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0"))
        .collect::<io::Result<Vec<_>>>()
        .context("no free port on this machine")?;
    held.iter().map(|socket| Ok(socket.local_addr()?.port())).collect()
}

/// Shared by the threads that read the logs.
struct Shared {
    reached: Vec<AtomicU64>,
    progress: ProgressBar,
    prints: bool,
}

fn command(
    arguments: &Arguments,
    setup: &Setup,
    rounds: u64,
    id: LearnerId,
    folder: &Path,
    ports: &[u16],
) -> anyhow::Result<Command> {
    let store = folder.join(format!("learner-{id}.redb"));
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("node").arg(folder.join(AGREEMENT)).arg("--replay").arg(folder.join(EXPERIMENT));
    command.args(["--rounds", &rounds.to_string()]);
    command.args(["--learner", &id.to_string()]).arg("--store").arg(&store);
    if !store.exists() {
        command.arg("--new");
    }
    command.args(["--http", "127.0.0.1:0"]);
    command.args(["--listen", &format!("127.0.0.1:{}", ports[id.0 as usize])]);
    for (neighbour, _) in setup.agreement.graph.neighbours(id) {
        let port = ports[neighbour.0 as usize];
        command.args(["--peer", &format!("{neighbour}=127.0.0.1:{port}")]);
    }
    if let Some(rate) = arguments.rate {
        command.args(["--rate", &rate.to_string()]);
    }
    if arguments.stay {
        command.arg("--stay");
    }
    Ok(command)
}

fn start(
    mut command: Command,
    id: LearnerId,
    folder: &Path,
    shared: &Arc<Shared>,
) -> anyhow::Result<Member> {
    let errors = File::create(folder.join(format!("learner-{id}.err")))?;
    let mut log = File::options()
        .create(true)
        .append(true)
        .open(folder.join(format!("learner-{id}.ndjson")))?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .context("cannot start a learner")?;
    let out = child.stdout.take().context("cannot read a learner's log")?;
    let shared = Arc::clone(shared);
    let reader = thread::spawn(move || {
        let mut progress = Progress::default();
        for text in BufReader::new(out).lines().map_while(Result::ok) {
            let _ = writeln!(log, "{text}");
            if let Ok(line) = serde_json::from_str(&text) {
                progress.follow(line, &shared);
            }
        }
        progress
    });
    Ok(Member { child, reader })
}

impl Progress {
    fn follow(&mut self, line: Line, shared: &Shared) {
        match line {
            Line::Started { learner, http: Some(http), .. } if shared.prints => {
                shared.progress.suspend(|| {
                    let _ = writeln!(io::stdout(), "learner {learner}: dashboard at {http}");
                });
            }
            Line::Round { learner, round, records, epsilon, .. } => {
                (self.round, self.records, self.epsilon) = (round + 1, records, epsilon);
                if let Some(reached) = shared.reached.get(learner as usize) {
                    reached.store(self.round, Ordering::Relaxed);
                }
                let slowest = shared.reached.iter().map(|one| one.load(Ordering::Relaxed)).min();
                shared.progress.set_position(slowest.unwrap_or(0));
                shared.progress.set_message(format!("ε spent {}", format_epsilon(epsilon)));
            }
            Line::Ended { how, round, records, epsilon, .. } => {
                let ended = Some(how);
                *self = Progress { ended, round, records, epsilon };
            }
            Line::Started { .. }
            | Line::Unheard { .. }
            | Line::CutOff { .. }
            | Line::NotFollowed { .. }
            | Line::Refused { .. }
            | Line::SourceEnded { .. } => {}
        }
    }
}

/// Waits for all learners. Ctrl-C reaches them too, and stops them.
fn wait(members: &mut [Member], interrupted: &AtomicBool) -> anyhow::Result<Vec<i32>> {
    let mut codes = vec![None; members.len()];
    let mut asked = false;
    while codes.iter().any(Option::is_none) {
        for (code, member) in codes.iter_mut().zip(members.iter_mut()) {
            if code.is_none() {
                *code = member.child.try_wait()?.map(|status| status.code().unwrap_or(-1));
            }
        }
        if interrupted.load(Ordering::Relaxed) && !asked {
            asked = true;
            for (code, member) in codes.iter().zip(members.iter_mut()) {
                if code.is_none() {
                    stop(&mut member.child);
                }
            }
        }
        thread::sleep(Duration::from_millis(30));
    }
    Ok(codes.into_iter().flatten().collect())
}

/// Stops a learner with SIGTERM. On other systems it is killed, which is safe for a learner.
fn stop(child: &mut Child) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process};
        let _ = kill_process(Pid::from_child(child), Signal::TERM);
    }
    #[cfg(not(unix))]
    {
        let _ = child.kill();
    }
}

fn conclude(ends: &[Progress], folder: &Path) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "learner     rounds  records   ε spent")?;
    for (id, end) in ends.iter().enumerate() {
        match &end.ended {
            Some(how) => writeln!(
                out,
                "{id:<8} {:>9} {:>8} {:>9}  {how}",
                end.round,
                end.records,
                format_epsilon(end.epsilon),
            )?,
            None => writeln!(out, "{id:<8} did not finish")?,
        }
    }
    writeln!(out, "stores and logs: {}", folder.display())
}
