//! How far a learner is from the releases it has heard.

/// The root mean square distance from a point to others; nothing if there are none.
pub(super) fn root_mean_square<'a>(
    point: &[f64],
    others: impl ExactSizeIterator<Item = &'a [f64]>,
) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a learner has few neighbours")]
    let count = others.len() as f64;
    let squares = others.map(|other| squared_distance(point, other));
    (count > 0.0).then(|| (squares.sum::<f64>() / count).sqrt())
}

/// Summed in eight independent lanes, so that additions do not wait for each other.
fn squared_distance(one: &[f64], other: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (ones, one_rest) = one.as_chunks::<8>();
    let (others, other_rest) = other.as_chunks::<8>();
    for (one, other) in ones.iter().zip(others) {
        for ((lane, one), other) in lanes.iter_mut().zip(one).zip(other) {
            *lane += (one - other) * (one - other);
        }
    }
    let rest = one_rest.iter().zip(other_rest).map(|(one, other)| (one - other).powi(2));
    lanes.iter().sum::<f64>() + rest.sum::<f64>()
}
