//! `undertone doctor`: which of the paper's assumptions and theorems a config satisfies, or what the certificate of
//! a method rests on that they do not speak of.

use crate::config_source::ConfigSource;
use crate::failure::{FOUND_SOMETHING, Failure, finish};
use clap::Args;
use std::io::{self, Write};
use std::process::ExitCode;
use undertone::agreement::Condition;
use undertone::doctor::{Diagnosis, Finding, Theorem, Usage, examine};
use undertone_lab::memory_error;

/// Check which assumptions and theorems of the paper a config satisfies, or what its certificate rests on
///
/// The theorems of the paper are about Algorithm 1; other methods are not held to them. Configs outside the theorems are
/// examined too, with or without `unproven = true`. The exit code is 0 if every condition holds, and 1 otherwise.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: ConfigSource,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let config = arguments.source.load_for_examination()?;
    let agreement = config.agreement();
    let usage = Usage { rounds: config.rounds(), records_repeat: config.records_repeat() };
    let diagnosis = examine(agreement, memory_error(agreement)?, usage);
    let code = if diagnosis.holds { ExitCode::SUCCESS } else { ExitCode::from(FOUND_SOMETHING) };
    finish(code, print(&mut io::stdout().lock(), &diagnosis, arguments.json))
}

fn print(out: &mut impl Write, diagnosis: &Diagnosis, json: bool) -> io::Result<()> {
    if json {
        serde_json::to_writer_pretty(&mut *out, diagnosis).map_err(io::Error::from)?;
        return writeln!(out);
    }
    print_findings(out, diagnosis)?;
    print_theorems(out, diagnosis)?;
    print_advice(out, diagnosis)
}

fn mark(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "✓",
        Some(false) => "✗",
        None => "?",
    }
}

fn print_findings(out: &mut impl Write, diagnosis: &Diagnosis) -> io::Result<()> {
    let Diagnosis { name, method, rounds, .. } = diagnosis;
    match rounds {
        Some(rounds) => writeln!(out, "{name}: method {method}, {rounds} rounds")?,
        None => writeln!(out, "{name}: method {method}, any number of rounds")?,
    }
    let mut group = "";
    for finding in &diagnosis.findings {
        let Condition { name, holds, statement, found, needed, .. } = &finding.condition;
        if *name != group {
            writeln!(out, "\n{name}")?;
            group = name;
        }
        write!(out, "  {} {statement}: {found}", mark(*holds))?;
        // A condition that holds is not explained, but a number is shown with its limit.
        if *holds != Some(true) || needed.contains(|letter: char| letter.is_ascii_digit()) {
            write!(out, "; needs {needed}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn print_theorems(out: &mut impl Write, diagnosis: &Diagnosis) -> io::Result<()> {
    if diagnosis.theorems.is_empty() {
        writeln!(out)?;
        return print_not_checked(out, diagnosis);
    }
    writeln!(out, "\nTheorems")?;
    for (id, theorem) in &diagnosis.theorems {
        let title = id.replace("theorem", "Theorem ");
        let detail = match theorem.holds {
            Some(true) => promise(theorem, diagnosis.rounds),
            Some(false) | None => format!("not shown, see {}", theorem.missing.join(", ")),
        };
        writeln!(out, "  {} {title}: {detail}", mark(theorem.holds))?;
    }
    let strong = &diagnosis.theorems["theorem1"];
    let convex = &diagnosis.theorems["theorem2"];
    writeln!(out, "  β of Theorems 1 and 3: {}", rate(strong))?;
    writeln!(out, "  β of Theorems 2 and 4: {}", rate(convex))?;
    for (symbol, id) in [("t0 of Theorem 3", "theorem3"), ("t0' of Theorem 4", "theorem4")] {
        writeln!(out, "  {symbol}: {}", round(diagnosis.theorems[id].from_round))?;
    }
    print_not_checked(out, diagnosis)
}

fn print_not_checked(out: &mut impl Write, diagnosis: &Diagnosis) -> io::Result<()> {
    for note in &diagnosis.not_checked {
        writeln!(out, "  not checked: {note}")?;
    }
    Ok(())
}

fn promise(theorem: &Theorem, rounds: Option<u64>) -> String {
    #[expect(clippy::cast_precision_loss, reason = "rounds stay below 2^32")]
    let ends = rounds.map(|rounds| rounds as f64);
    let late = theorem.from_round.filter(|start| ends.is_some_and(|end| *start >= end));
    let start = match late {
        Some(start) => {
            format!(", but only after round {}: this run ends before", round(Some(start)))
        }
        None => String::new(),
    };
    format!("{}{start}", theorem.promise)
}

fn rate(theorem: &Theorem) -> String {
    let Some(rate) = theorem.rate else { return "none".into() };
    let mut text = format!("{:.4} as printed", rate.printed);
    if let Some(value) = rate.largest_noise {
        text.push_str(&format!(", {value:.4} with max ς"));
    }
    if let Some(value) = rate.corrected {
        text.push_str(&format!(", {value:.4} corrected for different f_i"));
    }
    text
}

fn round(value: Option<f64>) -> String {
    match value {
        None => "has no meaning here".into(),
        Some(value) if value.is_infinite() => "above 1e308".into(),
        Some(value) if value < 1e6 => format!("{value}"),
        Some(value) => format!("{value:.1e}"),
    }
}

fn print_advice(out: &mut impl Write, diagnosis: &Diagnosis) -> io::Result<()> {
    let broken: Vec<&Finding> =
        diagnosis.findings.iter().filter(|finding| finding.holds != Some(true)).collect();
    writeln!(out)?;
    if broken.is_empty() {
        return writeln!(out, "Everything holds.");
    }
    writeln!(out, "What to change")?;
    for finding in &broken {
        if let Some(advice) = &finding.advice {
            writeln!(out, "  {} ({}): {advice}", finding.path, finding.id)?;
        }
    }
    if let Some(declared) = &diagnosis.declared_by_user {
        writeln!(out, "  {declared}")?;
    }
    writeln!(out, "  Bounds move with one another: examine the config again after a change.")?;
    let covering: Vec<String> = diagnosis
        .theorems
        .iter()
        .filter(|(_, theorem)| theorem.holds == Some(true))
        .map(|(id, _)| id.replace("theorem", "Theorem "))
        .collect();
    let total = diagnosis.findings.len();
    if diagnosis.theorems.is_empty() {
        return writeln!(out, "\n{} of {total} do not hold.", broken.len());
    }
    let verdict = match covering.is_empty() {
        true => "no theorem covers this config".to_string(),
        false => format!("covered by {}", covering.join(", ")),
    };
    let gate = match diagnosis.proven {
        true => "it runs as it is",
        false => "it runs only with unproven = true",
    };
    writeln!(out, "\n{} of {total} conditions do not hold; {verdict}; {gate}.", broken.len())
}
