//! Shared by commands that run for long: progress, Ctrl-C, and names of folders.

use crate::failure::Failure;
use anyhow::Context;
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use undertone_lab::reproduce::Watch;

/// A flag that Ctrl-C sets.
pub(crate) fn interruption() -> anyhow::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
        .context("cannot listen for Ctrl-C")?;
    Ok(interrupted)
}

/// A bar on stderr that counts `unit`s, or an invisible one.
pub(crate) fn progress_bar(unit: &str, count: u64, visible: bool) -> ProgressBar {
    let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let template = format!("{{bar:24}} {unit} {{pos}}/{{len}}  {{msg}}  ETA {{eta}}");
    let style =
        ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(count), target).with_style(style)
}

/// Runs an experiment under a progress bar and Ctrl-C.
pub(crate) fn watched<T, E: Into<Failure>>(
    progress: &ProgressBar,
    experiment: impl FnOnce(&Watch<'_>) -> Result<T, E>,
) -> Result<T, Failure> {
    let interrupted = interruption()?;
    let done = || progress.inc(1);
    let stop = || interrupted.load(Ordering::Relaxed);
    let result = experiment(&Watch { done: &done, interrupted: &stop });
    progress.finish_and_clear();
    result.map_err(Into::into)
}

/// The output options of a command that makes many runs.
#[derive(Args)]
pub(crate) struct Voice {
    /// Print the results as JSON to stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// Print errors only
    #[arg(long)]
    quiet: bool,
}

impl Voice {
    /// Whether progress and results are shown to a person.
    pub(crate) fn prints(&self) -> bool {
        !self.quiet && !self.json
    }
}

/// A config's name as part of a path.
pub(crate) fn folder_name(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect()
}

/// `PARENT/NAME-1`, or the first number that is free.
pub(crate) fn free_folder(parent: &str, name: &str) -> PathBuf {
    let safe = folder_name(name);
    (1..)
        .map(|number: u64| Path::new(parent).join(format!("{safe}-{number}")))
        .find(|path| !path.exists())
        .expect("there are more numbers than folders")
}
