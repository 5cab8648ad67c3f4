//! Where learners start: a public point that all learners compute from the network's id.

use crate::wire::Wire;
use sha2::{Digest as _, Sha256};
use std::convert::Infallible;
use undertone::agreement::NetworkId;
use undertone::{Learner, LearnerId};
use undertone_models::{AnyMemory, AnyModel, MemoryError};

/// A learner before round 0, at the public start of its network.
///
/// A neural network cannot learn from a start at zero, and all learners must start at the same
/// point. So each learner computes the start from the network's id.
pub(super) fn learner_at_start(
    wire: &Wire,
    id: LearnerId,
) -> Result<Learner<AnyMemory>, MemoryError> {
    let (setup, network) = (wire.setup(), wire.network());
    let learner = setup.learner(id)?;
    Ok(match &setup.model {
        AnyModel::Neural(model) => {
            let mut numbers = PublicNumbers::new(network, None);
            let start = model.neural().initial_parameters(|| Ok::<_, Infallible>(numbers.unit()));
            start.map_or_else(|never| match never {}, |start| learner.starting_at(&start))
        }
        AnyModel::Linear(_) if setup.agreement.start_spread > 0.0 => {
            let mut numbers = PublicNumbers::new(network, Some(id));
            let spread = setup.agreement.start_spread;
            let start: Vec<f64> = (0..setup.model.parameters())
                .map(|_| spread * (2.0 * numbers.unit() - 1.0))
                .collect();
            learner.starting_at(&start)
        }
        AnyModel::Linear(_) => learner,
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
