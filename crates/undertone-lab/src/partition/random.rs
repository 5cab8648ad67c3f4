//! Random orders, portions and numbers, from uniform 64-bit numbers.

/// A fraction of a count, rounded to the nearest, at most the count.
pub(super) fn portion(count: usize, fraction: f64) -> usize {
    ((count as f64 * fraction).round() as usize).min(count)
}

/// The items in random order (Fisher and Yates). How much is drawn follows from their number alone.
pub(super) fn shuffled(mut items: Vec<usize>, source: &mut impl FnMut() -> u64) -> Vec<usize> {
    for last in (1..items.len()).rev() {
        let chosen = (u128::from(source()) * (last as u128 + 1)) >> 64;
        items.swap(last, chosen as usize);
    }
    items
}

/// A uniform number from [0, 1).
pub(super) fn unit(source: &mut impl FnMut() -> u64) -> f64 {
    (source() >> 11) as f64 / (1_u64 << 53) as f64
}
