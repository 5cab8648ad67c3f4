//! Losses, accuracies and distances, round by round, in bounded space.

use crate::protocol::RoundEnd;
use serde::Serialize;
use std::collections::VecDeque;
use undertone::Score;
use undertone::noise::NoiseKind;
use undertone::privacy::Cost;

/// How many points are kept. When there are more, every two are joined.
const POINTS_MAX: usize = 512;
/// Loss and accuracy are averages over this many rounds.
const RECENT: usize = 50;

/// Losses, accuracies and distances since the process started. Private.
#[derive(Default)]
pub struct History {
    points: Vec<Point>,
    /// Each point but the last stands for 2^doublings rounds.
    doublings: u32,
    recent: VecDeque<Score>,
}

/// One or more rounds: the values after the last of them.
#[derive(Clone, Copy)]
struct Point {
    rounds: u64,
    last_round: u64,
    loss: Option<f64>,
    accuracy: Option<f64>,
    distance_sum: f64,
    distances: u64,
    spent: Cost,
}

/// The history as series of equal length. Private.
#[derive(Clone, Default, Serialize)]
pub struct Series {
    round: Vec<u64>,
    loss: Vec<Option<f64>>,
    accuracy: Vec<Option<f64>>,
    distance: Vec<Option<f64>>,
    epsilon: Vec<f64>,
}

impl History {
    /// Adds a round that has ended, and what was spent by then.
    pub fn push(&mut self, end: &RoundEnd, spent: Cost) {
        if end.score.records > 0 {
            if self.recent.len() >= RECENT {
                self.recent.pop_front();
            }
            self.recent.push_back(end.score);
        }
        let round = Point {
            rounds: 1,
            last_round: end.report.round.0,
            loss: self.loss(),
            accuracy: self.accuracy(),
            distance_sum: end.distance.unwrap_or(0.0),
            distances: u64::from(end.distance.is_some()),
            spent,
        };
        match self.points.last_mut() {
            Some(last) if last.rounds < 1 << self.doublings => *last = last.joined(&round),
            _ => self.points.push(round),
        }
        if self.points.len() > POINTS_MAX {
            self.points = self
                .points
                .chunks(2)
                .map(|two| two.iter().skip(1).fold(two[0], |sum, one| sum.joined(one)))
                .collect();
            self.doublings += 1;
        }
    }

    /// The mean loss of the records of the last rounds. Each record is scored before it is learnt from.
    #[must_use]
    pub fn loss(&self) -> Option<f64> {
        let score = self.recent_score();
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2⁵³ records")]
        let mean = score.loss_sum / score.records as f64;
        (score.records > 0).then_some(mean)
    }

    /// The share of the records of the last rounds that were classified correctly, before they were learnt from.
    #[must_use]
    pub fn accuracy(&self) -> Option<f64> {
        let score = self.recent_score();
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2⁵³ records")]
        let share = score.correct as f64 / score.records as f64;
        (score.records > 0).then_some(share)
    }

    /// The newest distance to the releases that were heard.
    #[must_use]
    pub fn distance(&self) -> Option<f64> {
        self.points.last().and_then(Point::distance)
    }

    fn recent_score(&self) -> Score {
        self.recent.iter().fold(Score::default(), |sum, one| Score {
            records: sum.records + one.records,
            loss_sum: sum.loss_sum + one.loss_sum,
            correct: sum.correct + one.correct,
        })
    }

    /// All points, with accuracies only for classification, and ε of this kind of noise at this δ.
    ///
    /// ε is computed here and not in every round: that would take longer than a small round.
    #[must_use]
    pub fn series(&self, classes: bool, noise: NoiseKind, delta: f64) -> Series {
        let mut series = Series::default();
        for point in &self.points {
            series.round.push(point.last_round);
            series.loss.push(point.loss);
            series.accuracy.push(point.accuracy.filter(|_| classes));
            series.distance.push(point.distance());
            series.epsilon.push(point.spent.epsilon(noise, delta));
        }
        series
    }
}

impl Point {
    fn joined(&self, later: &Point) -> Point {
        Point {
            rounds: self.rounds + later.rounds,
            last_round: later.last_round,
            loss: later.loss,
            accuracy: later.accuracy,
            distance_sum: self.distance_sum + later.distance_sum,
            distances: self.distances + later.distances,
            spent: later.spent,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "fewer than 2⁵³ rounds")]
    fn distance(&self) -> Option<f64> {
        (self.distances > 0).then(|| self.distance_sum / self.distances as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use undertone::{Round, RoundReport};

    fn end(round: u64, loss: f64) -> RoundEnd {
        RoundEnd {
            report: RoundReport {
                round: Round(round),
                heard: 2,
                missing: 0,
                weight_heard: 0.5,
                records: round,
            },
            score: Score { records: 2, loss_sum: 2.0 * loss, correct: 1 },
            heard: Vec::new(),
            distance: Some(loss),
            late: Vec::new(),
        }
    }

    #[test]
    fn after_many_rounds_points_are_few_and_means_are_right() {
        let mut history = History::default();
        for round in 0..10_000_u32 {
            let spent = Cost { pure: f64::INFINITY, zcdp: f64::from(round) / 10.0 };
            history.push(&end(round.into(), f64::from(round)), spent);
        }
        let series = history.series(true, NoiseKind::Gaussian, 1e-6);
        assert!(series.round.len() > POINTS_MAX / 4 && series.round.len() <= POINTS_MAX);
        assert_eq!(series.round.last(), Some(&9_999));
        assert!(series.round.is_sorted());
        // Points but the last hold 32 rounds each, and losses are means of the last fifty rounds.
        assert_eq!(series.loss[0], Some(15.5));
        assert_eq!(series.loss[9], Some(319.0 - 24.5));
        assert_eq!(series.distance[1], Some(47.5));
        assert_eq!(series.accuracy[3], Some(0.5));
        let last = Cost { pure: f64::INFINITY, zcdp: 999.9 }.epsilon(NoiseKind::Gaussian, 1e-6);
        assert_eq!(series.epsilon.last().map(|x| x.to_bits()), Some(last.to_bits()));
        assert_eq!(history.loss(), Some(9_974.5));
        assert_eq!(history.accuracy(), Some(0.5));
        assert!(
            history.series(false, NoiseKind::Gaussian, 1e-6).accuracy.iter().all(Option::is_none)
        );
    }
}
