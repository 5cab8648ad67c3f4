//! `undertone attack`: records reconstructed from what learners send.

use crate::config_source::ConfigSource;
use crate::failure::Failure;
use crate::terminal::{Voice, free_folder, progress_bar, watched};
use anyhow::Context;
use clap::{Args, Subcommand};
use serde::Serialize;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use undertone_lab::attack::invert::{Effort, Labels};
use undertone_lab::attack::{
    Attack, RECORDS_MAX, Settings, attack, multiple_in_words, reconstructions,
};
use undertone_lab::report::attack_page;
use undertone_lab::run_folder;
use undertone_lab::run_store::make_private_folder;
use undertone_lab::summary::NOT_PRIVATE;

/// Reconstruct records from releases, with and without noise
///
/// Runs the learners of a config with a seed, observes what they send, and searches for records that explain it. The model
/// must be a neural network. Without a config the preset paper-mnist is attacked, which needs `undertone data get mnist`.
/// NOT PRIVATE: the report shows records.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Subcommand)]
enum Kind {
    /// Deep leakage from gradients: records and labels together
    Dlg(Common),
    /// The improved form: finds the label from the gradient first; for one record only
    Idlg(Common),
}

#[derive(Args)]
struct Common {
    #[command(flatten)]
    source: ConfigSource,
    /// Multiples of the config's noise; 0 is no noise
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0,0.5,1,1.5,2")]
    noise: Vec<f64>,
    /// Records of a learner in each round, instead of the config's batch and warm-up
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=RECORDS_MAX as u64))]
    records: u64,
    /// Attack the gradient of this round
    #[arg(long, value_name = "T", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=1000))]
    round: u64,
    /// The attacker knows the starting point, so in round 0 it has to remove the noise of one release only
    #[arg(long)]
    knows_start: bool,
    /// Repeat with seeds 1 to N, each with other records
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Steps of L-BFGS from each start
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    iterations: u64,
    /// The most random starts; the search stops when one explains the gradient
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    starts: u64,
    /// Folder for results and report [default: attack/NAME-dlg-1, -2, …]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    voice: Voice,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (labels, kind, common) = match &arguments.kind {
        Kind::Dlg(common) => (Labels::Dlg, "dlg", common),
        Kind::Idlg(common) => (Labels::Idlg, "idlg", common),
    };
    let loaded = common.source.load_with_or("paper-mnist", |_| ())?;
    let settings = Settings {
        labels,
        multiples: common.noise.clone(),
        records: common.records,
        round: common.round,
        seeds: common.seeds,
        knows_start: common.knows_start,
        effort: Effort { iterations: common.iterations, starts: common.starts },
    };
    let name = format!("{}-{kind}", loaded.checked.agreement.name);
    let folder = common.out.clone().unwrap_or_else(|| free_folder("attack", &name));
    run_folder::check(&folder)?;
    let prints = common.voice.prints();
    let progress = progress_bar("reconstruction", reconstructions(&loaded, &settings), prints);
    let found = watched(&progress, |watch| attack(&loaded, settings, watch))?;
    // Only the owner may read it.
    make_private_folder(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let json = serde_json::to_string_pretty(&Results {
        schema_version: 1,
        warning: NOT_PRIVATE,
        attack: &found,
    })?;
    for (file, text) in [("results.json", &json), ("report.html", &attack_page(&found))] {
        let path = folder.join(file);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if common.voice.json {
        writeln!(io::stdout(), "{json}")?;
    } else if prints {
        print(&found, &folder)?;
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Results<'a> {
    schema_version: u32,
    warning: &'static str,
    #[serde(flatten)]
    attack: &'a Attack,
}

fn print(found: &Attack, folder: &Path) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "noise   mean error      smallest       largest   labels found")?;
    for line in &found.lines {
        let multiple = multiple_in_words(line.multiple);
        let (error, least, most) = (line.error, line.error_min, line.error_max);
        let labels = 100.0 * line.labels_found;
        writeln!(
            out,
            "{multiple:<6} {error:>11.3e} {least:>13.3e} {most:>13.3e} {labels:>12.0} %"
        )?;
    }
    if let Some(error) = found.error_of_random {
        writeln!(out, "A guess that is evenly random has error {error:.3}.")?;
    }
    writeln!(
        out,
        "\nNOT PRIVATE: the report shows records.\nReport: {}",
        folder.join("report.html").display()
    )
}
