//! Reading a learner from its store without running it.

use super::error::OpenError;
use super::node::Node;
use super::settings::Settings;
use crate::store::DiskStore;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use undertone::noise::OsEntropy;
use undertone_models::Setup;

/// A learner in the state of its store. It can be read and never runs: everything that would change a [`Node`] needs
/// mutable access.
pub struct StoredNode(Node<OsEntropy, DiskStore>);

impl Deref for StoredNode {
    type Target = Node<OsEntropy, DiskStore>;

    fn deref(&self) -> &Node<OsEntropy, DiskStore> {
        &self.0
    }
}

impl Node<OsEntropy, DiskStore> {
    /// Reads the store of any learner of this network. The learner must not run.
    ///
    /// # Errors
    /// When the store is in use, or holds anything that no learner of this network has written.
    pub fn inspect(store: &Path, setup: &Arc<Setup>) -> Result<StoredNode, OpenError> {
        let (store, id) = DiskStore::open_any(store, setup)?;
        let node = Node::open(Arc::clone(setup), id, Settings::OF_A_STOPPED_NODE, OsEntropy, store);
        Ok(StoredNode(node?))
    }
}
