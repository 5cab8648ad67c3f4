//! The id of a network.

use sha2::{Digest as _, Sha256};
use std::fmt;
use undertone::privacy::genesis;
use undertone_models::Setup;

/// Identifies a network: a hash of the public facts that its learners share.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct NetworkId([u8; 16]);

impl NetworkId {
    /// The id of the network that a setup describes.
    ///
    /// Learners whose configs differ in anything that matters to the others have different ids, and reject each
    /// other's messages.
    #[must_use]
    pub fn of(setup: &Setup) -> NetworkId {
        let config = &setup.config;
        let mut hash = Sha256::new();
        hash.update(b"undertone network 1");
        hash.update((config.name.len() as u64).to_le_bytes());
        hash.update(config.name.as_bytes());
        for (id, mechanism) in config.graph.ids().zip(&setup.mechanisms) {
            hash.update(genesis(id, mechanism).bytes());
            for (neighbour, weight) in config.graph.neighbours(id) {
                hash.update(neighbour.0.to_le_bytes());
                hash.update(weight.to_bits().to_le_bytes());
            }
        }
        let data = &config.data;
        hash.update(format!("{:?} {:?} {:?}", config.domain, config.model, config.network));
        hash.update(format!("{:?} {:?} {:?}", config.memory, config.bounds, config.start_spread));
        let columns = (&data.classes, data.intercept, data.centre, data.normalise);
        hash.update(format!("{columns:?}"));
        let digest: [u8; 32] = hash.finalize().into();
        let mut id = [0; 16];
        id.copy_from_slice(&digest[..16]);
        NetworkId(id)
    }

    pub(crate) fn from_bytes(bytes: [u8; 16]) -> NetworkId {
        NetworkId(bytes)
    }

    /// The sixteen bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; 16] {
        self.0
    }
}

impl fmt::Display for NetworkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for NetworkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NetworkId({self})")
    }
}
