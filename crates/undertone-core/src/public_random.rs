//! A small public generator: for random graphs, the order of records and starting points. Never used for noise.

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

    /// The next whole number below a bound; 0 if the bound is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::PublicRandom;

    /// Graphs, orders and starts follow from these numbers: another generator would change all of them.
    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        // The first outputs of the published reference implementation (Vigna, splitmix64.c) for the seed 0.
        let mut random = PublicRandom::new(0);
        let first = [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f];
        assert_eq!(first.map(|_| random.next_u64()), first);
        assert_ne!(PublicRandom::new(1).next_u64(), first[0]);
    }
}
