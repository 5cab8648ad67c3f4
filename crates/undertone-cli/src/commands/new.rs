//! `undertone new`: a commented config to start from.

use crate::failure::Failure;
use anyhow::Context;
use clap::Args;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use undertone_lab::presets::{DEFAULT_PRESET, preset_agreement_text, preset_names, preset_text};

/// Write a config to start from, with comments; it runs as it is
#[derive(Args)]
pub(crate) struct Arguments {
    /// Name of the new config; NAME.toml is written
    name: PathBuf,
    /// The built-in config to start from
    #[arg(long, value_name = "NAME", default_value = DEFAULT_PRESET, value_parser = clap::builder::PossibleValuesParser::new(preset_names()))]
    preset: String,
    /// Write the agreement of a network instead, for `undertone node`: no rounds and no data
    #[arg(long)]
    agreement: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let text = if arguments.agreement {
        preset_agreement_text(&arguments.preset)?
    } else {
        preset_text(&arguments.preset)?.to_string()
    };
    let mut path = arguments.name.clone();
    if path.file_name().is_none() {
        return Err(anyhow::anyhow!("{} is not a name for a config", path.display()).into());
    }
    if path.extension().is_none_or(|extension| extension != "toml") {
        let mut name = path.into_os_string();
        name.push(".toml");
        path = name.into();
    }
    let title =
        path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let named = text.replacen(
        &format!("name = \"{}\"", arguments.preset),
        &format!("name = {}", serde_json::to_string(&title)?),
        1,
    );
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .with_context(|| format!("cannot create {}", path.display()))?;
    file.write_all(named.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    let shown = path.display().to_string();
    let shown = if shown.contains(char::is_whitespace) { format!("'{shown}'") } else { shown };
    let next = if arguments.agreement {
        format!("  undertone node {shown} --help   run a learner of its network")
    } else {
        format!(
            "  undertone budget {shown}     what it will cost, before any data\n  undertone simulate {shown}   run it"
        )
    };
    writeln!(io::stdout(), "Wrote {shown}. Next:\n{next}")?;
    Ok(ExitCode::SUCCESS)
}
