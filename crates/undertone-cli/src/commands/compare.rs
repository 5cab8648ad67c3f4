//! `undertone compare`: several methods at equal certified budgets.

use crate::config_source::ConfigSource;
use crate::failure::Failure;
use crate::terminal::{Voice, folder_name, interruption, progress_bar};
use anyhow::{Context, anyhow};
use clap::Args;
use rayon::prelude::*;
use serde_json::json;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use undertone_lab::compare::settings::{ComparedMethod, Settings, settings};
use undertone_lab::compare::statistics::{Estimate, central, entries};
use undertone_lab::compare::store::Store;
use undertone_lab::compare::{page, run as measure};
use undertone_lab::experiment::{LoadedExperiment, Overrides};
use undertone_lab::summary::NOT_PRIVATE;

/// Compare methods on the same data, graph and certified budget
///
/// The planner tunes every method for every budget, from public numbers only. Runs that are already in the folder are
/// not repeated, so an interrupted comparison continues where it stopped. All runs have seeds: NOT PRIVATE, for
/// research.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: ConfigSource,
    /// The methods to compare
    #[arg(long, value_delimiter = ',', value_name = "LIST", default_values_t = ComparedMethod::ALL.map(|method| method.to_string()))]
    methods: Vec<String>,
    /// The budgets ε, certified for ever; inf is a run without privacy
    #[arg(long, value_delimiter = ',', value_name = "LIST", default_values_t = [0.5, 1.0, 2.0, 4.0, 8.0, f64::INFINITY])]
    epsilons: Vec<f64>,
    /// Repeat with seeds 1 to N
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,
    /// Folder for runs, tables and report [default: compare/NAME]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    voice: Voice,
}

/// One run to be made.
struct Job<'a> {
    settings: &'a Settings,
    seed: u64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let interrupted = interruption()?;
    let base = arguments.source.load(&Overrides::default())?;
    let (methods, epsilons) = (methods(&arguments.methods)?, budgets(&arguments.epsilons)?);
    let folder = arguments
        .out
        .clone()
        .unwrap_or_else(|| Path::new("compare").join(folder_name(&base.checked.agreement.name)));
    let mut store = Store::open(&folder, &base)?;
    let all = all_settings(&base, &methods, &epsilons)?;
    store.keep_only(&all)?;
    let mut jobs: Vec<Job<'_>> = Vec::new();
    for settings in &all {
        for seed in 1..=arguments.seeds {
            if !store.has(settings, seed)? {
                jobs.push(Job { settings, seed });
            }
        }
    }
    let prints = arguments.voice.prints();
    if prints {
        let done = all.len() as u64 * arguments.seeds - jobs.len() as u64;
        let done = if done > 0 { format!(", {done} there already") } else { String::new() };
        writeln!(io::stdout(), "{} runs to make{done}", jobs.len())?;
    }
    let store = work(&jobs, store, &base.folder, &interrupted, prints)?;
    finish(arguments, &base, &folder, &store, prints)?;
    if interrupted.load(Ordering::Relaxed) {
        return Err(anyhow!(
            "interrupted; the same command goes on with the {} runs kept in {}",
            store.runs.len(),
            folder.display()
        )
        .into());
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes all runs on all cores, and stores each when it is finished.
fn work(
    jobs: &[Job<'_>],
    store: Store,
    data_folder: &Path,
    interrupted: &AtomicBool,
    prints: bool,
) -> Result<Store, Failure> {
    let progress = progress_bar("run", jobs.len() as u64, prints);
    let store = Mutex::new(store);
    let result = jobs.par_iter().try_for_each(|job| -> Result<(), Failure> {
        if interrupted.load(Ordering::Relaxed) {
            return Ok(());
        }
        let found = measure(job.settings, data_folder, job.seed)?;
        progress.set_message(label(job.settings));
        progress.inc(1);
        let mut store = store.lock().map_err(|_| anyhow!("another run failed"))?;
        Ok(store.add(found)?)
    });
    progress.finish_and_clear();
    result?;
    store.into_inner().map_err(|_| anyhow!("a run failed").into())
}

/// Writes tables and report, and prints them.
fn finish(
    arguments: &Arguments,
    base: &LoadedExperiment,
    folder: &Path,
    store: &Store,
    prints: bool,
) -> Result<(), Failure> {
    let save = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
    };
    let experiment = &base.checked;
    let agreement = &experiment.agreement;
    let labels_public = experiment.data.partition.depends_on_labels();
    let dealt =
        if labels_public { " Records are dealt by their labels, which are public." } else { "" };
    let facts = page::Facts {
        name: agreement.name.clone(),
        delta: agreement.delta,
        setting: format!(
            "{} learners, {} rounds, {} parameters.{dealt}",
            agreement.graph.learners(),
            experiment.rounds,
            agreement.model.parameters()
        ),
    };
    let entries = entries(&store.runs);
    let value = json!({
        "schema_version": 1,
        "warning": NOT_PRIVATE,
        "name": agreement.name,
        "delta": agreement.delta,
        "labels_public": labels_public,
        "central_accuracy": central(&store.runs),
        "entries": entries,
    });
    save("results.json", serde_json::to_string_pretty(&value)?.as_bytes())?;
    save("results.csv", &page::csv(&store.runs)?)?;
    save("report.html", page::html(&facts, &store.runs).as_bytes())?;
    let mut out = io::stdout().lock();
    if arguments.voice.json {
        serde_json::to_writer_pretty(&mut out, &value).map_err(io::Error::from)?;
        writeln!(out)?;
    } else if prints {
        writeln!(out, "method        epsilon   test accuracy        regret          runs")?;
        for entry in &entries {
            let epsilon = entry.epsilon.map_or("inf".into(), |epsilon| epsilon.to_string());
            writeln!(
                out,
                "{:<12} {epsilon:>8}   {:<18}   {:<14}  {}",
                entry.method,
                shown(entry.accuracy),
                shown(entry.regret),
                entry.runs
            )?;
        }
        if let Some(optimum) = central(&store.runs) {
            writeln!(out, "central           inf   {}", shown(Some(optimum)))?;
        }
        writeln!(out, "\nReport: {}", folder.join("report.html").display())?;
    }
    Ok(())
}

fn shown(estimate: Option<Estimate>) -> String {
    estimate.map_or("-".into(), |estimate| estimate.shown(4))
}

fn label(settings: &Settings) -> String {
    let epsilon = settings.epsilon.map_or("inf".into(), |epsilon| epsilon.to_string());
    format!("{} at ε = {epsilon}", settings.method)
}

fn methods(names: &[String]) -> Result<Vec<ComparedMethod>, Failure> {
    let known = || ComparedMethod::ALL.map(ComparedMethod::name).join(", ");
    let find = |name: &String| {
        let found = ComparedMethod::ALL.into_iter().find(|method| method.name() == name);
        found.ok_or_else(|| anyhow!("--methods {name}: there are {}", known()).into())
    };
    let found: Result<Vec<ComparedMethod>, Failure> = names.iter().map(find).collect();
    Ok(distinct(found?))
}

/// Without duplicates: a run that is counted twice would make confidence bands too narrow.
fn distinct<T: PartialEq>(values: Vec<T>) -> Vec<T> {
    let mut kept = Vec::new();
    for value in values {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}

fn budgets(epsilons: &[f64]) -> Result<Vec<Option<f64>>, Failure> {
    let check = |&epsilon: &f64| {
        if epsilon > 0.0 {
            Ok(Some(epsilon).filter(|epsilon| epsilon.is_finite()))
        } else {
            Err(anyhow!("--epsilons {epsilon}: must be above 0").into())
        }
    };
    let found: Result<Vec<Option<f64>>, Failure> = epsilons.iter().map(check).collect();
    Ok(distinct(found?))
}

/// The config of every method at every budget; a method that sends nothing has one budget only.
fn all_settings(
    base: &LoadedExperiment,
    methods: &[ComparedMethod],
    epsilons: &[Option<f64>],
) -> Result<Vec<Settings>, Failure> {
    let mut all = Vec::new();
    for &method in methods {
        let budgets = if method.publishes() { epsilons } else { &[None] };
        for &epsilon in budgets {
            all.push(settings(base, method, epsilon)?);
        }
    }
    Ok(all)
}
