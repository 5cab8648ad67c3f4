//! A small public generator, for the order of records and for starting points. Never used for noise.

/// Numbers that follow from a seed, by splitmix64.
#[derive(Clone, Debug)]
pub struct PublicRandom(u64);

impl PublicRandom {
    /// The numbers that belong to a seed.
    #[must_use]
    pub fn new(seed: u64) -> PublicRandom {
        PublicRandom(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The next number from [0, 1).
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}
