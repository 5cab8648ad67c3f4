//! Dealing records by their class, so that a changed record moves nothing but itself.

use super::random::{shuffled, unit};

/// Consecutive records have places that are spread evenly over [0, 1), so that a file sorted by class is dealt
/// nearly exactly in proportion. Sixty divides evenly among two to six learners.
const BLOCK: usize = 60;

/// Deals every record to a learner, given its class and each class's proportions among the learners.
///
/// Every position has a random *place* in [0, 1) and a random rank in the order of arrival, both drawn before any
/// class is looked at. A class cuts [0, 1) into one interval for each learner, as long as its proportion; a
/// record goes to the learner in whose interval its place lies.
///
/// # Guarantee
/// A record's learner follows from its own class and position, and the order of arrival from positions alone: a
/// record that changes moves no other. How much is drawn from the source follows from the number of records.
///
/// Hence shares are proportional up to chance only: with an exact share in every class, one record more or less
/// in it would move others. Of M records of a class, a learner with proportion p holds Mp, with a standard
/// deviation of at most √(Mp(1 − p)), and less where records of the class stand together.
pub(super) fn by_class(
    class_of_each: &[usize],
    proportions: &[Vec<f64>],
    source: &mut impl FnMut() -> u64,
) -> Vec<Vec<usize>> {
    let places = places(class_of_each.len(), source);
    let arrival = shuffled((0..class_of_each.len()).collect(), source);
    let mut shares = vec![Vec::new(); proportions.first().map_or(0, Vec::len)];
    for record in arrival {
        shares[holder(&proportions[class_of_each[record]], places[record])].push(record);
    }
    shares
}

/// A place in [0, 1) for every position: in each block of positions one in every interval of equal length.
fn places(count: usize, source: &mut impl FnMut() -> u64) -> Vec<f64> {
    let mut places = Vec::with_capacity(count);
    while places.len() < count {
        let size = BLOCK.min(count - places.len());
        let ranks = shuffled((0..size).collect(), source);
        let offset = unit(source);
        places.extend(ranks.into_iter().map(|rank| (rank as f64 + offset) / size as f64));
    }
    places
}

/// The learner in whose interval a place lies. A proportion of 0 is never chosen.
fn holder(proportions: &[f64], place: f64) -> usize {
    let mut end = 0.0;
    for (learner, proportion) in proportions.iter().enumerate() {
        end += proportion;
        if place < end {
            return learner;
        }
    }
    // The proportions add up to 1 less a rounding error, and the place lies in that.
    proportions.iter().rposition(|&proportion| proportion > 0.0).unwrap_or(0)
}
