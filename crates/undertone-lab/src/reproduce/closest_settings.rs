//! The settings that come closest to the iterations in the paper.

use super::Watch;
use super::table1::{PRINTED, Printed, ROUNDS_MAX, Row, Unknowns, table};
use crate::error::ExperimentError;
use serde::Serialize;

/// A setting and its distance from the paper's numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Candidate {
    /// The setting.
    pub unknowns: Unknowns,
    /// The mean over rows of |ln(ours / theirs)|, where ours is the median over seeds.
    pub distance: f64,
    /// Our medians by row; null where more than half of the runs did not converge.
    pub medians: Vec<f64>,
}

/// Every second row of the table: noise ×1, ×2 … ×6.
#[must_use]
pub fn rows() -> Vec<Printed> {
    PRINTED.into_iter().step_by(2).collect()
}

/// All settings to try.
#[must_use]
pub fn grid() -> Vec<Unknowns> {
    let mut all = Vec::new();
    for batch in [1, 2] {
        for ridge in [0.25, 0.3, 0.35] {
            for start_spread in [0.5, 0.7, 1.0] {
                all.push(Unknowns { batch, ridge, start_spread });
            }
        }
    }
    all
}

/// Tries every setting with seeds 1 to `seeds`; the closest is first.
///
/// # Errors
/// When interrupted.
pub fn search(seeds: u64, watch: &Watch<'_>) -> Result<Vec<Candidate>, ExperimentError> {
    let mut found = Vec::new();
    for unknowns in grid() {
        let table = table(&rows(), unknowns, seeds, watch)?;
        let median = |row: &Row| row.iterations.map_or(f64::INFINITY, |of| of.median);
        let medians: Vec<f64> = table.rows.iter().map(median).collect();
        found.push(Candidate { unknowns, distance: distance(&medians), medians });
    }
    found.sort_by(|left, right| left.distance.total_cmp(&right.distance));
    Ok(found)
}

/// A run that did not converge counts as one that converged in the last round: a lower bound.
fn distance(medians: &[f64]) -> f64 {
    let one = |(ours, row): (&f64, Printed)| {
        let ours = ours.clamp(1.0, ROUNDS_MAX as f64);
        (ours / row.iterations as f64).ln().abs()
    };
    medians.iter().zip(rows()).map(one).sum::<f64>() / medians.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_own_numbers_are_at_distance_zero() {
        let own: Vec<f64> = rows().iter().map(|row| row.iterations as f64).collect();
        assert_eq!(distance(&own).to_bits(), 0f64.to_bits());
        let double: Vec<f64> = own.iter().map(|value| 2.0 * value).collect();
        assert!(distance(&double) > 0.5);
    }
}
