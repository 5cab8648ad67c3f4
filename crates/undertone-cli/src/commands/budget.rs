//! `undertone budget`: what a config costs, with no data and no run; or what a learner has spent.

use crate::config_source::ConfigSource;
use crate::failure::Failure;
use crate::node_source::{NodeSource, Target, value};
use anyhow::anyhow;
use clap::{Args, ValueEnum};
use serde_json::Value;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use undertone::load::{Source, Strictness};
use undertone::method::{Algorithm1, Bound, Method};
use undertone::privacy::{NO_BOUND, format_epsilon, format_epsilon_or};
use undertone_lab::budget::{BudgetReport, LearnerBudget, budget};
use undertone_lab::config::load_config;
use undertone_lab::experiment::Overrides;
use undertone_node::owner;

/// Show what a config costs each learner, with no data and no run; or what a learner has spent (--node, --store)
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: ConfigSource,
    /// Config file, for scripts that prefer a named argument
    #[arg(long, value_name = "CONFIG.toml", conflicts_with_all = ["path", "preset", "node", "store"])]
    config: Option<PathBuf>,
    /// How the sensitivity of Algorithm 1 is bounded [default: as in the config]
    #[arg(long, value_enum, conflicts_with_all = ["node", "store"])]
    bound: Option<BoundName>,
    /// Count the releases of rounds 1 to T [default: as in the experiment; an agreement needs it]
    #[arg(long, value_name = "T", conflicts_with_all = ["node", "store"])]
    rounds: Option<u64>,
    /// Report epsilon at this delta [default: as in the config]
    #[arg(long, conflicts_with_all = ["node", "store"])]
    delta: Option<f64>,
    /// Target (or cap) epsilon instead of the config's
    #[arg(long, conflicts_with_all = ["node", "store"])]
    epsilon: Option<f64>,
    #[command(flatten)]
    node: NodeSource,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "lowercase")]
enum BoundName {
    /// Ours, with proof
    Tight,
    /// Theorem 5(i) of the paper
    Theorem5i,
    /// Theorem 5(ii) of the paper
    Theorem5ii,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.node.is_given() {
        return spent(arguments);
    }
    let overrides = Overrides {
        rounds: arguments.rounds,
        epsilon: arguments.epsilon,
        delta: arguments.delta,
        ..Overrides::default()
    };
    let mut loaded = match &arguments.config {
        Some(path) => load_config(&Source::File(path.clone()), &overrides, Strictness::Run)?,
        None => arguments.source.load_either(&overrides)?,
    };
    if let Some(name) = arguments.bound {
        let method = &mut loaded.agreement_mut().method;
        if method.describe().bound.is_none() {
            return Err(anyhow!("--bound: has a meaning only with method = \"algorithm1\"").into());
        }
        let bound = match name {
            BoundName::Tight => Bound::Tight,
            BoundName::Theorem5i => Bound::Theorem5i,
            BoundName::Theorem5ii => Bound::Theorem5ii,
        };
        *method = Method::Algorithm1(Algorithm1 { bound });
    }
    let rounds = loaded.rounds_or(arguments.rounds)?;
    let setup = loaded.setup()?;
    let report = budget(&setup, rounds, setup.agreement.delta);
    let mut out = io::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &report).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        print_table(&mut out, &report)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what one learner has spent.
fn spent(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let budget: Value = match arguments.node.open(arguments.source.path())? {
        Target::Running(node) => node.json("/v1/budget")?,
        Target::Stored(node) => value(&owner::budget(&node))?,
    };
    let mut out = io::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &budget).map_err(io::Error::from)?;
        writeln!(out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let optional = |key: &str| format_epsilon_or(budget[key].as_f64(), "none");
    writeln!(out, "unit           {}", budget["unit"].as_str().unwrap_or("?"))?;
    writeln!(out, "releases       {}", budget["releases"])?;
    let epsilon = format_epsilon_or(budget["epsilon"].as_f64(), NO_BOUND);
    writeln!(out, "epsilon        {epsilon} at delta {}", budget["delta"])?;
    writeln!(out, "pure epsilon   {}", optional("pure_epsilon"))?;
    writeln!(out, "zCDP           {}", optional("zcdp"))?;
    writeln!(out, "cap            {}", optional("cap"))?;
    writeln!(out, "for ever       {}", optional("lifetime_epsilon"))?;
    for (key, words) in [("no_certificate", "No certificate"), ("exhausted", "Exhausted")] {
        if let Some(reason) = budget[key].as_str() {
            writeln!(out, "\n{words}: {reason}.")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print_table(out: &mut impl Write, report: &BudgetReport) -> io::Result<()> {
    let delta = report.learners.first().map_or(0.0, |learner| learner.delta);
    writeln!(
        out,
        "{}: releases of rounds 1 to {}; unit: {}",
        report.name, report.rounds, report.unit
    )?;
    if report.unproven {
        writeln!(out, "UNPROVEN: the settings lie outside the convergence theorems")?;
    }
    if let Some(declared) = &report.declared_by_user {
        writeln!(out, "{declared}")?;
    }
    writeln!(out)?;
    writeln!(
        out,
        "learner   noise scale   pure epsilon          zCDP   epsilon at {delta:e}   for ever: epsilon   pure epsilon"
    )?;
    let optional = |value: Option<f64>| format_epsilon_or(value, "none");
    for learner in &report.learners {
        writeln!(
            out,
            "{:>7}  {:>12}  {:>13}  {:>12}  {:>17}  {:>18}  {:>13}",
            learner.learner,
            number(learner.noise_scale),
            optional(learner.pure_epsilon),
            format_epsilon(learner.zcdp),
            format_epsilon(learner.epsilon),
            optional(learner.lifetime.epsilon),
            optional(learner.lifetime.pure_epsilon),
        )?;
    }
    for reason in reasons(&report.learners) {
        writeln!(out, "\nNo certificate: {reason}.")?;
    }
    if let Some(first) = report.learners.first() {
        match report.noun {
            "record" => writeln!(
                out,
                "\nWhat a record of learner {} pays, by the round it arrives in:",
                first.learner
            )?,
            noun => writeln!(
                out,
                "\nWhat a {noun} of learner {} pays whose records all arrive in one round:",
                first.learner
            )?,
        }
        for record in &first.records {
            writeln!(
                out,
                "  round {:>8}: epsilon {} (pure {})",
                record.arrival_round,
                format_epsilon(record.epsilon),
                optional(record.pure_epsilon)
            )?;
        }
        writeln!(out, "The worst {} arrives in round {}.", report.noun, first.worst_arrival_round)?;
        writeln!(
            out,
            "All records of learner {} together pay epsilon {} (user level).",
            first.learner,
            optional(first.user_epsilon)
        )?;
    }
    writeln!(
        out,
        "\nFor ever holds while all neighbours are heard and records arrive as planned; a running\nlearner keeps its own account, and a cap is enforced on that."
    )
}

fn reasons(learners: &[LearnerBudget]) -> Vec<&str> {
    let mut reasons: Vec<&str> =
        learners.iter().filter_map(|learner| learner.lifetime.no_certificate.as_deref()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    reasons
}

/// A noise scale with four digits that matter.
fn number(value: f64) -> String {
    if (1e-3..1e6).contains(&value) {
        let digits = if value >= 1000.0 { 1 } else { 4 };
        format!("{value:.digits$}")
    } else {
        format!("{value:.4e}")
    }
}
