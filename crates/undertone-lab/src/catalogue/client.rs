//! Asking the machine's own package clients for a package.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::CatalogueError;
use super::recipe::{Package, Recipe};

/// How many of a client's last lines are passed on.
const LINES_PASSED_ON: usize = 6;

/// What clients say when there is no network.
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

/// Runs the client in a folder; afterwards the package lies there.
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
    let words = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = words.lines().filter(|line| !line.trim().is_empty()).collect();
    // Without a network clients go on to say much that does not matter.
    let sign = lines.iter().position(|line| OFFLINE.iter().any(|sign| line.contains(sign)));
    let telling = match sign {
        Some(place) => &lines[place..=place],
        None => &lines[lines.len().saturating_sub(LINES_PASSED_ON)..],
    };
    let nothing = || format!("nothing ({})", output.status);
    CatalogueError::ClientFailed {
        command: package.command(),
        name: recipe.name,
        offline: sign.is_some(),
        said: if telling.is_empty() { nothing() } else { telling.join("\n") },
    }
}
