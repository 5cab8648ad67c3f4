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

/// Make the certificates by which the learners of a network know each other
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Make a new network's authority, which can admit learners
    NewNetwork {
        /// Folder for authority.pem and authority.key
        folder: PathBuf,
        /// How long the authority is valid
        #[arg(long, default_value_t = 3650, value_parser = clap::value_parser!(u32).range(1..))]
        days: u32,
    },
    /// Make a learner's certificate and private key
    Add {
        /// Folder with the authority
        folder: PathBuf,
        /// Which learner, from 0
        #[arg(long, value_name = "NUMBER")]
        learner: u32,
        #[command(flatten)]
        reach: Reach,
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
        reach: Reach,
    },
}

#[derive(Args)]
struct Reach {
    /// A name or address by which others call it; give each
    #[arg(long = "host", value_name = "NAME", required = true)]
    hosts: Vec<String>,
    /// How long the certificate is valid
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
                "{}: can admit anybody; keep it offline, give it to nobody",
                folder.join("authority.key").display()
            )?;
        }
        Action::Add { folder, learner, reach } => {
            let holder = Holder::Learner(LearnerId(*learner));
            let made = certificates::add(folder, holder, &reach.hosts, Validity::days(reach.days))?;
            writeln!(
                out,
                "for learner {learner} alone, over a safe way, with authority.pem:\n{}\n{}",
                made.certificate.display(),
                made.key.display()
            )?;
        }
        Action::Router { folder, agreement, listen, reach } => {
            let setup = load_agreement(agreement)?;
            let validity = Validity::days(reach.days);
            let mut files = certificates::files(folder, Holder::Router);
            // Its settings are made again when the network changes; its certificate stays.
            if !files.certificate.exists() {
                files = certificates::add(folder, Holder::Router, &reach.hosts, validity)?;
            }
            // On the router's machine they are beside its settings.
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
                "for the router alone, with authority.pem; start it there with `zenohd -c router.json5`:\n{}\n{}\n{}",
                path.display(),
                files.certificate.display(),
                files.key.display()
            )?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
