//! Fetching a package with a package client that is installed on the machine.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::CatalogueError;
use super::recipe::{Package, Recipe};

/// How many of the last lines of a client's output are shown.
const LINES_SHOWN: usize = 6;

/// Messages of clients that have no internet connection.
const OFFLINE: [&str; 13] = [
    "ENOTFOUND",
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ENETUNREACH",
    "ETIMEDOUT",
    "Temporary failure",
    "Name or service not known",
    "Could not resolve",
    "Could not connect",
    "Unable to connect",
    "Network is unreachable",
    "Connection refused",
    "NewConnectionError",
];

/// Runs the client in a folder, where it leaves the package.
///
/// # Errors
/// When the client is not installed or fails.
pub fn fetch(recipe: &Recipe, package: &Package, folder: &Path) -> Result<(), CatalogueError> {
    for program in package.client.programs() {
        let run = Command::new(program)
            .args(package.arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .output();
        match run {
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => return Err(failed(recipe, package, &output)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(source) => return Err(CatalogueError::Io { path: PathBuf::from(program), source }),
        }
    }
    Err(CatalogueError::ClientMissing {
        client: package.client.programs()[0],
        package: package.name(),
        name: recipe.name,
    })
}

fn failed(recipe: &Recipe, package: &Package, output: &Output) -> CatalogueError {
    let output_text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = output_text.lines().filter(|line| !line.trim().is_empty()).collect();
    // Without a connection clients print much that does not matter.
    let offline_line = lines.iter().position(|line| OFFLINE.iter().any(|sign| line.contains(sign)));
    let relevant = match offline_line {
        Some(index) => &lines[index..=index],
        None => &lines[lines.len().saturating_sub(LINES_SHOWN)..],
    };
    let nothing = || format!("nothing ({})", output.status);
    CatalogueError::ClientFailed {
        command: package.command(),
        name: recipe.name,
        offline: offline_line.is_some(),
        said: if relevant.is_empty() { nothing() } else { relevant.join("\n") },
    }
}
