//! `undertone plan`: from a privacy target to a config that meets it.

use crate::config_source::ConfigSource;
use crate::failure::Failure;
use anyhow::Context;
use clap::Args;
use serde_json::json;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use undertone::agreement::{NoiseScale, OneOrEach};
use undertone::planner::PlannerError;
use undertone::privacy::{Horizon, format_rounded_up};
use undertone_lab::ExperimentError;
use undertone_lab::experiment::RawExperiment;
use undertone_lab::planner::{PlanReport, Request, Target, plan};

/// Choose noise, and with --tune the schedule, for a privacy target
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: ConfigSource,
    /// Target epsilon, at delta: one for all learners, or one for each, separated by commas
    #[arg(long, value_name = "E", value_delimiter = ',', conflicts_with = "pure_epsilon")]
    epsilon: Vec<f64>,
    /// The delta of the target and of the report [default: as in the config]
    #[arg(long, value_name = "D")]
    delta: Option<f64>,
    /// Target pure epsilon: one for all learners, or one for each, separated by commas
    #[arg(long, value_name = "E", value_delimiter = ',')]
    pure_epsilon: Vec<f64>,
    /// The target must hold for ever [default: as in the config's noise.calibrate]
    #[arg(long)]
    lifetime: bool,
    /// The target must hold for the planned rounds only
    #[arg(long, conflicts_with = "lifetime")]
    finite: bool,
    /// Plan T rounds [default: as in the config]
    #[arg(long, value_name = "T")]
    rounds: Option<u64>,
    /// Also search for the steps, coupling, exponents, warm-up and batch with the least predicted error
    #[arg(long)]
    tune: bool,
    /// The fewest records any learner will have, for --tune [default: what the config uses]
    #[arg(long, value_name = "N", requires = "tune")]
    records: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write the config to a new file instead of stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let loaded = arguments.source.load_with(|raw| ask(arguments, raw))?;
    let horizon = match loaded.checked.agreement.noise_scale {
        NoiseScale::Rounds(_) => Horizon::Rounds(loaded.checked.rounds),
        NoiseScale::Lifetime | NoiseScale::Given(_) => Horizon::Lifetime,
    };
    let request = Request { horizon, tune: arguments.tune, records: arguments.records };
    let planned = plan(&loaded, &request).map_err(|error| {
        if matches!(error, ExperimentError::Plan(PlannerError::Forgetting)) {
            let advice = "leave --tune out, and set schedule.step and schedule.coupling in the config";
            return anyhow::anyhow!("{error}; {advice}");
        }
        let of_target = matches!(
            error,
            ExperimentError::Plan(
                PlannerError::NoCertificate { .. }
                    | PlannerError::Unreachable { .. }
                    | PlannerError::NoFixedPoint,
            )
        );
        let error = anyhow::Error::from(error);
        match horizon {
            Horizon::Lifetime if of_target => error.context(
                "no noise meets the target for ever (with --finite it need hold for the planned rounds only)",
            ),
            Horizon::Lifetime | Horizon::Rounds(_) => error,
        }
    })?;
    let summary = summary(&planned.report);
    let text = planned.text(&summary)?;
    if let Some(path) = &arguments.out {
        write_new(path, &text)?;
    }
    let mut out = io::stdout().lock();
    if arguments.json {
        let mut value = serde_json::to_value(&planned.report)?;
        value["config"] = json!(text);
        serde_json::to_writer_pretty(&mut out, &value).map_err(io::Error::from)?;
        writeln!(out)?;
    } else if let Some(path) = &arguments.out {
        for line in &summary {
            writeln!(out, "{line}")?;
        }
        writeln!(out, "\nWrote {}.", path.display())?;
    } else {
        out.write_all(text.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the options of the command line into the config, before it is checked.
fn ask(arguments: &Arguments, raw: &mut RawExperiment) {
    let targets = |list: &[f64]| match list {
        [] => None,
        [one] => Some(OneOrEach::One(*one)),
        each => Some(OneOrEach::Each(each.to_vec())),
    };
    let (epsilon, pure_epsilon) = (targets(&arguments.epsilon), targets(&arguments.pure_epsilon));
    if epsilon.is_some() || pure_epsilon.is_some() {
        (raw.agreement.privacy.epsilon, raw.agreement.privacy.pure_epsilon) =
            (epsilon, pure_epsilon);
    }
    raw.agreement.privacy.delta = arguments.delta.or(raw.agreement.privacy.delta);
    raw.rounds = arguments.rounds.or(raw.rounds);
    raw.agreement.noise.scale = None;
    if arguments.lifetime {
        raw.agreement.noise.calibrate = Some("lifetime".into());
    } else if arguments.finite {
        raw.agreement.noise.calibrate = Some("rounds".into());
    } else {
        raw.agreement.noise.calibrate.get_or_insert_with(|| "lifetime".into());
    }
}

fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .with_context(|| format!("cannot create {}", path.display()))?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}

/// In larger networks, only the first learners are shown.
const LEARNERS_SHOWN: usize = 20;

/// Budget and predicted curve, line by line.
fn summary(report: &PlanReport) -> Vec<String> {
    let budget = &report.budget;
    let over = match report.horizon {
        Horizon::Lifetime => "for ever".to_string(),
        Horizon::Rounds(_) => format!("in the releases of rounds 1 to {}", budget.rounds),
    };
    let mut lines = vec![format!("{}: certified {over}; unit: {}", budget.name, budget.unit)];
    if budget.unproven {
        lines.push("UNPROVEN: the settings lie outside the convergence theorems".into());
    }
    lines.extend(budget.declared_by_user.clone());
    lines.push(String::new());
    lines.push("learner   target                        certified        noise scale".into());
    for (learner, target) in budget.learners.iter().zip(&report.targets).take(LEARNERS_SHOWN) {
        let target = match target {
            Target::Epsilon(epsilon) => format!("epsilon {epsilon} at {:e}", learner.delta),
            Target::PureEpsilon(epsilon) => format!("pure epsilon {epsilon}"),
        };
        // Nine digits, rounded up: never below the truth.
        let certified = report
            .certified(learner)
            .map_or("none".into(), |epsilon| format_rounded_up(epsilon, 9));
        lines.push(format!(
            "{:>7}   {target:<28}  {certified:<15}  {:.6}",
            learner.learner, learner.noise_scale
        ));
    }
    if budget.learners.len() > LEARNERS_SHOWN {
        lines.push(format!("    ...   {} learners in all", budget.learners.len()));
    }
    lines.push(String::new());
    if report.curve.is_empty() {
        lines.push("How a neural network learns is not predicted.".into());
        return lines;
    }
    lines.push("Predicted by a model of the run (docs/adr/0010-planner.md), not promised:".into());
    lines.push("  round   excess loss   tracking error   consensus error".into());
    for point in &report.curve {
        lines.push(format!(
            "{:>7}   {:>11.4e}   {:>14.4e}   {:>15.4e}",
            point.round, point.excess_loss, point.tracking_error, point.consensus_error
        ));
    }
    lines.push(match report.predicted_error_before {
        Some(before) if report.tuned => format!(
            "Weighted error {:.4e}, before tuning {before:.4e}; {} schedules compared.",
            report.predicted_error, report.schedules_compared
        ),
        _ => format!("Weighted error {:.4e}.", report.predicted_error),
    });
    lines
}
