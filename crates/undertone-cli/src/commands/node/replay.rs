//! `--replay`: a learner's share of the data of an experiment, for trials.
//!
//! The one part of `undertone node` that knows the laboratory. It gives records and nothing else.

use anyhow::ensure;
use std::path::Path;
use undertone::LearnerId;
use undertone_lab::experiment::{Overrides, load_file};
use undertone_lab::stream;
use undertone_models::{BoundedRecord, Setup};

/// The records that the experiment deals out to a learner. Its agreement must be the network's.
pub(super) fn own_share(
    path: &Path,
    setup: &Setup,
    own: LearnerId,
) -> anyhow::Result<Vec<BoundedRecord>> {
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
    let mut streams = stream::load(&loaded.checked, &loaded.folder, 0)?.learners;
    let place = own.0 as usize;
    ensure!(place < streams.len(), "the experiment has no learner {own}");
    Ok(streams.swap_remove(place).into_records())
}
