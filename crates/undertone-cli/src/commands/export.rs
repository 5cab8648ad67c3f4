//! `undertone export`: a learner's public model.

use crate::failure::Failure;
use crate::node_source::{NodeSource, Target};
use anyhow::Context;
use clap::Args;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use undertone_models::{accounts_sentence, read_accounts};
use undertone_node::owner;

/// Write a learner's public model, an average of releases, as safetensors
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    node: NodeSource,
    /// The agreement of the learner's network, with --store
    #[arg(value_name = "AGREEMENT.toml")]
    agreement: Option<PathBuf>,
    /// The file to write; it must not exist
    #[arg(long, value_name = "FILE", default_value = "model.safetensors")]
    out: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let model = match arguments.node.open(arguments.agreement.as_deref())? {
        Target::Running(node) => node.bytes("/v1/model/public")?,
        Target::Stored(node) => owner::public_model(&node)?,
    };
    let (accounts, delta) = read_accounts(&model).context("the model")?;
    let path = &arguments.out;
    let written = File::create_new(path).and_then(|mut file| file.write_all(&model));
    written.with_context(|| path.display().to_string())?;
    writeln!(io::stdout(), "{}: {} bytes", path.display(), model.len())?;
    writeln!(io::stdout(), "{}", accounts_sentence(&accounts, delta))?;
    Ok(ExitCode::SUCCESS)
}
