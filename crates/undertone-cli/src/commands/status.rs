//! `undertone status`: what a learner is doing, and how well it predicts.

use crate::failure::Failure;
use crate::node_source::{NodeSource, Target, value};
use clap::Args;
use serde_json::Value;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use undertone::privacy::{NO_BOUND, format_epsilon, format_epsilon_or};
use undertone_node::loss_history::History;
use undertone_node::owner;

/// Show what a learner is doing: a running one (--node), or the store of one that is not running (--store)
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    node: NodeSource,
    /// The agreement of the learner's network, with --store
    #[arg(value_name = "AGREEMENT.toml")]
    agreement: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (status, budget): (Value, Value) =
        match arguments.node.open(arguments.agreement.as_deref())? {
            Target::Running(node) => (node.json("/v1/status")?, node.json("/v1/budget")?),
            Target::Stored(node) => {
                (value(&owner::status(&node, &History::default()))?, value(&owner::budget(&node))?)
            }
        };
    let mut out = io::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &status).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        print(&mut out, &status, &budget)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print(out: &mut impl Write, status: &Value, budget: &Value) -> io::Result<()> {
    let text = |key: &str| status[key].as_str().unwrap_or("?").to_string();
    writeln!(
        out,
        "learner {} of {}, {}: {}",
        status["learner"],
        status["learners"],
        text("name"),
        text("state")
    )?;
    match status["rounds"].as_u64() {
        Some(rounds) => writeln!(out, "round     {} of {rounds}", status["round"])?,
        None => writeln!(out, "round     {}", status["round"])?,
    }
    writeln!(
        out,
        "records   {} learnt from, {} waiting",
        status["records"], status["waiting_records"]
    )?;
    let epsilon = format_epsilon_or(budget["epsilon"].as_f64(), NO_BOUND);
    write!(out, "ε spent   {epsilon} at δ = {}", budget["delta"])?;
    for (key, words) in [("cap", "cap"), ("pure_cap", "cap on pure ε")] {
        if let Some(cap) = budget[key].as_f64() {
            write!(out, ", {words} {}", format_epsilon(cap))?;
        }
    }
    write!(out, ", {}", budget["for_ever"].as_str().unwrap_or("?"))?;
    writeln!(out)?;
    for (key, words) in [("loss", "loss"), ("accuracy", "accuracy"), ("distance", "distance")] {
        if let Some(number) = status[key].as_f64() {
            writeln!(out, "{words:<9} {number:.4}")?;
        }
    }
    for neighbour in status["neighbours"].as_array().into_iter().flatten() {
        let presence = neighbour["presence"].as_str().unwrap_or("?");
        match neighbour["newest"].as_u64() {
            Some(newest) => writeln!(
                out,
                "neighbour {}: {presence}, last heard in round {newest}",
                neighbour["learner"]
            )?,
            None => writeln!(out, "neighbour {}: {presence}, not heard yet", neighbour["learner"])?,
        }
    }
    Ok(())
}
