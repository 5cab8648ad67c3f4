//! Choosing test records.

use super::random::{portion, shuffled};

/// Chooses a random share of `count` records for testing; returns training and test indices.
///
/// Both are increasing, so a stream keeps its order.
///
/// # Panics
/// When the fraction is not between 0 and 1.
#[must_use]
pub fn train_test_split(
    count: usize,
    test_fraction: f64,
    shuffle: &mut impl FnMut() -> u64,
) -> (Vec<usize>, Vec<usize>) {
    assert!((0.0..=1.0).contains(&test_fraction), "test fraction must be between 0 and 1");
    let mut train = shuffled((0..count).collect(), shuffle);
    let test_count = portion(count, test_fraction);
    let mut test = train.split_off(count - test_count);
    train.sort_unstable();
    test.sort_unstable();
    (train, test)
}

/// Chooses the last of `count` records for testing; returns training and test indices.
///
/// For records in order of time, where a random choice would test on the past.
///
/// # Panics
/// When the fraction is not between 0 and 1.
#[must_use]
pub fn train_then_test(count: usize, test_fraction: f64) -> (Vec<usize>, Vec<usize>) {
    assert!((0.0..=1.0).contains(&test_fraction), "test fraction must be between 0 and 1");
    let test_from = count - portion(count, test_fraction);
    ((0..test_from).collect(), (test_from..count).collect())
}
