//! Polynomial losses of one parameter, or of records that touch one parameter each.
//!
//! DIFFERENCE: the paper's Eqs. (Cp1)-(Cp3) interpolate the history gradient through its values at earlier
//! iterates and divide by θ_{t−1} − θ_{t−2}, which loses all digits as steps shrink. Here the same polynomial
//! is stored by its values at q fixed Chebyshev nodes on [−B, B], and evaluated by the barycentric formula.

use super::{constant, inverse_count, observe_batch, unsupported_loss, write_shape};
use crate::compensated::CompensatedSum;
use crate::{BoundedRecord, Model, SetupError};
use std::f64::consts::PI;
use std::fmt;
use std::sync::Arc;
use undertone_core::persist::{Fields, Persist};
use undertone_core::{Forgetting, Loss, Memory, PowerLaw, Round, Score};

/// The gradient of a separable polynomial loss of degree q at the cost O(n·q).
///
/// # Source
/// Chen & Wang, Eq. (Cp1) and its Lagrange form; the barycentric formula as in Higham (2004).
#[derive(Clone)]
pub struct Recursive {
    model: Arc<Model>,
    records: u64,
    nodes: Box<[f64]>,
    weights: Box<[f64]>,
    /// The summed derivative at each node, coordinate after coordinate.
    sums: CompensatedSum,
}

impl Recursive {
    /// An empty memory.
    ///
    /// # Errors
    /// For losses that are not polynomial, and for expanded features.
    pub fn new(model: Arc<Model>) -> Result<Recursive, SetupError> {
        let count = node_count(&model)?;
        let radius = model.bounds().radius;
        let nodes: Box<[f64]> = (0..count)
            .map(|k| radius * (PI * f64::from(2 * k + 1) / f64::from(2 * count)).cos())
            .collect();
        // Computed from the rounded nodes, so that the interpolation through them is exact.
        let weights = nodes
            .iter()
            .enumerate()
            .map(|(k, x)| {
                let others = nodes.iter().enumerate().filter(|&(j, _)| j != k);
                1.0 / others.map(|(_, y)| 2.0 * (x - y) / radius).product::<f64>()
            })
            .collect();
        let sums = CompensatedSum::zero(nodes.len() * model.parameters());
        Ok(Recursive { model, records: 0, nodes, weights, sums })
    }

    /// The interpolated sum of coordinate `index` at x.
    fn interpolate(&self, index: usize, x: f64) -> f64 {
        let (mut numerator, mut denominator) = (0.0, 0.0);
        for (k, (&node, &weight)) in self.nodes.iter().zip(&self.weights).enumerate() {
            let value = self.sums.get(index * self.nodes.len() + k);
            let distance = x - node;
            if distance == 0.0 {
                return value;
            }
            let share = weight / distance;
            numerator += share * value;
            denominator += share;
        }
        numerator / denominator
    }
}

/// The degree of the loss, which is the number of nodes its derivative needs.
pub(super) fn node_count(model: &Model) -> Result<u32, SetupError> {
    super::check_unclipped("recursive", model)?;
    let degree = model.spec().degree;
    match model.spec().loss {
        Loss::Squared | Loss::Power { .. } if degree > 1 => Err(SetupError::Expanded { degree }),
        Loss::Squared => Ok(2),
        Loss::Power { degree } => Ok(degree),
        loss @ Loss::Logistic => {
            Err(unsupported_loss("recursive", loss, "anchored, polynomial or exact"))
        }
        loss @ (Loss::Huber { .. }
        | Loss::Softmax { .. }
        | Loss::Neural { .. }
        | Loss::Declared { .. }) => Err(unsupported_loss("recursive", loss, "exact")),
    }
}

/// A bound on the rounding of the interpolated gradient: Lebesgue constant × G × a number of roundings.
///
/// A record's derivative at a node errs by 3q + 2 roundings of G (residual, power, product), the compensated sum
/// by 2, the barycentric formula by 6q + 6 times the Lebesgue constant 1 + (2/π)ln(q + 1) of Chebyshev
/// nodes (Higham 2004), its weights by 3q. 32(q + 1) is more than twice the sum. A coordinate errs in
/// proportion to its share of the records, and the shares sum to one, so no √n arises.
pub(super) fn rounding_bound(model: &Model, nodes: u32) -> f64 {
    let count = f64::from(nodes) + 1.0;
    let lebesgue = 1.0 + 2.0 / PI * count.ln();
    f64::EPSILON / 2.0 * 32.0 * count * lebesgue * model.constants().gradient_norm
}

impl Memory for Recursive {
    type Record = BoundedRecord;

    fn observe(&mut self, theta: &[f64], batch: &[BoundedRecord]) -> Score {
        let separable = batch.iter().all(BoundedRecord::is_separable);
        assert!(separable, "a record is observed by a memory that it was checked for");
        let Recursive { model, records, nodes, sums, .. } = self;
        let loss = model.scalar_loss();
        observe_batch(model, theta, batch, |row, label| {
            if let (Some((index, value)), Some(loss)) = (row.nonzeros().next(), loss) {
                for (k, &node) in nodes.iter().enumerate() {
                    let derivative = value * loss.first_derivative(value * node, label);
                    sums.add_at(index * nodes.len() + k, derivative);
                }
            }
            *records += 1;
        })
    }

    fn gradient(&mut self, _round: Round, theta: &[f64], out: &mut [f64]) {
        let n = self.model.parameters();
        assert!(theta.len() == n && out.len() == n, "one entry for each parameter");
        if self.records == 0 {
            return out.fill(0.0);
        }
        let (weight, ridge) = (inverse_count(self.records), self.model.spec().ridge);
        for (index, (slot, &x)) in out.iter_mut().zip(theta).enumerate() {
            *slot = weight * self.interpolate(index, x) + ridge * x;
        }
    }

    fn records(&self) -> u64 {
        self.records
    }

    fn forgetting(&self) -> Forgetting {
        Forgetting::Never
    }

    /// The bound on rounding, the same in every round.
    fn error_bound(&self) -> PowerLaw {
        let nodes =
            u32::try_from(self.nodes.len()).expect("the number of nodes is the degree of the loss");
        constant(rounding_bound(&self.model, nodes))
    }
}

/// Prints the shape only: sums are private.
impl fmt::Debug for Recursive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_shape(formatter, "Recursive", &self.model, self.records)
    }
}

impl Persist for Recursive {
    fn visit(&mut self, fields: &mut dyn Fields) {
        fields.count(&mut self.records);
        self.sums.visit(fields);
    }
}
