//! Noise that can be repeated.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use undertone::noise::{Cipher, Entropy, NoiseError, StreamKey};
use undertone::{LearnerId, Round};

type Draws = BTreeMap<(LearnerId, Round), u64>;

/// Keys that follow from a seed. NOT PRIVATE.
#[derive(Clone, Debug)]
pub struct RepeatableEntropy {
    seed: u64,
    cipher: Cipher,
    /// How often each learner has drawn each round's key; shared by all clones.
    drawn: Option<Rc<RefCell<Draws>>>,
}

impl RepeatableEntropy {
    /// The same key for the same learner and round, however often it is drawn. Fast.
    #[must_use]
    pub fn new(seed: u64) -> RepeatableEntropy {
        RepeatableEntropy { seed, cipher: Cipher::Aes256Ctr, drawn: None }
    }

    /// Another key every time: a learner that draws a round's noise twice sends two different releases.
    #[must_use]
    pub fn counting(seed: u64) -> RepeatableEntropy {
        RepeatableEntropy { seed, cipher: Cipher::ChaCha20, drawn: Some(Rc::default()) }
    }
}

impl Entropy for RepeatableEntropy {
    fn key(&mut self, learner: LearnerId, round: Round) -> Result<StreamKey, NoiseError> {
        let count = self.drawn.as_ref().map_or(0, |drawn| {
            let mut drawn = drawn.borrow_mut();
            let count = drawn.entry((learner, round)).or_default();
            *count += 1;
            *count
        });
        let mut bytes = [0; 32];
        let parts = [self.seed, u64::from(learner.0), round.0, count];
        for (slot, part) in bytes.chunks_exact_mut(8).zip(parts) {
            slot.copy_from_slice(&part.to_le_bytes());
        }
        Ok(StreamKey::new(self.cipher, bytes))
    }
}
