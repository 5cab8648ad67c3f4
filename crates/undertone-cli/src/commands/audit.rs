//! `undertone audit`: tries to break what a config claims.

use crate::config_source::ConfigSource;
use crate::failure::{FOUND_SOMETHING, Failure, finish};
use clap::Args;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use undertone::LearnerId;
use undertone::privacy::{format_rounded_up, format_scientific_up};
use undertone_lab::audit::{AuditReport, Check, Effort, LearnerAudit, Options, audit, unsupported};
use undertone_lab::experiment::Overrides;
use undertone_lab::stream;

/// Try to break the privacy claims of a config, on the code that runs it
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: ConfigSource,
    /// Make the audit repeatable; without it noise comes from the operating system, as in a real run
    #[arg(long)]
    seed: Option<u64>,
    /// Audit this learner only [default: every distinct one]
    #[arg(long, value_name = "NUMBER")]
    learner: Option<u32>,
    /// Audit the claims about T rounds [default: as in the experiment; required for an agreement]
    #[arg(long, value_name = "T")]
    rounds: Option<u64>,
    /// Do not use the config's data; the report then depends on no record and may be published
    #[arg(long)]
    no_data: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Exit codes: 0 no claim was broken, 1 a claim was broken or a test could not have found one, 2 bad input or config.
An audit can find faults; an audit without a finding is no proof. Unless --no-data is given, the report depends on
the config's data: keep it as private as these.";

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let loaded = arguments.source.load_either(&Overrides::default())?;
    let setup = loaded.setup()?;
    if let Some(reason) = unsupported(&setup) {
        return Err(anyhow::anyhow!("method: {reason}").into());
    }
    let learners = setup.agreement.graph.learners();
    if let Some(learner) = arguments.learner.filter(|&learner| learner as usize >= learners) {
        let last = learners - 1;
        return Err(anyhow::anyhow!("--learner {learner}: learners are 0 to {last}").into());
    }
    let rounds = loaded.rounds_or(arguments.rounds)?;
    let data = match loaded.experiment() {
        Some(experiment) if !arguments.no_data => {
            let seed = arguments.seed.unwrap_or(0);
            let data = stream::load(&experiment.checked, &experiment.folder, seed);
            let advise = |error| anyhow::anyhow!("{error}; --no-data audits without the data");
            Some(data.map_err(advise)?)
        }
        // An agreement has no data.
        Some(_) | None => None,
    };
    let options = Options {
        seed: arguments.seed,
        learner: arguments.learner.map(LearnerId),
        effort: Effort::FULL,
    };
    let report = audit(&setup, rounds, data.as_ref(), &options, say_progress)?;
    let code = if report.passed { ExitCode::SUCCESS } else { ExitCode::from(FOUND_SOMETHING) };
    finish(code, print(&mut io::stdout().lock(), &report, arguments.json))
}

/// Prints how many distinct learners there are and, on a terminal, which one is being audited.
fn say_progress(done: usize, kinds: usize) {
    let mut err = io::stderr().lock();
    // A failed write to stderr must not stop the audit.
    if done == 0 && kinds > 1 {
        let _ = writeln!(err, "{kinds} distinct learners to audit; --learner picks one");
    }
    if err.is_terminal() {
        let _ = writeln!(err, "auditing {} of {kinds}", done + 1);
    }
}

fn print(out: &mut impl Write, report: &AuditReport, json: bool) -> io::Result<()> {
    if json {
        serde_json::to_writer_pretty(&mut *out, report).map_err(io::Error::from)?;
        return writeln!(out);
    }
    print_report(out, report)
}

fn print_report(out: &mut impl Write, report: &AuditReport) -> io::Result<()> {
    writeln!(out, "{}: audit of what each learner claims", report.name)?;
    if let Some(seed) = report.seed {
        writeln!(out, "Seed {seed}: NOT PRIVATE, the noise is not the operating system's")?;
    }
    for audit in &report.audits {
        print_learner(out, audit)?;
    }
    let failed = || {
        report.audits.iter().flat_map(|audit| &audit.checks).filter(|check| !check.verdict.passes())
    };
    if report.passed {
        writeln!(
            out,
            "\nNo claim was broken. That is not a proof; see docs/adr/0004-accounting.md."
        )?;
    } else if failed().next().is_none() {
        writeln!(out, "\nA layer that the claims rest on was skipped: nothing is shown.")?;
    } else {
        let names: Vec<String> = failed().map(name).collect();
        writeln!(out, "\n{} failed: {}", names.len(), names.join(", "))?;
    }
    if report.own_data {
        writeln!(out, "These numbers depend on the config's data: keep them with the data.")?;
    }
    Ok(())
}

fn print_learner(out: &mut impl Write, audit: &LearnerAudit) -> io::Result<()> {
    let numbers: Vec<String> = audit.learners.iter().take(12).map(u32::to_string).collect();
    let more = audit.learners.len() - numbers.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let plural = if audit.learners.len() == 1 { "" } else { "s" };
    writeln!(out, "\nlearner{plural} {}{more}", numbers.join(", "))?;
    if !audit.records_of.is_empty() {
        let owners: Vec<String> = audit.records_of.iter().map(u32::to_string).collect();
        writeln!(out, "  with records of learner {}", owners.join(", "))?;
    }
    writeln!(out, "  {:<22} {:>12} {:>12}  {:<8} what", "claim", "claimed", "measured", "verdict")?;
    for check in &audit.checks {
        writeln!(
            out,
            "  {:<22} {:>12} {:>12}  {:<8} {}",
            name(check),
            number(check.claimed),
            number(check.measured),
            check.verdict.name(),
            check.note
        )?;
    }
    Ok(())
}

fn name(check: &Check) -> String {
    format!("{} {}", check.layer.name(), check.name)
}

/// Five digits that matter, rounded up: what is claimed and what is measured may be an ε.
fn number(value: f64) -> String {
    if value.is_nan() {
        "-".into()
    } else if value.abs() <= 0.0 || (1e-3..1e6).contains(&value.abs()) {
        let whole = value.fract().abs() <= 0.0;
        if whole { format!("{value}") } else { format_rounded_up(value, 5) }
    } else {
        format_scientific_up(value, 3)
    }
}
