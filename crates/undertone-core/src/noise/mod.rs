//! Noise: exact, constant-time, fast.
//!
//! [`perturb`] adds Laplace or Gaussian noise to a vector and rounds the sum to a public [`Grid`].
//! The result has exactly the distribution of round(θ + ρ·X) for an ideal real X, so rounding
//! is post-processing and the privacy loss is that of the textbook mechanism, with no δ and no term
//! for rounding. Textbook f64 noise has no such guarantee: the set of possible sums
//! depends on θ and reveals it.
//!
//! Reading order: [`perturb`] (the loop over blocks), `kernel` (one lane of the fast path and when it
//! may be trusted), `laplace` and `gaussian` (the inverse distribution functions), `exact` (the
//! slow path), `bounds` (the integer arithmetic below it), then [`Grid`] and [`Entropy`].
//! The decision and its measurements are in `docs/adr/0003-sampler-and-grid.md`.

mod bounds;
mod entropy;
mod exact;
mod gaussian;
mod grid;
mod kernel;
mod keystream;
mod laplace;
mod perturb;
#[cfg(test)]
mod tests;

pub use entropy::{Cipher, Entropy, OsEntropy, StreamKey};
pub use grid::Grid;
pub use perturb::{NoiseError, NoiseKind, Perturbation, perturb};
