//! The folder that a run writes. All its files appear together, or none does.

use crate::columns::{self, COLUMNS};
use crate::error::FileError;
use crate::experiment::RawExperiment;
use crate::ledger_file;
use crate::report;
use crate::simulate::{Outcome, RoundRow};
use crate::stream::LABELS_PUBLIC;
use crate::summary::{self, NOT_PRIVATE, Summary};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use undertone::agreement::Agreement;

/// Checks that a run folder can be created, before the run.
///
/// # Errors
/// When it exists already, or its parent cannot be written.
pub fn check(path: &Path) -> Result<(), FileError> {
    if path.exists() {
        return Err(FileError::Exists { path: path.into() });
    }
    staging(path).map(|_| ())
}

/// Writes config, rounds, summary, public model and report into a new folder.
///
/// # Errors
/// When the folder exists already or cannot be written; then nothing is left behind.
pub fn write(
    path: &Path,
    experiment: &RawExperiment,
    outcome: &Outcome,
    summary: &Summary,
    agreement: &Agreement,
) -> Result<(), FileError> {
    if path.exists() {
        return Err(FileError::Exists { path: path.into() });
    }
    let folder = staging(path)?;
    let save = |name: &str, bytes: &[u8]| {
        let file = folder.path().join(name);
        fs::write(&file, bytes).map_err(FileError::write(&file))
    };
    save("config.toml", config_text(experiment, summary)?.as_bytes())?;
    save("rounds.csv", &rounds_csv(&outcome.rows, summary)?)?;
    save(summary::NAME, serde_json::to_string_pretty(summary)?.as_bytes())?;
    save("model.safetensors", &model_bytes(outcome, summary, agreement)?)?;
    if !outcome.ledger.is_empty() {
        save(ledger_file::NAME, &ledger_file::encode(&outcome.ledger, summary)?)?;
    }
    save("report.html", report::run_page(summary, &outcome.rows).as_bytes())?;
    let staged = folder.keep();
    fs::rename(&staged, path).map_err(|error| {
        let _ = fs::remove_dir_all(&staged);
        FileError::write(path)(error)
    })
}

/// A temporary folder beside the final one, so that the last step is a rename.
fn staging(path: &Path) -> Result<tempfile::TempDir, FileError> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(FileError::write(parent))?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".undertone-");
    // Losses and accuracies come from private records: only the owner may read the folder.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir_in(parent).map_err(FileError::write(parent))
}

fn config_text(experiment: &RawExperiment, summary: &Summary) -> Result<String, FileError> {
    let mut text = String::from(
        "# The experiment as it was run, with defaults filled in and noise calibrated.\n",
    );
    if !summary.private {
        text.push_str(&format!("# {NOT_PRIVATE}\n"));
    }
    text.push('\n');
    text.push_str(&toml::to_string(experiment)?);
    Ok(text)
}

fn rounds_csv(rows: &[RoundRow], summary: &Summary) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    // A column, because few CSV readers accept comments.
    let warning = if summary.private { "" } else { "NOT PRIVATE" };
    let learners = summary.learners.len();
    let mut writer = csv::Writer::from_writer(&mut bytes);
    let mut header: Vec<String> =
        COLUMNS.iter().flat_map(|column| column.headings(learners)).collect();
    header.push(columns::WARNING.into());
    writer.write_record(&header)?;
    for row in rows {
        let mut cells: Vec<String> = COLUMNS.iter().flat_map(|column| column.cells(row)).collect();
        cells.push(warning.into());
        writer.write_record(&cells)?;
    }
    writer.flush().map_err(csv::Error::from)?;
    drop(writer);
    Ok(bytes)
}

/// The public model only: an average of releases, which costs nothing more to publish.
///
/// Each layer of a neural network has its own tensors, named and shaped as in PyTorch; other models are one
/// tensor.
fn model_bytes(
    outcome: &Outcome,
    summary: &Summary,
    agreement: &Agreement,
) -> Result<Vec<u8>, FileError> {
    let mut metadata = HashMap::from([
        ("producer".to_string(), format!("undertone {}", summary.undertone_version)),
        ("name".to_string(), summary.name.clone()),
        ("content".to_string(), summary.public().model_content().to_string()),
    ]);
    if let Some(declared) = &summary.declared_by_user {
        metadata.insert("declared_by_user".into(), declared.clone());
    }
    if summary.labels_public {
        metadata.insert("labels".into(), LABELS_PUBLIC.into());
    }
    if !summary.private {
        metadata.insert("content".into(), NOT_PRIVATE.into());
    }
    metadata
        .extend(agreement.transform.map(|transform| ("features".into(), transform.to_string())));
    let Outcome { public, accounts, delta, .. } = outcome;
    let neural = agreement.neural.as_ref();
    Ok(undertone_models::model_file(public, neural, accounts, *delta, metadata)?)
}
