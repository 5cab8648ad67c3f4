//! Options about where a learner's records come from, besides HTTP.

use super::replay;
use anyhow::ensure;
use clap::Args;
use std::path::PathBuf;
use undertone::LearnerId;
use undertone_models::Setup;
use undertone_node::daemon::RecordSource;
use undertone_node::owner::REPLAY;

#[derive(Args)]
#[group(skip)]
pub(crate) struct Arguments {
    /// Replay this learner's share of an experiment's data
    #[arg(long, value_name = "EXPERIMENT.toml", conflicts_with_all = ["records", "stdin", "follow"])]
    replay: Option<PathBuf>,
    /// Read this learner's own records from a file (csv, parquet, libsvm or ndjson, columns as in the agreement)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stdin", "follow"])]
    records: Option<PathBuf>,
    /// Read at most this many records a second, with --replay or --records
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<f64>,
    /// Allow a file that this learner has not read before, although it has read others. You confirm that
    /// none of its records was used before
    #[arg(long)]
    pub(crate) new_source: bool,
    /// Read records from standard input, one JSON object a line
    #[arg(long, conflicts_with = "follow")]
    stdin: bool,
    /// Read records from a file that grows, one JSON object a line; a restart continues where reading stopped
    #[arg(long, value_name = "FILE")]
    follow: Option<PathBuf>,
}

impl Arguments {
    /// Reads the file, if there is one, so that what is wrong with it shows before the learner runs.
    pub(crate) fn open(
        &self,
        setup: &Setup,
        own: LearnerId,
    ) -> anyhow::Result<Option<RecordSource>> {
        ensure!(
            self.rate.is_none() || self.replay.is_some() || self.records.is_some(),
            "--rate: only with --replay or --records"
        );
        let source = if let Some(path) = &self.records {
            RecordSource::file(path, undertone_data::load_own(&setup.agreement, path)?)?
        } else if let Some(path) = &self.follow {
            RecordSource::follow(path)?
        } else if self.stdin {
            RecordSource::stdin()
        } else if let Some(path) = &self.replay {
            RecordSource::replay(REPLAY.into(), replay::own_share(path, setup, own)?)
        } else {
            return Ok(None);
        };
        Ok(Some(match self.rate {
            Some(rate) => source.at_rate(rate)?,
            None => source,
        }))
    }
}
