//! Pairs of records worth trying: a fixed list, and small changes to a pair.

use super::audited_learner::Facts;
use super::replay::Pair;
use super::scenario::record;
use super::subject::Subject;
use undertone_models::PublicRandom;

/// Components along the first axis, where a saturated loss has its largest gradient.
const ALONG: [f64; 9] = [0.0, 0.15, -0.15, 0.3, -0.3, 0.6, -0.6, 0.9, -0.9];

/// The two records that are tried at one place of a history.
#[derive(Clone)]
pub(super) struct Point {
    directions: [Vec<f64>; 2],
    labels: [f64; 2],
}

impl Point {
    /// The pair at a place; none, where the subject refuses one of the records.
    pub(super) fn pair(&self, facts: &Facts, index: usize, subject: &impl Subject) -> Option<Pair> {
        let norm = facts.model.bounds().feature_norm * (1.0 - 1e-12);
        let one = |side: usize| {
            let entries: Vec<(usize, f64)> =
                self.directions[side].iter().copied().enumerate().collect();
            record(facts, &entries, norm, self.labels[side])
        };
        Pair::new(index, [one(0), one(1)], subject)
    }
}

/// How many pairs [`candidate`] has.
pub(super) fn candidates(facts: &Facts) -> usize {
    let ways = facts.model.spec().features.min(3) - 1;
    8 + ways * ALONG.len() * 4
}

/// One of the pairs of the list. It is computed on request, because directions are long vectors.
pub(super) fn candidate(facts: &Facts, number: usize) -> Point {
    let features = facts.model.spec().features;
    let [low, high] = facts.labels();
    let labels = [[low, low], [high, high], [low, high], [high, low]][number % 4];
    let axis = |index: usize, value: f64| {
        let mut direction = vec![0.0; features];
        direction[index] = value;
        direction
    };
    if number < 4 {
        return Point { directions: [axis(0, 1.0), axis(0, -1.0)], labels };
    }
    if number < 8 {
        return Point { directions: [axis(0, 1.0), axis(0, 1.0)], labels };
    }
    let along = ALONG[(number - 8) / 4 % ALONG.len()];
    let rest = (1.0 - along * along).sqrt();
    // Across the first axis: the last one, or the diagonal of all others.
    let across = if (number - 8) / (4 * ALONG.len()) == 0 {
        axis(features - 1, rest)
    } else {
        let mut diagonal = vec![rest / ((features - 1) as f64).sqrt(); features];
        diagonal[0] = 0.0;
        diagonal
    };
    let mut directions = [across.clone(), across];
    directions[1].iter_mut().for_each(|x| *x = -*x);
    directions.iter_mut().for_each(|direction| direction[0] += along);
    Point { directions, labels }
}

/// A similar pair: one or both records changed slightly, along ±θ, an axis or a random direction.
pub(super) fn moved(
    point: &Point,
    theta: &[f64],
    facts: &Facts,
    reach: f64,
    random: &mut PublicRandom,
) -> Point {
    let mut moved = point.clone();
    let features = facts.model.spec().features;
    let kind = random.next_u64() % 5;
    let sides = random.next_u64() % 3;
    let mut signed = || 2.0 * random.unit() - 1.0;
    let mut way = vec![0.0; features];
    match kind {
        0 if theta.len() == features => {
            let norm = theta.iter().map(|x| x * x).sum::<f64>().sqrt();
            let sign = signed();
            if norm > 0.0 {
                way.iter_mut().zip(theta).for_each(|(slot, x)| *slot = sign * x / norm);
            }
        }
        1 => {
            let index = (random.next_u64() % features as u64) as usize;
            way[index] = 2.0 * random.unit() - 1.0;
        }
        2 => {
            let labels = facts.labels();
            let side = (random.next_u64() % 2) as usize;
            moved.labels[side] = labels[(random.next_u64() % 2) as usize];
        }
        _ => {
            let scale = (3.0 / features as f64).sqrt();
            way.iter_mut().for_each(|slot| *slot = scale * signed());
        }
    }
    for (side, direction) in moved.directions.iter_mut().enumerate() {
        if sides as usize != side {
            direction.iter_mut().zip(&way).for_each(|(slot, x)| *slot += reach * x);
        }
    }
    moved
}
