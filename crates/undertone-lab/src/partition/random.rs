//! Random orders and portions, from uniform 64-bit numbers.

/// A fraction of a count, rounded to the nearest, at most the count.
pub(super) fn portion(count: usize, fraction: f64) -> usize {
    ((count as f64 * fraction).round() as usize).min(count)
}

/// The items in random order (Fisher and Yates).
pub(super) fn shuffled(mut items: Vec<usize>, source: &mut impl FnMut() -> u64) -> Vec<usize> {
    for last in (1..items.len()).rev() {
        let chosen = (u128::from(source()) * (last as u128 + 1)) >> 64;
        items.swap(last, chosen as usize);
    }
    items
}
