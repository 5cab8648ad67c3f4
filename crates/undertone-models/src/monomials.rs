//! Monomials of one degree in several variables, numbered without a table.
//!
//! A monomial x_{i1}·…·x_{ik} with i1 ≤ … ≤ ik has number Σ_j C(i_j + j − 1, j) (j from 1) among those of its
//! degree: colexicographic order. For degree 2 this is the packed lower triangle.

/// C(n, k), or `None` if it exceeds u64.
fn binomial(n: u64, k: u64) -> Option<u64> {
    let mut result: u128 = 1;
    for j in 1..=u128::from(k) {
        result = result.checked_mul(u128::from(n).checked_sub(u128::from(k) - j)?)? / j;
        if result > u128::from(u64::MAX) {
            return None;
        }
    }
    u64::try_from(result).ok()
}

/// The number of monomials of exactly this degree.
pub(crate) fn monomial_count(variables: usize, degree: u32) -> Option<usize> {
    binomial(variables as u64 + u64::from(degree) - 1, u64::from(degree))
        .and_then(|count| usize::try_from(count).ok())
}

/// Calls `visit(number, value)` for each monomial of exactly this degree in the given entries, by
/// increasing number. Entries must have increasing indices; those left out count as zero.
pub(crate) fn visit_monomials(
    entries: &[(usize, f64)],
    degree: u32,
    visit: &mut impl FnMut(usize, f64),
) {
    visit_below(entries, degree, 0, 1.0, visit);
}

fn visit_below(
    entries: &[(usize, f64)],
    degree: u32,
    number: usize,
    value: f64,
    visit: &mut impl FnMut(usize, f64),
) {
    if degree == 0 {
        visit(number, value);
        return;
    }
    for (position, &(index, factor)) in entries.iter().enumerate() {
        let rank = rank_of_last(index, degree);
        visit_below(&entries[..=position], degree - 1, number + rank, value * factor, visit);
    }
}

/// C(index + degree − 1, degree): how many monomials of this degree use only smaller indices.
#[inline]
fn rank_of_last(index: usize, degree: u32) -> usize {
    // Models and memories refuse dimensions whose monomials do not fit, so nothing overflows here.
    let mut result = 1;
    for j in 1..=degree as usize {
        result = result * (index + j - 1) / j;
    }
    result
}

/// Steps `indices` to the next monomial of its degree; false after the last one.
pub(crate) fn next_monomial(indices: &mut [usize], variables: usize) -> bool {
    for position in 0..indices.len() {
        let limit = indices.get(position + 1).copied().unwrap_or(variables - 1);
        if indices[position] < limit {
            indices[position] += 1;
            indices[..position].fill(0);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_run_through_every_monomial_once_in_the_order_of_the_iterator() {
        for (variables, degree) in [(1, 6), (2, 3), (4, 2), (5, 4), (3, 6)] {
            let entries: Vec<(usize, f64)> =
                (0..variables).map(|i| (i, [2.0, 3.0, 5.0, 7.0, 11.0][i])).collect();
            let mut indices = vec![0; degree];
            let mut expected = 0;
            visit_monomials(&entries, degree as u32, &mut |number, value| {
                assert_eq!(number, expected);
                let product: f64 = indices.iter().map(|&i| entries[i].1).product();
                assert!((value - product).abs() < 1e-9 * product);
                expected += 1;
                next_monomial(&mut indices, variables);
            });
            assert_eq!(Some(expected), monomial_count(variables, degree as u32));
        }
    }

    #[test]
    fn binomials_that_do_not_fit_are_refused() {
        assert_eq!(binomial(5, 2), Some(10));
        assert_eq!(binomial(2, 3), Some(0));
        assert_eq!(binomial(10_000, 100), None);
    }
}
