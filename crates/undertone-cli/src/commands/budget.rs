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
use undertone::privacy::{ForEver, NO_BOUND, format_epsilon, format_epsilon_or};
use undertone_lab::budget::{BudgetReport, LearnerBudget, budget};
use undertone_lab::config::load_config;
use undertone_lab::experiment::Overrides;
use undertone_node::owner;

/// Show what a config will cost each learner, without data; or what a learner has spent (--node, --store)
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: ConfigSource,
    /// Config file, as a named argument for scripts
    #[arg(long, value_name = "CONFIG.toml", conflicts_with_all = ["path", "preset", "node", "store"])]
    config: Option<PathBuf>,
    /// How the sensitivity of Algorithm 1 is bounded [default: as in the config]
    #[arg(long, value_enum, conflicts_with_all = ["node", "store"])]
    bound: Option<BoundName>,
    /// Count the releases of rounds 1 to T [default: as in the experiment; required for an agreement]
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
    /// Our bound, proved in docs/adr/0004-accounting.md
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
            let names = Method::names_where(|method| method.bound.is_some()).join("\" or \"");
            return Err(anyhow!("--bound: has a meaning only with method = \"{names}\"").into());
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
    let experiment = loaded.experiment().map(|loaded| &loaded.checked);
    let report = budget(&setup, rounds, setup.agreement.delta, experiment);
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
    writeln!(out, "pure cap       {}", optional("pure_cap"))?;
    if let (Some(rounds), Some(planned)) =
        (budget["planned_rounds"].as_u64(), budget["planned_epsilon"].as_f64())
    {
        writeln!(out, "planned        {} over {rounds} rounds", format_epsilon(planned))?;
    }
    writeln!(out, "certified      {}", budget["for_ever"].as_str().unwrap_or("?"))?;
    for (key, words) in [("no_certificate", "No finite bound"), ("exhausted", "Exhausted")] {
        if let Some(reason) = budget[key].as_str() {
            writeln!(out, "\n{words}: {reason}.")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print_table(out: &mut impl Write, report: &BudgetReport) -> io::Result<()> {
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
    print_learners(out, report)?;
    for reason in reasons(&report.learners) {
        writeln!(out, "\nNo certificate: {reason}.")?;
    }
    if report.records_repeat {
        print_repeats(out, report)?;
    }
    if let Some(first) = report.learners.first() {
        print_records(out, first)?;
    }
    if beyond_cap(report) {
        return print_horizon(out, report);
    }
    writeln!(
        out,
        "\nFor ever holds while all neighbours are heard and records arrive as planned; a running\nlearner keeps its own account, and a cap is enforced on that."
    )
}

fn print_learners(out: &mut impl Write, report: &BudgetReport) -> io::Result<()> {
    let delta = report.learners.first().map_or(0.0, |learner| learner.delta);
    let for_ever = if beyond_cap(report) { "if it ran on: epsilon" } else { "for ever: epsilon" };
    writeln!(
        out,
        "learner   noise scale   pure epsilon          zCDP   epsilon at {delta:e}   {for_ever}   pure epsilon"
    )?;
    for learner in &report.learners {
        writeln!(
            out,
            "{:>7}  {:>12}  {:>13}  {:>12}  {:>17}  {:>width$}  {:>13}",
            learner.learner,
            number(learner.noise_scale),
            optional(learner.pure_epsilon),
            format_epsilon(learner.zcdp),
            format_epsilon(learner.epsilon),
            optional(learner.lifetime.epsilon),
            optional(learner.lifetime.pure_epsilon),
            width = for_ever.len() + 1,
        )?;
    }
    Ok(())
}

/// What the numbers are of, where each draw of a record is paid for.
fn print_repeats(out: &mut impl Write, report: &BudgetReport) -> io::Result<()> {
    let Some(first) = report.learners.first() else { return Ok(()) };
    writeln!(
        out,
        "\nRecords are drawn again when they run out, and each draw is paid for. How often depends on how many records a\n\
         learner has, which is not known here. The numbers above hold for a record that is used in all {} draws of\n\
         {} rounds. A record used r times pays at most r times the pure epsilon and r*r times the zCDP of one used once,\n\
         which pays epsilon {} at learner {}. `undertone simulate` states what the most used record has paid.",
        first.uses,
        report.rounds,
        format_epsilon(first.epsilon_used_once),
        first.learner,
    )
}

fn print_records(out: &mut impl Write, learner: &LearnerBudget) -> io::Result<()> {
    let once = if learner.uses > 1 { " that is used once" } else { "" };
    writeln!(
        out,
        "\nWhat a record of learner {}{once} pays, by the round it arrives in:",
        learner.learner
    )?;
    for record in &learner.records {
        writeln!(
            out,
            "  round {:>8}: epsilon {} (pure {})",
            record.arrival_round,
            format_epsilon(record.epsilon),
            optional(record.pure_epsilon)
        )?;
    }
    writeln!(out, "The worst record arrives in round {}.", learner.worst_arrival_round)?;
    writeln!(
        out,
        "All records of learner {} together pay epsilon {} (user level).",
        learner.learner,
        optional(learner.user_epsilon)
    )
}

fn optional(value: Option<f64>) -> String {
    format_epsilon_or(value, "none")
}

/// Whether a learner's cap stops it before the bound for ever is reached.
fn beyond_cap(report: &BudgetReport) -> bool {
    report.learners.iter().any(|learner| matches!(learner.for_ever, ForEver::Cap { .. }))
}

/// Which number holds for what, where the bound for ever is above the cap.
fn print_horizon(out: &mut impl Write, report: &BudgetReport) -> io::Result<()> {
    let planned = match report.planned_rounds {
        Some(rounds) => format!("The noise was chosen for rounds 1 to {rounds}.\n"),
        None => String::new(),
    };
    writeln!(
        out,
        "\n{planned}The cap holds however long a learner runs: a release that would pass it is refused. \"If it ran\n\
         on\" is what the same noise would cost for ever without the cap; no learner gets there."
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
