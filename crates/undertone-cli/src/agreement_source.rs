//! Loads the agreement of a network.

use anyhow::Context;
use std::path::Path;
use std::sync::Arc;
use undertone::agreement::RawAgreement;
use undertone::load::{Loaded, Source, Strictness, load};
use undertone_models::Setup;

/// Reads the agreement of a network, and computes what follows from it.
pub(crate) fn load_agreement(path: &Path) -> anyhow::Result<Arc<Setup>> {
    let source = Source::File(path.into());
    let loaded: Loaded<RawAgreement> = load(&source, |_| (), Strictness::Run)?;
    let setup = Setup::new(loaded.checked).with_context(|| path.display().to_string())?;
    Ok(Arc::new(setup))
}
