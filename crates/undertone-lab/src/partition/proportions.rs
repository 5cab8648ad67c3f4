//! How each class is shared out among the learners: public, and the same whatever the records are.

/// One learner, or a group of neighbours in number, for each class; the classes wrap around when there are more
/// of them than learners.
pub(super) fn by_class(classes: usize, learners: usize) -> Vec<Vec<f64>> {
    let group = |class: usize| {
        if classes > learners {
            return class % learners..class % learners + 1;
        }
        let (size, larger) = (learners / classes, learners % classes);
        let first = class * size + class.min(larger);
        first..first + size + usize::from(class < larger)
    };
    let of_class = |class| {
        let group = group(class);
        let each = 1.0 / group.len() as f64;
        (0..learners).map(|learner| if group.contains(&learner) { each } else { 0.0 }).collect()
    };
    (0..classes).map(of_class).collect()
}

/// A share of class i to learner i, counted around, and the rest evenly to the others.
pub(super) fn own_class(classes: usize, learners: usize, share: f64) -> Vec<Vec<f64>> {
    let (own, other) = match learners {
        1 => (1.0, 0.0),
        _ => (share, (1.0 - share) / (learners - 1) as f64),
    };
    let of_class = |class: usize| {
        let owner = class % learners;
        (0..learners).map(|learner| if learner == owner { own } else { other }).collect()
    };
    (0..classes).map(of_class).collect()
}
