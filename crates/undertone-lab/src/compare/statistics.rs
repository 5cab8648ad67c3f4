//! Statistics over runs: one entry for each method at each budget.

use super::Measurement;
use super::settings::ComparedMethod;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean over seeds with its 95 % confidence interval (Student's t).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// The lower end of the interval; the mean itself if there is only one run.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Estimate {
    /// From one value for each seed; `None` without values.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Estimate> {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        if values.is_empty() || !mean.is_finite() {
            return None;
        }
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let half = match StudentsT::new(0.0, 1.0, count - 1.0) {
            Ok(law) if values.len() > 1 => {
                law.inverse_cdf(0.975) * (squares / (count - 1.0) / count).sqrt()
            }
            _ => 0.0,
        };
        Some(Estimate { mean, low: mean - half, high: mean + half })
    }

    /// As text, with half the width of the interval.
    #[must_use]
    pub fn shown(self, digits: usize) -> String {
        let Estimate { mean, low, high } = self;
        // A single run has no interval.
        if high > low {
            format!("{mean:.digits$} ± {:.digits$}", 0.5 * (high - low))
        } else {
            format!("{mean:.digits$}")
        }
    }
}

/// One method at one budget.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Which method.
    pub method: ComparedMethod,
    /// The target; `None` without privacy.
    pub epsilon: Option<f64>,
    /// How many runs.
    pub runs: usize,
    /// Test accuracy of the public model, or of the learners' own parameters if nothing is published.
    pub accuracy: Option<Estimate>,
    /// Mean test accuracy of the learners' own parameters.
    pub accuracy_own: Option<Estimate>,
    /// Excess loss in the last round.
    pub regret: Option<Estimate>,
    /// The same, averaged over rounds.
    pub regret_mean: Option<Estimate>,
    /// The largest lifetime ε of any run.
    pub certified_epsilon: Option<f64>,
    /// Seconds per round of all learners.
    pub seconds_per_round: Option<Estimate>,
    /// Bytes that a learner sends per round.
    pub bytes_per_round: f64,
}

/// One entry for each method and budget with runs, sorted by method and then by budget, no privacy last.
#[must_use]
pub fn entries(runs: &[Measurement]) -> Vec<Entry> {
    let mut keys: Vec<(ComparedMethod, Option<f64>)> = Vec::new();
    for run in runs {
        if !keys.contains(&(run.method, run.epsilon)) {
            keys.push((run.method, run.epsilon));
        }
    }
    let budget = |epsilon: Option<f64>| epsilon.unwrap_or(f64::INFINITY);
    keys.sort_by(|left, right| {
        left.0.cmp(&right.0).then(budget(left.1).total_cmp(&budget(right.1)))
    });
    keys.into_iter().map(|(method, epsilon)| entry(runs, method, epsilon)).collect()
}

/// The accuracy of the centralised optimum, over all seeds.
#[must_use]
pub fn central(runs: &[Measurement]) -> Option<Estimate> {
    let mut seeds: Vec<(u64, f64)> = Vec::new();
    for run in runs {
        let known = seeds.iter().any(|&(seed, _)| seed == run.seed);
        if let Some(accuracy) = run.accuracy_central.filter(|_| !known) {
            seeds.push((run.seed, accuracy));
        }
    }
    Estimate::of(&seeds.into_iter().map(|(_, accuracy)| accuracy).collect::<Vec<f64>>())
}

fn entry(runs: &[Measurement], method: ComparedMethod, epsilon: Option<f64>) -> Entry {
    let own = || runs.iter().filter(|run| run.method == method && run.epsilon == epsilon);
    let estimate = |value: fn(&Measurement) -> Option<f64>| {
        Estimate::of(&own().filter_map(value).collect::<Vec<f64>>())
    };
    Entry {
        method,
        epsilon,
        runs: own().count(),
        accuracy: estimate(|run| run.accuracy_public.or(run.accuracy_own)),
        accuracy_own: estimate(|run| run.accuracy_own),
        regret: estimate(|run| Some(run.regret)),
        regret_mean: estimate(|run| Some(run.regret_mean)),
        certified_epsilon: own().filter_map(|run| run.certified_epsilon).reduce(f64::max),
        seconds_per_round: estimate(|run| Some(run.seconds_per_round)),
        bytes_per_round: own().map(|run| run.bytes_per_round).fold(0.0, f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_textbook() {
        // Mean 2, deviation 1, n = 3: half width 4.302653 / √3.
        let found = Estimate::of(&[1.0, 2.0, 3.0]).unwrap();
        assert!((found.mean - 2.0).abs() < 1e-12);
        assert!((found.high - 2.0 - 4.302_652_729_911_275 / 3f64.sqrt()).abs() < 1e-6);
        assert_eq!(Estimate::of(&[0.5]), Some(Estimate { mean: 0.5, low: 0.5, high: 0.5 }));
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[f64::NAN, 1.0]), None);
    }
}
