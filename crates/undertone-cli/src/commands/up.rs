//! `undertone up`: a whole network of learners on this machine, each a process of its own.

use crate::config_source::ConfigSource;
use crate::failure::{BUDGET_EXHAUSTED, Failure};
use crate::terminal::{free_folder, interruption, progress_bar};
use anyhow::Context;
use clap::Args;
use indicatif::ProgressBar;
use serde::Deserialize;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use undertone::LearnerId;
use undertone_lab::config_file::{Overrides, resolved};
use undertone_lab::summary::rounded_up;
use undertone_models::Plan;

/// Run a network on this machine, every learner a process of its own
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: ConfigSource,
    /// Run this many rounds instead of the config's
    #[arg(long)]
    rounds: Option<u64>,
    /// Folder for stores, logs and the config; one that is there goes on where it stopped
    /// [default: networks/NAME-1, -2, …]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Say nothing but errors
    #[arg(long)]
    quiet: bool,
}

/// What a learner's log says of a round.
#[derive(Clone, Deserialize)]
struct Line {
    event: String,
    round: u64,
    records: u64,
    epsilon: f64,
}

/// One learner's process.
struct Member {
    child: Child,
    reader: thread::JoinHandle<Option<Line>>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let interrupted = interruption()?;
    let overrides = Overrides { rounds: arguments.rounds, ..Overrides::default() };
    let loaded = arguments.source.load(&overrides)?;
    let plan = Plan::new(loaded.config.clone())?;
    let folder =
        arguments.folder.clone().unwrap_or_else(|| free_folder("networks", &plan.config.name));
    make_private(&folder)?;
    let config = folder.join("config.toml");
    let text = toml::to_string(&resolved(&loaded, &plan.scales()))?;
    fs::write(&config, text).with_context(|| config.display().to_string())?;
    let ports = free_ports(plan.mechanisms.len())?;
    let rounds = plan.config.rounds;
    let progress = progress_bar("round", rounds, !arguments.quiet);
    let reached: Vec<AtomicU64> = ports.iter().map(|_| AtomicU64::new(0)).collect();
    let reached = std::sync::Arc::new(reached);
    let mut members = Vec::new();
    for id in plan.config.graph.ids() {
        let member = start(&plan, id, &folder, &ports, &reached, &progress)?;
        members.push(member);
    }
    let ended = wait(&mut members, &interrupted);
    progress.finish_and_clear();
    let codes = ended?;
    let lines: Vec<Option<Line>> =
        members.into_iter().map(|member| member.reader.join().ok().flatten()).collect();
    if !arguments.quiet {
        conclude(&lines, &folder)?;
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

/// A folder that only its owner may look into: the stores in it hold private records.
fn make_private(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Ports that are free now. Another program may take one before a learner does; then that learner says so.
fn free_ports(count: usize) -> anyhow::Result<Vec<u16>> {
    let held = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0"))
        .collect::<io::Result<Vec<_>>>()
        .context("no free port on this machine")?;
    held.iter().map(|socket| Ok(socket.local_addr()?.port())).collect()
}

fn start(
    plan: &Plan,
    id: LearnerId,
    folder: &Path,
    ports: &[u16],
    reached: &std::sync::Arc<Vec<AtomicU64>>,
    progress: &ProgressBar,
) -> anyhow::Result<Member> {
    let place = id.0 as usize;
    let store = folder.join(format!("learner-{id}.redb"));
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("node").arg(folder.join("config.toml"));
    command.args(["--learner", &id.to_string()]).arg("--store").arg(&store);
    if !store.exists() {
        command.arg("--new");
    }
    command.args(["--listen", &format!("127.0.0.1:{}", ports[place])]);
    for (neighbour, _) in plan.config.graph.neighbours(id) {
        let port = ports[neighbour.0 as usize];
        command.args(["--peer", &format!("{neighbour}=127.0.0.1:{port}")]);
    }
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
    let out = child.stdout.take().context("a learner without a log")?;
    let (reached, progress) = (std::sync::Arc::clone(reached), progress.clone());
    let reader = thread::spawn(move || {
        let mut last = None;
        for text in BufReader::new(out).lines().map_while(Result::ok) {
            let _ = writeln!(log, "{text}");
            let Ok(line) = serde_json::from_str::<Line>(&text) else { continue };
            let round = if line.event == "round" { line.round + 1 } else { line.round };
            reached[place].store(round, Ordering::Relaxed);
            let slowest = reached.iter().map(|one| one.load(Ordering::Relaxed)).min();
            progress.set_position(slowest.unwrap_or(0));
            progress.set_message(format!("ε spent {}", rounded_up(line.epsilon)));
            last = Some(line);
        }
        last
    });
    Ok(Member { child, reader })
}

/// Waits for all learners. Ctrl-C reaches them too, and they stop by themselves.
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

/// What `kill -9` does is safe for a learner; nothing gentler is in the standard library.
fn stop(child: &mut Child) {
    thread::sleep(Duration::from_millis(500));
    if matches!(child.try_wait(), Ok(None)) {
        let _ = child.kill();
    }
}

fn conclude(lines: &[Option<Line>], folder: &Path) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "learner     rounds  records   ε spent")?;
    for (id, line) in lines.iter().enumerate() {
        match line {
            Some(line) => writeln!(
                out,
                "{id:<8} {:>9} {:>8} {:>9}  {}",
                line.round,
                line.records,
                rounded_up(line.epsilon),
                line.event
            )?,
            None => writeln!(out, "{id:<8} did not start")?,
        }
    }
    writeln!(out, "stores and logs: {}", folder.display())
}
