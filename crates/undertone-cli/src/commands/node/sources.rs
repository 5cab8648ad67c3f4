//! Where a learner's records come from, besides HTTP.

use super::log::{Line, log};
use anyhow::{Context, ensure};
use clap::Args;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::thread;
use undertone::LearnerId;
use undertone_lab::Setup;
use undertone_lab::experiment::{Overrides, load_file};
use undertone_lab::stream::{self, Stream};
use undertone_node::daemon::Event;
use undertone_node::feed::{Feeder, source_of};
use undertone_node::intake::Intake;
use undertone_node::mailbox::Sender;
use undertone_node::owner::REPLAY;

#[derive(Args)]
#[group(skip)]
pub(crate) struct Arguments {
    /// Replay this learner's share of the data of an experiment
    #[arg(long, value_name = "EXPERIMENT.toml", conflicts_with_all = ["records", "stdin", "follow"])]
    replay: Option<PathBuf>,
    /// Replay a file of this learner's own records (csv, parquet, libsvm or ndjson, columns as in the agreement)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stdin", "follow"])]
    records: Option<PathBuf>,
    /// At most so many records a second, of --replay or --records
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<f64>,
    /// Begin with a file that this learner has never read, though it has read others: none of its records was
    /// taken before
    #[arg(long)]
    pub(crate) new_source: bool,
    /// Read records from standard input, one JSON object a line
    #[arg(long, conflicts_with = "follow")]
    stdin: bool,
    /// Read records from a file that grows, one JSON object a line; after a restart from where it was
    #[arg(long, value_name = "FILE")]
    follow: Option<PathBuf>,
}

/// An opened source.
pub(crate) enum Source {
    None,
    Replay { name: String, stream: Stream, rate: Option<f64> },
    Stdin,
    Follow(PathBuf),
}

impl Arguments {
    /// Whether there is any.
    pub(crate) fn any(&self) -> bool {
        self.replay.is_some() || self.records.is_some() || self.stdin || self.follow.is_some()
    }

    /// Opens it, so that what is wrong with it shows before the learner runs.
    pub(crate) fn open(&self, setup: &Setup, own: LearnerId) -> anyhow::Result<Source> {
        if let Some(rate) = self.rate {
            ensure!(
                (1e-3..=1e9).contains(&rate),
                "--rate: a number of records, 0.001 to 1000000000"
            );
            ensure!(
                self.replay.is_some() || self.records.is_some(),
                "--rate: only with --replay or --records"
            );
        }
        if let Some(path) = &self.records {
            let stream = stream::load_own(&setup.agreement, path)?;
            // By any other name it would be the same file, and its records would be used twice.
            let path = path.canonicalize().with_context(|| path.display().to_string())?;
            let name = format!("records {}", path.display());
            return Ok(Source::Replay { name, stream, rate: self.rate });
        }
        if let Some(path) = &self.follow {
            // So that restarts know it again, wherever they are started from.
            let path = path.canonicalize().with_context(|| path.display().to_string())?;
            return Ok(Source::Follow(path));
        }
        if self.stdin {
            return Ok(Source::Stdin);
        }
        let Some(path) = &self.replay else { return Ok(Source::None) };
        let loaded = load_file(path, &Overrides::default())?;
        ensure!(
            !loaded.checked.data.repeat,
            "{}: data.repeat: is for `simulate`; on a network a record is used once",
            path.display()
        );
        ensure!(
            loaded.checked.setup()?.network_id() == setup.network_id(),
            "{}: is an experiment of another network than the agreement",
            path.display()
        );
        let mut streams = stream::load(&loaded.checked, &loaded.folder, 0)?;
        let stream = streams.learners.swap_remove(own.0 as usize);
        Ok(Source::Replay { name: REPLAY.into(), stream, rate: self.rate })
    }
}

impl Source {
    /// Refuses a file that the learner does not know, when it knows others: under another name, or copied, it
    /// may be one of them, and its records would be used twice.
    pub(crate) fn check_known(
        &self,
        positions: &BTreeMap<String, u64>,
        new_source: bool,
    ) -> anyhow::Result<()> {
        let name = match self {
            Source::Replay { name, .. } => name.clone(),
            Source::Follow(path) => source_of(path, &File::open(path)?)?,
            Source::None | Source::Stdin => return Ok(()),
        };
        ensure!(
            new_source || positions.is_empty() || positions.contains_key(&name),
            "this learner has read other files, and not this one (or it was copied or replaced): records that \
             were taken before would be used twice; if none was, give --new-source"
        );
        Ok(())
    }
}

/// Hands the learner its records as fast as it takes them, in a thread of its own.
pub(crate) fn feed(
    source: Source,
    intake: Intake,
    positions: BTreeMap<String, u64>,
    learner: Sender<Event>,
) {
    let refused = |refused: &undertone_node::feed::Refused<'_>| {
        log(&Line::Refused {
            source: refused.source.into(),
            line: refused.line,
            reason: refused.reason.clone(),
        });
    };
    let feeder = Feeder::new(learner, Box::new(refused));
    thread::spawn(move || {
        let (source, ended) = match source {
            Source::None => return,
            Source::Replay { name, mut stream, rate } => {
                let reached = positions.get(&name).copied().unwrap_or(0);
                stream.skip(reached);
                feeder.replay(&name, reached, rate, |count| stream.next(count));
                (name, Ok(()))
            }
            Source::Stdin => {
                ("stdin".to_string(), feeder.lines("stdin", io::stdin().lock(), &intake))
            }
            Source::Follow(path) => {
                (path.display().to_string(), feeder.follow(&path, &intake, &positions))
            }
        };
        log(&Line::SourceEnded { source, error: ended.err().map(|error| error.to_string()) });
    });
}
