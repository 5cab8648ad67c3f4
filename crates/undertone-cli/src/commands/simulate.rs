//! `undertone simulate`: all learners in one process.

use crate::config_source::ConfigSource;
use crate::failure::{BUDGET_EXHAUSTED, Failure};
use crate::terminal::{free_folder, interruption, progress_bar};
use clap::Args;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Instant;
use undertone::privacy::{PlannedLoss, Statement, format_epsilon};
use undertone_lab::experiment::{Overrides, resolved};
use undertone_lab::stream::LABELS_PUBLIC;
use undertone_lab::summary::NOT_PRIVATE;
use undertone_lab::{
    Ending, Measuring, RoundRow, RunEntropy, RunFacts, Setup, Summary, run_folder, simulate, stream,
};

/// The most rounds that are measured, evenly spaced.
const ROWS_MAX: u64 = 2000;

/// Run all learners of a config in this process and write a report
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: ConfigSource,
    /// Make the run repeatable. NOT PRIVATE: anyone who knows the seed can subtract the noise
    #[arg(long)]
    seed: Option<u64>,
    /// Run this many rounds instead of the config's
    #[arg(long)]
    rounds: Option<u64>,
    /// Target (or cap) epsilon instead of the config's, at the config's delta
    #[arg(long)]
    epsilon: Option<f64>,
    /// Folder for config, rounds, summary, model and report [default: runs/NAME-1, -2, …]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print the summary as JSON to stdout
    #[arg(long)]
    json: bool,
    /// Print errors only
    #[arg(long)]
    quiet: bool,
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let interrupted = interruption()?;
    let overrides =
        Overrides { rounds: arguments.rounds, epsilon: arguments.epsilon, ..Overrides::default() };
    let loaded = arguments.source.load(&overrides)?;
    let folder = arguments
        .out
        .clone()
        .unwrap_or_else(|| free_folder("runs", &loaded.checked.agreement.name));
    run_folder::check(&folder)?;
    let setup = loaded.checked.setup()?;
    let rounds = loaded.checked.rounds;
    let streams = stream::load(&loaded.checked, &loaded.folder, arguments.seed.unwrap_or(0))?;
    let prints = !arguments.quiet && !arguments.json;
    if prints {
        introduce(&setup, rounds, &streams.name, arguments.seed)?;
    }
    let mut facts = RunFacts {
        rounds_planned: rounds,
        records_repeat: loaded.checked.data.repeat,
        seed: arguments.seed,
        source: streams.name.clone(),
        test_records: streams.test.len(),
        records_scaled: streams.scaled,
        records_refused: streams.refused,
        public: streams.public,
        seconds: 0.0,
    };
    let progress = progress_bar("round", rounds, prints);
    let started = Instant::now();
    let entropy = RunEntropy::new(arguments.seed);
    let outcome = simulate(&setup, rounds, streams, entropy, Measuring::Evenly(ROWS_MAX), |row| {
        progress.inc(1);
        if let Some(row) = row {
            progress.set_message(progress_message(row));
        }
        if interrupted.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    progress.finish_and_clear();
    facts.seconds = started.elapsed().as_secs_f64();
    let summary = Summary::new(&setup, &outcome, &facts);
    run_folder::write(
        &folder,
        &resolved(&loaded, &setup.scales()),
        &outcome,
        &summary,
        &loaded.checked.agreement,
    )?;
    if arguments.json {
        let mut out = io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, &summary).map_err(io::Error::from)?;
        writeln!(out)?;
    } else if prints {
        conclude(&summary, &folder)?;
    }
    if let Ending::BudgetExhausted { learner, refusal } = &outcome.ending {
        writeln!(io::stderr(), "budget exhausted: learner {learner}: {refusal}")?;
        return Ok(ExitCode::from(BUDGET_EXHAUSTED));
    }
    Ok(ExitCode::SUCCESS)
}

fn introduce(setup: &Setup, rounds: u64, data: &str, seed: Option<u64>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let agreement = &setup.agreement;
    writeln!(
        out,
        "{}: {} learners, {} edges, {} parameters, {} rounds, data: {data}",
        agreement.name,
        agreement.graph.learners(),
        agreement.graph.edges(),
        setup.model.parameters(),
        rounds,
    )?;
    if seed.is_some() {
        writeln!(out, "{NOT_PRIVATE}")?;
    }
    for broken in agreement.broken_conditions() {
        writeln!(out, "UNPROVEN: {broken}")?;
    }
    Ok(())
}

fn progress_message(row: &RoundRow) -> String {
    let epsilon = row.epsilon.iter().copied().fold(0.0, f64::max);
    let mut parts = Vec::new();
    if let Some(loss) = row.prequential_loss {
        parts.push(format!("loss {loss:.3}"));
    }
    if let Some(accuracy) = row.metrics.test_accuracy_public {
        parts.push(format!("accuracy {accuracy:.3}"));
    }
    parts.push(format!("ε spent {}", format_epsilon(epsilon)));
    parts.join("  ")
}

fn conclude(summary: &Summary, folder: &Path) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let (first, last) = (&summary.first, &summary.last);
    writeln!(
        out,
        "{} after {} rounds in {:.1} s",
        summary.ending, summary.rounds_run, summary.seconds
    )?;
    if let (Some(public), Some(own)) = (last.test_accuracy_public, last.test_accuracy_private) {
        let best = last
            .test_accuracy_optimum
            .map_or(String::new(), |best| format!(", no privacy at all {best:.4}"));
        writeln!(out, "  test accuracy    public model {public:.4}, learners' own {own:.4}{best}")?;
    }
    match (first.training_accuracy, last.training_accuracy) {
        (Some(first), Some(last)) => writeln!(out, "  training accuracy {first:.4} → {last:.4}")?,
        _ => writeln!(
            out,
            "  tracking error   {:.3} → {:.3}",
            first.tracking_error, last.tracking_error
        )?,
    }
    if let Some(privacy) = summary.privacy() {
        writeln!(out, "  privacy          {}", in_one_line(&privacy))?;
    }
    if summary.labels_public {
        writeln!(out, "  {LABELS_PUBLIC}")?;
    }
    if !summary.private {
        writeln!(out, "  {NOT_PRIVATE}")?;
    }
    writeln!(out, "  report           {}", folder.join("report.html").display())
}

/// What was spent, planned and certified for ever.
fn in_one_line(privacy: &Statement) -> String {
    let mut parts = vec![format!("ε = {} spent", format_epsilon(privacy.spent.epsilon))];
    if privacy.uses > 1 {
        parts.push(format!("by a record drawn {} times", privacy.uses));
    }
    if let Some(PlannedLoss { rounds, loss }) = privacy.planned {
        parts.push(format!("{} planned for {rounds} rounds", format_epsilon(loss.epsilon)));
    }
    parts.push(privacy.for_ever_words());
    parts.push(format!("at δ = {:e}", privacy.delta));
    parts.join(", ")
}
