//! The logistic loss by a polynomial fit of its link function, computed from moments.

use super::link_fit::LinkFit;
use super::{add_ridge, constant, inverse_count, observe_batch, unsupported_loss};
use crate::compensated::CompensatedSum;
use crate::monomials::{monomial_count, next_monomial, visit_monomials};
use crate::packed_symmetric::PackedSymmetric;
use crate::{BoundedRecord, Model, SetupError};
use std::fmt;
use std::sync::Arc;
use undertone_core::persist::{Fields, Persist};
use undertone_core::{Forgetting, Loss, Memory, PowerLaw, Round, Score};

/// The largest number of moments one memory stores: 1.6 MB.
const MOMENTS_MAX: usize = 200_000;

/// The logistic gradient with σ(z) − ½ replaced by an odd polynomial: c₁·mean(aaᵀ)θ + c₃·mean(a(a·θ)³) + … −
/// ½·mean(ya) + rθ, from moments only.
///
/// No record is kept. But the error does not shrink with time, and is large unless R = feature norm × radius is small;
/// [`super::Anchored`] is nearly always better.
///
/// DIFFERENCE: the fit is the minimax one (Remez), not a truncated Chebyshev series, so its error is the smallest
/// any polynomial of that degree has.
#[derive(Clone)]
pub struct Polynomial {
    model: Arc<Model>,
    records: u64,
    fit: LinkFit,
    /// Σya.
    first: CompensatedSum,
    /// Σaaᵀ.
    second: PackedSymmetric,
    /// Sums of all monomials of degree 4, then 6.
    higher: Vec<Tensor>,
}

/// The sums of all monomials of one degree: the distinct entries of a symmetric tensor.
#[derive(Clone)]
struct Tensor {
    degree: usize,
    sums: Box<[f64]>,
}

impl Polynomial {
    /// An empty memory with a fitted loss of degree 2, 4 or 6.
    ///
    /// # Errors
    /// For any loss but the logistic one, other degrees, or too many moments.
    pub fn new(model: Arc<Model>, degree: u32) -> Result<Polynomial, SetupError> {
        let fit = check_model(&model, degree)?;
        let n = model.parameters();
        let mut higher = Vec::new();
        for degree in (4..=degree).step_by(2) {
            let count = monomial_count(n, degree).unwrap_or(MOMENTS_MAX);
            let sums = vec![0.0; count].into_boxed_slice();
            higher.push(Tensor { degree: degree as usize, sums });
        }
        let (first, second) = (CompensatedSum::zero(n), PackedSymmetric::zero(n));
        Ok(Polynomial { model, records: 0, fit, first, second, higher })
    }
}

/// Checks that the model is supported, and fits the link function.
pub(super) fn check_model(model: &Model, degree: u32) -> Result<LinkFit, SetupError> {
    super::check_unclipped("polynomial", model)?;
    match model.spec().loss {
        Loss::Logistic => {}
        loss @ Loss::Squared => return Err(unsupported_loss("polynomial", loss, "moments")),
        loss @ Loss::Power { .. } => {
            return Err(unsupported_loss("polynomial", loss, "anchored or exact"));
        }
        loss @ (Loss::Huber { .. }
        | Loss::Softmax { .. }
        | Loss::Neural { .. }
        | Loss::Declared { .. }) => {
            return Err(unsupported_loss("polynomial", loss, "exact"));
        }
    }
    if !matches!(degree, 2 | 4 | 6) {
        return Err(SetupError::Degree { degree });
    }
    let parameters = model.parameters();
    let mut moments = Some(parameters);
    for degree in (2..=degree).step_by(2) {
        moments = moments.and_then(|sum| sum.checked_add(monomial_count(parameters, degree)?));
    }
    if moments.is_none_or(|count| count > MOMENTS_MAX) {
        return Err(SetupError::TooManyMoments { degree, parameters, limit: MOMENTS_MAX });
    }
    let range = model.expanded_norm() * model.bounds().radius;
    Ok(LinkFit::new(degree as usize / 2, range))
}

/// e_M·max‖a‖, rounded up: each record's derivative has an error of at most e_M along its features.
pub(super) fn error_bound(model: &Model, fit: &LinkFit) -> f64 {
    fit.error_max * model.expanded_norm() * (1.0 + 1e-9)
}

impl Tensor {
    fn add(&mut self, entries: &[(usize, f64)]) {
        let degree = u32::try_from(self.degree).expect("4 or 6");
        visit_monomials(entries, degree, &mut |number, value| self.sums[number] += value);
    }

    /// Adds `factor`·Σ a(a·θ)^(k−1) to `out`: the gradient of Σ(a·θ)^k/k, monomial by monomial.
    fn add_gradient(&self, factor: f64, theta: &[f64], out: &mut [f64]) {
        let mut indices = vec![0; self.degree];
        let mut prefix_products = vec![1.0; self.degree + 1];
        for &sum in &self.sums {
            if sum != 0.0 {
                // Each position contributes the product over all others, so x^j counts j times.
                for (k, &i) in indices.iter().enumerate() {
                    prefix_products[k + 1] = prefix_products[k] * theta[i];
                }
                let mut suffix_product = factor * sum * arrangements(&indices) / self.degree_f64();
                for (k, &i) in indices.iter().enumerate().rev() {
                    out[i] += prefix_products[k] * suffix_product;
                    suffix_product *= theta[i];
                }
            }
            next_monomial(&mut indices, theta.len());
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "4 or 6")]
    fn degree_f64(&self) -> f64 {
        self.degree as f64
    }
}

/// The number of distinct orders of a monomial's indices: k!/Π(multiplicities!).
fn arrangements(indices: &[usize]) -> f64 {
    let (mut result, mut run) = (1.0, 0.0);
    let mut length = 0.0;
    for (position, index) in indices.iter().enumerate() {
        let repeats = position > 0 && indices[position - 1] == *index;
        run = if repeats { run + 1.0 } else { 1.0 };
        length += 1.0;
        result *= length / run;
    }
    result
}

impl Memory for Polynomial {
    type Record = BoundedRecord;

    fn observe(&mut self, theta: &[f64], batch: &[BoundedRecord]) -> Score {
        let Polynomial { model, records, first, second, higher, .. } = self;
        observe_batch(model, theta, batch, |row, label| {
            let sign = 2.0 * label - 1.0;
            second.add_outer(1.0, row);
            for (index, value) in row.entries() {
                first.add_at(index, sign * value);
            }
            if !higher.is_empty() {
                let entries: Vec<(usize, f64)> = row.nonzeros().collect();
                higher.iter_mut().for_each(|tensor| tensor.add(&entries));
            }
            *records += 1;
        })
    }

    fn gradient(&mut self, _round: Round, theta: &[f64], out: &mut [f64]) {
        if self.records == 0 {
            return out.fill(0.0);
        }
        self.second.multiply_into(theta, out);
        let weight = inverse_count(self.records);
        for (index, slot) in out.iter_mut().enumerate() {
            *slot = weight * (self.fit.coefficients[0] * *slot - 0.5 * self.first.get(index));
        }
        for (tensor, &coefficient) in self.higher.iter().zip(&self.fit.coefficients[1..]) {
            tensor.add_gradient(weight * coefficient, theta, out);
        }
        add_ridge(&self.model, theta, out);
    }

    fn records(&self) -> u64 {
        self.records
    }

    fn forgetting(&self) -> Forgetting {
        Forgetting::Never
    }

    /// e_M·max‖a‖, the same in every round.
    fn error_bound(&self) -> PowerLaw {
        constant(error_bound(&self.model, &self.fit))
    }
}

/// Prints the shape only: moments are private.
impl fmt::Debug for Polynomial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, degree) = (self.model.parameters(), 2 * self.fit.coefficients.len());
        let records = self.records;
        write!(
            formatter,
            "Polynomial(parameters={n}, degree={degree}, records={records}, <redacted>)"
        )
    }
}

impl Persist for Polynomial {
    fn visit(&mut self, fields: &mut dyn Fields) {
        fields.count(&mut self.records);
        self.first.visit(fields);
        self.second.visit(fields);
        for tensor in &mut self.higher {
            fields.numbers(&mut tensor.sums);
        }
    }
}
