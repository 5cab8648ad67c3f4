//! noise
use serde::{Deserialize, Serialize};
/// kinds
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseKind {
    /// Laplace
    Laplace,
    /// Gaussian
    Gaussian,
}
