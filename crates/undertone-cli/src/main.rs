//! The `undertone` command: it parses options, calls the other crates and prints.
//!
//! Each subcommand is one file in `commands/`:
//!
//! | for | subcommands |
//! |---|---|
//! | experiments in one process (`undertone-lab`) | `simulate`, `compare`, `reproduce`, `attack`, `audit` |
//! | before a run | `new`, `data`, `doctor`, `plan`, `budget` |
//! | learners on a network (`undertone-node`) | `node`, `up`, `cert` |
//! | a learner's state and its ledger | `status`, `export`, `verify` |
//!
//! `config_source.rs`, `agreement_source.rs` and `node_source.rs` are the arguments that subcommands share, `failure.rs`
//! maps errors to exit codes, and `terminal.rs` has progress bars and Ctrl-C.
//!
//! Exit codes: 0 success, 1 a check found something, 2 bad input or config, 3 budget exhausted.

mod agreement_source;
mod commands;
mod config_source;
mod failure;
mod node_source;
mod terminal;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Undertone trains one model across organisations without a server. Each learner adds its own noise before anything
/// leaves it, and the total privacy loss is bounded for ever.
#[derive(Parser)]
#[command(version, after_help = EXIT_CODES, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str =
    "Exit codes: 0 success, 1 a check found something, 2 bad input or config, 3 budget exhausted.";

#[derive(Subcommand)]
enum Command {
    Simulate(commands::simulate::Arguments),
    Budget(commands::budget::Arguments),
    Data(commands::data::Arguments),
    Doctor(commands::doctor::Arguments),
    Plan(commands::plan::Arguments),
    Audit(commands::audit::Arguments),
    Attack(commands::attack::Arguments),
    Compare(commands::compare::Arguments),
    Reproduce(commands::reproduce::Arguments),
    New(commands::new::Arguments),
    Node(commands::node::Arguments),
    Up(commands::up::Arguments),
    Cert(commands::cert::Arguments),
    Status(commands::status::Arguments),
    Export(commands::export::Arguments),
    AuditBundle(commands::audit_bundle::Arguments),
    Verify(commands::verify::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Command::Simulate(arguments) => commands::simulate::run(arguments),
        Command::Budget(arguments) => commands::budget::run(&arguments),
        Command::Data(arguments) => commands::data::run(&arguments),
        Command::Doctor(arguments) => commands::doctor::run(&arguments),
        Command::Plan(arguments) => commands::plan::run(&arguments),
        Command::Audit(arguments) => commands::audit::run(&arguments),
        Command::Attack(arguments) => commands::attack::run(&arguments),
        Command::Compare(arguments) => commands::compare::run(&arguments),
        Command::Reproduce(arguments) => commands::reproduce::run(&arguments),
        Command::New(arguments) => commands::new::run(&arguments),
        Command::Node(arguments) => commands::node::run(&arguments),
        Command::Up(arguments) => commands::up::run(&arguments),
        Command::Cert(arguments) => commands::cert::run(&arguments),
        Command::Status(arguments) => commands::status::run(&arguments),
        Command::Export(arguments) => commands::export::run(&arguments),
        Command::AuditBundle(arguments) => commands::audit_bundle::run(&arguments),
        Command::Verify(arguments) => commands::verify::run(&arguments),
    };
    match result {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
