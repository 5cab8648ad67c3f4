//! Where learners start: a public point that all learners compute from the network's id.

use crate::wire::Wire;
use sha2::{Digest as _, Sha256};
use undertone::agreement::NetworkId;
use undertone::{Learner, LearnerId};
use undertone_models::{AnyMemory, SetupError};

/// A learner before round 0, at the public start of its network.
///
/// A neural network cannot learn from a start at zero, and all learners must start at the same
/// point. So each learner computes the start from the network's id.
pub(super) fn learner_at_start(
    wire: &Wire,
    id: LearnerId,
) -> Result<Learner<AnyMemory>, SetupError> {
    let (setup, network) = (wire.setup(), wire.network());
    let learner = setup.learner(id)?;
    let (mut common, mut own) =
        (PublicNumbers::new(network, None), PublicNumbers::new(network, Some(id)));
    let start = setup.common_start(|| common.unit());
    Ok(match start.or_else(|| setup.spread_start(|| own.unit())) {
        Some(start) => learner.starting_at(&start),
        None => learner,
    })
}

/// Pseudorandom numbers that anyone can compute. NOT for noise.
struct PublicNumbers {
    network: NetworkId,
    learner: u32,
    drawn: u64,
}

impl PublicNumbers {
    fn new(network: NetworkId, learner: Option<LearnerId>) -> PublicNumbers {
        PublicNumbers { network, learner: learner.map_or(u32::MAX, |id| id.0), drawn: 0 }
    }

    /// The next number, in [0, 1).
    fn unit(&mut self) -> f64 {
        self.drawn += 1;
        let mut hash = Sha256::new();
        hash.update(b"undertone public start");
        hash.update(self.network.bytes());
        hash.update(self.learner.to_le_bytes());
        hash.update(self.drawn.to_le_bytes());
        let digest: [u8; 32] = hash.finalize().into();
        let (first, _) = digest.split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
        #[expect(clippy::cast_precision_loss, reason = "53 bits")]
        let unit = (u64::from_le_bytes(*first) >> 11) as f64 / (1_u64 << 53) as f64;
        unit
    }
}
