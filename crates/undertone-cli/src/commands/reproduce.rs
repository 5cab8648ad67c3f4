//! `undertone reproduce`: the paper's experiments, with the paper's numbers beside ours.

use crate::failure::Failure;
use crate::terminal::{Voice, progress_bar, watched};
use anyhow::Context;
use clap::{Args, Subcommand};
use indicatif::ProgressBar;
use serde::Serialize;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use undertone::privacy::{format_epsilon, format_rounded_up, format_scientific_up};
use undertone_lab::compare::settings::ComparedMethod;
use undertone_lab::report::{fig1_page, neural_page, table1_page, table2_page};
use undertone_lab::reproduce::closest_settings::{Candidate, grid, rows, search};
use undertone_lab::reproduce::neural::{self, Extent, Images, NeuralFigure, NeuralRun};
use undertone_lab::reproduce::table1::{CLOSEST, PRINTED, ROUNDS_MAX, Table, Unknowns, table};
use undertone_lab::reproduce::{fig1, spreadsheet, table2};
use undertone_lab::run_store::{RunStore, make_private_folder};
use undertone_lab::summary::NOT_PRIVATE;

/// Repeat an experiment of the paper and print its numbers beside ours
///
/// All runs have seeds: NOT PRIVATE, for research.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    result: PaperResult,
}

#[derive(Subcommand)]
enum PaperResult {
    /// Figure 1: Algorithm 1, DSGD, DOLA and PDOP on mushrooms
    Fig1 {
        #[command(flatten)]
        common: Common,
        /// Run this many rounds instead of the paper's
        #[arg(long, value_name = "N", default_value_t = fig1::ROUNDS, value_parser = clap::value_parser!(u64).range(10..=100_000))]
        rounds: u64,
    },
    /// Figure 2: a CNN on MNIST by six methods; needs `undertone data get mnist`
    Fig2(NeuralOptions),
    /// Figure 3: a CNN on CIFAR-10 by six methods; needs `undertone data get cifar-10`
    Fig3(NeuralOptions),
    /// Table II: noise, accuracy and the DLG attack on MNIST; needs `undertone data get mnist`
    Table2(NeuralOptions),
    /// Table I: budget and iterations with 1 to 6 times the noise
    Table1 {
        #[command(flatten)]
        common: Common,
        /// Records of a learner in each round, which the paper does not give
        #[arg(long, value_name = "N", default_value_t = CLOSEST.batch)]
        batch: u64,
        /// The ridge, which the paper does not give
        #[arg(long, value_name = "R", default_value_t = CLOSEST.ridge)]
        ridge: f64,
        /// Every coordinate starts at a random point between -S and S; the paper does not give S
        #[arg(long, value_name = "S", default_value_t = CLOSEST.start_spread)]
        start_spread: f64,
        /// Search for the batch, ridge and start that come closest to the paper's numbers instead
        #[arg(long, conflicts_with_all = ["batch", "ridge", "start_spread", "out"])]
        search: bool,
    },
}

/// Options of experiments with neural networks, which keep finished runs in their folder and continue from these.
#[derive(Args)]
struct NeuralOptions {
    #[command(flatten)]
    output: Output,
    /// Repeat with seeds 1 to N
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Use fewer rounds and records: about ten minutes on two cores
    #[arg(long)]
    quick: bool,
    /// Run this many rounds instead of the paper's; shielded has its own number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(10..=100_000))]
    rounds: Option<u64>,
    /// Records of a learner in each round, which the paper does not give; shielded has its own number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    batch: Option<u64>,
}

#[derive(Args)]
struct Common {
    #[command(flatten)]
    output: Output,
    /// Repeat with seeds 1 to N
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,
}

#[derive(Args)]
struct Output {
    /// Folder for results and report [default: reproduce/NAME]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    voice: Voice,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match &arguments.result {
        PaperResult::Fig1 { common, rounds } => run_fig1(common, *rounds)?,
        PaperResult::Fig2(options) => run_neural_figure(options, "fig2", Images::Mnist)?,
        PaperResult::Fig3(options) => run_neural_figure(options, "fig3", Images::Cifar10)?,
        PaperResult::Table2(options) => run_table2(options)?,
        PaperResult::Table1 { common, search: true, .. } => run_search(common)?,
        PaperResult::Table1 { common, batch, ridge, start_spread, .. } => {
            let unknowns = Unknowns { batch: *batch, ridge: *ridge, start_spread: *start_spread };
            run_table1(common, unknowns)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl NeuralOptions {
    /// The full experiment or the quick one, with the changes of the command line.
    fn extent(&self, whole: Extent, quick: Extent) -> Extent {
        let extent = if self.quick { quick } else { whole };
        Extent {
            rounds: self.rounds.unwrap_or(extent.rounds),
            batch: self.batch.unwrap_or(extent.batch),
            seeds: self.seeds,
            ..extent
        }
    }
}

impl Output {
    fn progress(&self, unit: &str, count: u64) -> ProgressBar {
        progress_bar(unit, count, self.voice.prints())
    }

    /// Makes the folder for results. Called before the runs, so that none are wasted if it fails.
    fn folder(&self, name: &str) -> Result<PathBuf, Failure> {
        let folder = self.out.clone().unwrap_or_else(|| Path::new("reproduce").join(name));
        make_private_folder(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        Ok(folder)
    }

    /// Writes JSON, CSV and page, and prints either the JSON or the text of `print`.
    fn finish(
        &self,
        folder: &Path,
        name: &str,
        results: &impl Serialize,
        csv: &[u8],
        page: &str,
        print: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let json = serde_json::to_string_pretty(&Results {
            schema_version: 1,
            warning: NOT_PRIVATE,
            name,
            results,
        })?;
        for (file, bytes) in [
            ("results.json", json.as_bytes()),
            ("results.csv", csv),
            ("report.html", page.as_bytes()),
        ] {
            let path = folder.join(file);
            fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        }
        let mut out = io::stdout().lock();
        if self.voice.json {
            writeln!(out, "{json}")?;
        } else if self.voice.prints() {
            print(&mut out)?;
            writeln!(out, "\nReport: {}", folder.join("report.html").display())?;
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct Results<'a, T> {
    schema_version: u32,
    warning: &'static str,
    name: &'a str,
    #[serde(flatten)]
    results: &'a T,
}

fn run_table1(common: &Common, unknowns: Unknowns) -> Result<(), Failure> {
    let folder = common.output.folder("table1")?;
    let progress = common.output.progress("run", common.seeds * PRINTED.len() as u64);
    let found = watched(&progress, |watch| table(&PRINTED, unknowns, common.seeds, watch))?;
    let csv = spreadsheet::table1(&found)?;
    let page = table1_page(&found);
    common.output.finish(&folder, "table1", &found, &csv, &page, |out| print_table1(out, &found))
}

fn print_table1(out: &mut dyn Write, found: &Table) -> io::Result<()> {
    writeln!(out, "        paper's    unit    certified up to T   certified    paper's   ours:")?;
    writeln!(
        out,
        "noise    budget formula       pure  (ε, 1e-5)    for ever iterations T   median (quartiles)"
    )?;
    let count = |value: f64| {
        if value.is_finite() { value.round().to_string() } else { format!(">{ROUNDS_MAX}") }
    };
    for row in &found.rows {
        let for_ever = row
            .certified_for_ever
            .map_or("none".into(), |certified| format_rounded_up(certified.approximate, 1));
        let ours = row.iterations.map_or("-".into(), |of| {
            format!("{} ({} – {})", count(of.median), count(of.low), count(of.high))
        });
        writeln!(
            out,
            "×{:<6} {:>8.2} {:>7.2} {:>10} {:>10} {for_ever:>11} {:>12}   {ours}",
            row.printed.multiple,
            row.printed.budget,
            row.unit_formula,
            format_rounded_up(row.certified.pure, 0),
            format_rounded_up(row.certified.approximate, 1),
            row.printed.iterations,
        )?;
    }
    let Unknowns { batch, ridge, start_spread } = found.unknowns;
    writeln!(
        out,
        "\nBatch {batch}, ridge {ridge}, start within ±{start_spread}: not given by the paper. Certified \
         budgets are for one use of a record."
    )
}

fn run_search(common: &Common) -> Result<(), Failure> {
    let runs = (grid().len() * rows().len()) as u64 * common.seeds;
    let found = watched(&common.output.progress("run", runs), |watch| search(common.seeds, watch))?;
    let mut out = io::stdout().lock();
    if common.output.voice.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&found)?)?;
    } else if common.output.voice.prints() {
        writeln!(out, "distance  batch  ridge  start  our median iterations")?;
        for Candidate { unknowns, distance, medians } in &found {
            let medians: Vec<String> =
                medians.iter().map(|median| format!("{median:.0}")).collect();
            writeln!(
                out,
                "{distance:>8.3} {:>6} {:>6} {:>6}  {}",
                unknowns.batch,
                unknowns.ridge,
                unknowns.start_spread,
                medians.join(" ")
            )?;
        }
        let theirs: Vec<String> = rows().iter().map(|row| row.iterations.to_string()).collect();
        writeln!(out, "                     paper  {}", theirs.join(" "))?;
    }
    Ok(())
}

fn run_fig1(common: &Common, rounds: u64) -> Result<(), Failure> {
    let folder = common.output.folder("fig1")?;
    let progress = common.output.progress("run", fig1::METHODS.len() as u64 * common.seeds);
    let found = watched(&progress, |watch| fig1::figure(common.seeds, rounds, watch))?;
    let csv = spreadsheet::fig1(&found)?;
    let page = fig1_page(&found);
    common.output.finish(&folder, "fig1", &found, &csv, &page, |out| print_fig1(out, &found))
}

fn print_fig1(out: &mut dyn Write, found: &fig1::Figure) -> io::Result<()> {
    writeln!(
        out,
        "              step   tracking error   excess loss   budget, summed   one record"
    )?;
    for curve in &found.curves {
        let Some(last) = curve.points.last() else { continue };
        let step = curve.tuned.map_or("paper's".into(), |tuned| tuned.step.to_string());
        writeln!(
            out,
            "{:<10} {step:>9} {:>14.4e} {:>13.4e} {:>16} {:>12}",
            curve.method,
            last.tracking_error.median,
            last.instantaneous_regret.median,
            format_scientific_up(last.budget_summed, 4),
            format_scientific_up(last.budget_event, 4)
        )?;
    }
    let measured = found.slope_measured.map_or("too short".into(), |slope| format!("{slope:.3}"));
    writeln!(
        out,
        "\nThe tracking error of algorithm1 falls as (t+1)^-β: β = {:.2} by the theorem, {measured} measured.",
        found.slope_of_theorem
    )
}

fn run_neural_figure(options: &NeuralOptions, name: &str, images: Images) -> Result<(), Failure> {
    let output = &options.output;
    let extent = options.extent(Extent::whole(images), Extent::quick(images));
    let (folder, mut store) = open(output, name)?;
    let missing = neural::missing(images, extent, &store)?;
    let progress = output.progress("measurement", missing);
    let found = watched(&progress, |watch| neural::figure(images, extent, &mut store, watch))?;
    let csv = spreadsheet::neural(&found)?;
    let page = neural_page(&found);
    output.finish(&folder, name, &found, &csv, &page, |out| print_neural_figure(out, &found))
}

/// The folder of an experiment, with its finished runs.
fn open(output: &Output, name: &str) -> Result<(PathBuf, RunStore<NeuralRun>), Failure> {
    let folder = output.folder(name)?;
    let store = neural::open(&folder, name)?;
    if output.voice.prints() && !store.runs.is_empty() {
        writeln!(
            io::stderr(),
            "{} finished runs are kept in {}",
            store.runs.len(),
            folder.display()
        )?;
    }
    Ok((folder, store))
}

fn print_neural_figure(out: &mut dyn Write, found: &NeuralFigure) -> io::Result<()> {
    writeln!(
        out,
        "            training   test, own   test, public   ε for ever, δ = {:e}",
        found.delta
    )?;
    for curve in &found.curves {
        let Some(last) = curve.points.last() else { continue };
        let certified = match curve.certified {
            Some(epsilon) => format_epsilon(epsilon),
            None if curve.method == ComparedMethod::Local => "nothing is sent".into(),
            None => "no certificate".into(),
        };
        let public = match curve.method {
            ComparedMethod::Local => "-".into(),
            ComparedMethod::Algorithm1
            | ComparedMethod::Shielded
            | ComparedMethod::Dsgd
            | ComparedMethod::Dola
            | ComparedMethod::Pdop => {
                format!("{:.4}", last.test_public.median)
            }
        };
        writeln!(
            out,
            "{:<10} {:>9.4} {:>11.4} {public:>14}   {certified}",
            curve.method, last.training.median, last.test_own.median
        )?;
    }
    let Extent { rounds, batch, seeds, shielded_divisor } = found.extent;
    let shielded = match shielded_divisor {
        1 => "shielded as its preset".into(),
        divisor => format!("shielded with one record in {divisor} of its preset"),
    };
    writeln!(
        out,
        "\nMedians of {seeds} seeds; {rounds} rounds of {batch} records a learner, {shielded}."
    )?;
    if found.curves.iter().any(|curve| curve.ran_dry) {
        writeln!(out, "Some learners had no records left before the last round.")?;
    }
    Ok(())
}

fn run_table2(options: &NeuralOptions) -> Result<(), Failure> {
    let output = &options.output;
    let extent = options.extent(table2::WHOLE, table2::QUICK);
    let (folder, mut store) = open(output, "table2")?;
    let progress = output.progress("step", table2::steps(extent));
    let found = watched(&progress, |watch| table2::table(extent, &mut store, watch))?;
    let csv = spreadsheet::table2(&found)?;
    let page = table2_page(&found);
    output.finish(&folder, "table2", &found, &csv, &page, |out| print_table2(out, &found))
}

fn print_table2(out: &mut dyn Write, found: &table2::Table2) -> io::Result<()> {
    writeln!(
        out,
        "         training          test              DLG error         labels      start known"
    )?;
    writeln!(
        out,
        "noise    paper's   ours    paper's   ours    paper's   ours    found      error   labels"
    )?;
    let free = &found.attack_without_noise;
    writeln!(out, "none     {:>60.2e} {:>7.0} %", free.error, 100.0 * free.labels_found)?;
    for row in &found.rows {
        let table2::Row { printed, training, test_own, attack, attack_with_start } = row;
        writeln!(
            out,
            "×{:<7} {:>7.4} {:>7.4}   {:>7.4} {:>7.4}   {:>7.4} {:>7.4} {:>7.0} %   {:>7.4} {:>7.0} %",
            printed.multiple,
            printed.training,
            training.median,
            printed.test,
            test_own.median,
            printed.error,
            attack.error,
            100.0 * attack.labels_found,
            attack_with_start.error,
            100.0 * attack_with_start.labels_found
        )?;
    }
    let Extent { rounds, batch, seeds, .. } = found.extent;
    writeln!(
        out,
        "\nLearners for themselves, nothing sent: training {:.4}, test {:.4}. Medians of {seeds} seeds; {rounds} \
         rounds of {batch} records a learner.",
        found.local.0.median, found.local.1.median
    )
}
