//! Sums whose rounding error does not grow with the number of terms.

use undertone_core::persist::{Fields, Persist};

/// A vector of running sums, each with its accumulated rounding error (Knuth's two-sum).
///
/// # Guarantee
/// Up to second order in u = 2⁻⁵³, each sum errs by at most 2u times the sum of the absolute values
/// of its terms, however many there are.
#[derive(Clone)]
pub(crate) struct CompensatedSum {
    sums: Box<[f64]>,
    carries: Box<[f64]>,
}

impl CompensatedSum {
    /// All sums zero.
    pub(crate) fn zero(dimension: usize) -> CompensatedSum {
        let zeros = vec![0.0; dimension].into_boxed_slice();
        CompensatedSum { sums: zeros.clone(), carries: zeros }
    }

    /// Sets every sum to zero.
    pub(crate) fn clear(&mut self) {
        self.sums.fill(0.0);
        self.carries.fill(0.0);
    }

    /// Multiplies every sum by a factor; exact for a power of two.
    pub(crate) fn scale(&mut self, factor: f64) {
        for value in self.sums.iter_mut().chain(&mut self.carries) {
            *value *= factor;
        }
    }

    /// Adds a term to one sum.
    #[inline]
    pub(crate) fn add_at(&mut self, index: usize, term: f64) {
        two_sum(&mut self.sums[index], &mut self.carries[index], term);
    }

    /// Adds a term to every sum.
    #[inline]
    pub(crate) fn add(&mut self, terms: &[f64]) {
        for ((sum, carry), &term) in self.sums.iter_mut().zip(&mut self.carries).zip(terms) {
            two_sum(sum, carry, term);
        }
    }

    /// One sum.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> f64 {
        self.sums[index] + self.carries[index]
    }

    /// Writes `factor` times every sum into `out`.
    #[inline]
    pub(crate) fn write_scaled(&self, factor: f64, out: &mut [f64]) {
        for ((slot, &sum), &carry) in out.iter_mut().zip(&self.sums).zip(&self.carries) {
            *slot = factor * (sum + carry);
        }
    }
}

#[inline]
fn two_sum(sum: &mut f64, carry: &mut f64, term: f64) {
    let total = *sum + term;
    let back = total - *sum;
    *carry += (*sum - (total - back)) + (term - back);
    *sum = total;
}

impl Persist for CompensatedSum {
    fn visit(&mut self, fields: &mut dyn Fields) {
        fields.numbers(&mut self.sums);
        fields.numbers(&mut self.carries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_terms_are_not_lost_behind_a_large_one() {
        let mut sum = CompensatedSum::zero(1);
        let mut naive = 1e16_f64;
        sum.add(&[1e16]);
        for _ in 0..1000 {
            sum.add_at(0, 0.5);
            naive += 0.5;
        }
        sum.add_at(0, -1e16);
        assert!((sum.get(0) - 500.0).abs() < 1e-9);
        assert!((naive - 1e16 - 500.0).abs() > 100.0, "the control, a plain sum, loses them");
    }
}
