//! `undertone cert`: a network's own certificates.

use crate::agreement_source::load_agreement;
use crate::failure::Failure;
use anyhow::Context;
use clap::{Args, Subcommand};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use undertone::LearnerId;
use undertone_node::certificates::{self, Holder, Validity};
use undertone_node::link::router_settings;
use undertone_node::wire::Wire;

/// Make the certificates by which the learners of a network identify each other
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Make the authority of a new network, which can admit learners
    NewNetwork {
        /// Folder for authority.pem and authority.key
        folder: PathBuf,
        /// For how many days the authority is valid
        #[arg(long, default_value_t = 3650, value_parser = clap::value_parser!(u32).range(1..))]
        days: u32,
    },
    /// Make a learner's certificate and private key
    Add {
        /// Folder with the authority
        folder: PathBuf,
        /// The learner's number, from 0
        #[arg(long, value_name = "NUMBER")]
        learner: u32,
        #[command(flatten)]
        hosts: HostArguments,
    },
    /// Make a router's certificate, private key and settings for zenohd
    Router {
        /// Folder with the authority
        folder: PathBuf,
        /// The agreement of the network (TOML)
        #[arg(value_name = "AGREEMENT.toml")]
        agreement: PathBuf,
        /// Where the router listens
        #[arg(long, value_name = "HOST:PORT", default_value = "0.0.0.0:7447")]
        listen: String,
        #[command(flatten)]
        hosts: HostArguments,
    },
}

#[derive(Args)]
struct HostArguments {
    /// A host name or address by which others connect to it; repeat for each
    #[arg(long = "host", value_name = "NAME", required = true)]
    hosts: Vec<String>,
    /// For how many days the certificate is valid
    #[arg(long, default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..))]
    days: u32,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let mut out = io::stdout().lock();
    match &arguments.command {
        Action::NewNetwork { folder, days } => {
            certificates::new_network(folder, Validity::days(*days))?;
            writeln!(out, "{}: for every learner", folder.join("authority.pem").display())?;
            writeln!(
                out,
                "{}: can admit any learner; keep it offline and secret",
                folder.join("authority.key").display()
            )?;
        }
        Action::Add { folder, learner, hosts } => {
            let holder = Holder::Learner(LearnerId(*learner));
            let files =
                certificates::add(folder, holder, &hosts.hosts, Validity::days(hosts.days))?;
            writeln!(
                out,
                "for learner {learner} only, over a secure channel, with authority.pem:\n{}\n{}",
                files.certificate.display(),
                files.key.display()
            )?;
        }
        Action::Router { folder, agreement, listen, hosts } => {
            let setup = load_agreement(agreement)?;
            let validity = Validity::days(hosts.days);
            let mut files = certificates::files(folder, Holder::Router);
            // When the network changes, only the settings are made again.
            if !files.certificate.exists() {
                files = certificates::add(folder, Holder::Router, &hosts.hosts, validity)?;
            }
            // The settings name the files relative to their own folder.
            for file in [&mut files.authority, &mut files.certificate, &mut files.key] {
                *file = file.canonicalize().with_context(|| file.display().to_string())?;
            }
            let wire = Wire::new(Arc::clone(&setup));
            let mut settings = router_settings(&wire, &setup.agreement.graph, listen, &files)?;
            for (_, file) in
                settings["transport"]["link"]["tls"].as_object_mut().into_iter().flatten()
            {
                let name = file.as_str().and_then(|path| path.rsplit(['/', '\\']).next());
                if let Some(name) = name.map(str::to_string) {
                    *file = name.into();
                }
            }
            let path = folder.join("router.json5");
            std::fs::write(&path, serde_json::to_string_pretty(&settings)?)
                .with_context(|| path.display().to_string())?;
            writeln!(
                out,
                "for the router only, with authority.pem; start it there with `zenohd -c router.json5`:\n{}\n{}\n{}",
                path.display(),
                files.certificate.display(),
                files.key.display()
            )?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
