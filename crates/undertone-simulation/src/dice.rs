//! What is left to chance in a simulation, except the noise.

use undertone_models::PublicRandom;

/// Numbers that follow from a seed.
#[derive(Clone, Debug)]
pub struct Dice(PublicRandom);

impl Dice {
    /// The numbers that belong to a seed.
    #[must_use]
    pub fn new(seed: u64) -> Dice {
        Dice(PublicRandom::new(seed))
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A whole number below a limit.
    ///
    /// # Panics
    /// When the limit is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit
    }

    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    /// In (0, 1].
    pub fn positive_unit(&mut self) -> f64 {
        // Exact: the result is a multiple of 2⁻⁵³.
        self.unit() + f64::EPSILON / 2.0
    }

    /// A standard normal number, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.positive_unit().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.positive_unit()).cos()
    }

    /// Exponentially distributed, with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.positive_unit().ln()
    }
}
