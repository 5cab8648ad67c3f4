//! The columns of a run: one table of what is known about each measured round.
//!
//! `rounds.csv`, the charts of the report and Python's data frame all follow it.

use crate::simulate::RoundRow;

/// A column of a run.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name. In `rounds.csv` a column with a value for each learner becomes one column for each, and the
    /// learner's number follows the name.
    pub name: &'static str,
    /// What it holds.
    pub description: &'static str,
    /// Its values.
    pub values: Values,
}

/// How to get the value of a column from a row.
#[derive(Clone, Copy, Debug)]
pub enum Values {
    /// A count.
    Count(fn(&RoundRow) -> u64),
    /// A measurement; `None` or not a number where there is none.
    Number(fn(&RoundRow) -> Option<f64>),
    /// One number for each learner.
    PerLearner(fn(&RoundRow) -> &[f64]),
}

/// All columns, in the order of `rounds.csv`.
pub const COLUMNS: [Column; 18] = [
    ROUND,
    RECORDS,
    PREQUENTIAL_LOSS,
    PREQUENTIAL_ACCURACY,
    TRACKING_ERROR,
    TRACKING_DISTANCE_OF_MEAN,
    INSTANTANEOUS_REGRET,
    DYNAMIC_REGRET,
    CONSENSUS_ERROR,
    OPTIMAL_LOSS,
    TEST_ACCURACY_PRIVATE,
    TEST_ACCURACY_PUBLIC,
    TEST_ACCURACY_OPTIMUM,
    TEST_LOSS_PUBLIC,
    TRAINING_ACCURACY,
    EPSILON,
    PURE_EPSILON,
    NOISE_SCALE,
];

/// The last column of `rounds.csv`: `NOT PRIVATE` in every row of a seeded run, else empty.
pub const WARNING: &str = "warning";

const ROUND: Column =
    Column { name: "round", description: "the round t", values: Values::Count(|row| row.round) };

const RECORDS: Column = Column {
    name: "records",
    description: "records that have arrived at all learners, those forgotten since included",
    values: Values::Count(|row| row.records),
};

pub(crate) const PREQUENTIAL_LOSS: Column = Column {
    name: "prequential_loss",
    description: "mean loss of this round's records before their labels were known; empty in round 0",
    values: Values::Number(|row| row.prequential_loss),
};

pub(crate) const PREQUENTIAL_ACCURACY: Column = Column {
    name: "prequential_accuracy",
    description: "share of all records so far that were classified correctly before their labels were known; empty for regression",
    values: Values::Number(|row| row.prequential_accuracy),
};

pub(crate) const TRACKING_ERROR: Column = Column {
    name: "tracking_error",
    description: "mean over learners of ‖θ_i − θ*‖²",
    values: Values::Number(|row| Some(row.metrics.tracking_error)),
};

const TRACKING_DISTANCE_OF_MEAN: Column = Column {
    name: "tracking_distance_of_mean",
    description: "‖mean θ − θ*‖",
    values: Values::Number(|row| Some(row.metrics.tracking_distance_of_mean)),
};

pub(crate) const INSTANTANEOUS_REGRET: Column = Column {
    name: "instantaneous_regret",
    description: "mean over learners of F_t(θ_i) − F_t(θ*)",
    values: Values::Number(|row| Some(row.metrics.instantaneous_regret)),
};

pub(crate) const DYNAMIC_REGRET: Column = Column {
    name: "dynamic_regret",
    description: "running sum of the instantaneous regret; each row counts for the rounds since the row before",
    values: Values::Number(|row| Some(row.metrics.dynamic_regret)),
};

pub(crate) const CONSENSUS_ERROR: Column = Column {
    name: "consensus_error",
    description: "mean over learners of ‖θ_i − mean θ‖²",
    values: Values::Number(|row| Some(row.metrics.consensus_error)),
};

const OPTIMAL_LOSS: Column = Column {
    name: "optimal_loss",
    description: "F_t(θ*), the smallest possible loss",
    values: Values::Number(|row| Some(row.metrics.optimal_loss)),
};

pub(crate) const TEST_ACCURACY_PRIVATE: Column = Column {
    name: "test_accuracy_private",
    description: "mean test accuracy of the learners' own θ_i; empty for regression or without test records",
    values: Values::Number(|row| row.metrics.test_accuracy_private),
};

pub(crate) const TEST_ACCURACY_PUBLIC: Column = Column {
    name: "test_accuracy_public",
    description: "test accuracy of the public model; empty for regression or without test records",
    values: Values::Number(|row| row.metrics.test_accuracy_public),
};

pub(crate) const TEST_ACCURACY_OPTIMUM: Column = Column {
    name: "test_accuracy_optimum",
    description: "test accuracy of θ*; empty for regression, for a neural network or without test records",
    values: Values::Number(|row| row.metrics.test_accuracy_optimum),
};

pub(crate) const TEST_LOSS_PUBLIC: Column = Column {
    name: "test_loss_public",
    description: "mean loss of the public model on the test records, penalties included",
    values: Values::Number(|row| row.metrics.test_loss_public),
};

pub(crate) const TRAINING_ACCURACY: Column = Column {
    name: "training_accuracy",
    description: "mean accuracy of the learners' own θ_i on a sample of the records seen so far; neural networks only",
    values: Values::Number(|row| row.metrics.training_accuracy),
};

pub(crate) const EPSILON: Column = Column {
    name: "epsilon",
    description: "ε at δ that the most used record of each learner has paid, this round's release included",
    values: Values::PerLearner(|row| &row.epsilon),
};

const PURE_EPSILON: Column = Column {
    name: "pure_epsilon",
    description: "pure ε that it has paid; empty where it is infinite",
    values: Values::PerLearner(|row| &row.pure_epsilon),
};

pub(crate) const NOISE_SCALE: Column = Column {
    name: "noise_scale",
    description: "ρ_t, the noise scale of each learner's release",
    values: Values::PerLearner(|row| &row.noise_scale),
};

impl Column {
    /// Its name in `rounds.csv`, or its names, one for each learner.
    pub(crate) fn headings(&self, learners: usize) -> Vec<String> {
        match self.values {
            Values::Count(_) | Values::Number(_) => vec![self.name.into()],
            Values::PerLearner(_) => {
                (0..learners).map(|learner| format!("{}_{learner}", self.name)).collect()
            }
        }
    }

    /// Its cells in a row of `rounds.csv`: empty where there is no number, or, for learners, no finite one.
    pub(crate) fn cells(&self, row: &RoundRow) -> Vec<String> {
        let text = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        match self.values {
            Values::Count(count) => vec![count(row).to_string()],
            Values::Number(number) => vec![text(number(row).filter(|value| !value.is_nan()))],
            Values::PerLearner(numbers) => numbers(row)
                .iter()
                .map(|&value| text(Some(value).filter(|value| value.is_finite())))
                .collect(),
        }
    }

    /// Its value in a row, if it has one number there.
    pub(crate) fn number(&self, row: &RoundRow) -> Option<f64> {
        match self.values {
            #[expect(clippy::cast_precision_loss, reason = "counts are placed on an axis")]
            Values::Count(count) => Some(count(row) as f64),
            Values::Number(number) => number(row),
            Values::PerLearner(_) => None,
        }
    }

    /// Its values in a row, if it has one for each learner.
    pub(crate) fn of_learners<'a>(&self, row: &'a RoundRow) -> &'a [f64] {
        match self.values {
            Values::Count(_) | Values::Number(_) => &[],
            Values::PerLearner(numbers) => numbers(row),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;

    #[test]
    fn every_column_has_a_name_of_its_own_and_a_description() {
        let names: std::collections::BTreeSet<&str> =
            COLUMNS.iter().map(|column| column.name).collect();
        assert_eq!(names.len(), COLUMNS.len());
        assert!(COLUMNS.iter().all(|column| !column.description.is_empty()));
    }

    #[test]
    fn headings_and_cells_match_and_what_is_no_number_is_empty() {
        let row = RoundRow {
            round: 7,
            records: 20,
            prequential_loss: None,
            prequential_accuracy: Some(0.5),
            metrics: Metrics { tracking_error: f64::NAN, ..Metrics::default() },
            epsilon: vec![1.5, 2.5],
            pure_epsilon: vec![f64::INFINITY, 3.0],
            noise_scale: vec![0.25, 0.25],
        };
        let all = |part: &dyn Fn(&Column) -> Vec<String>| -> Vec<String> {
            COLUMNS.iter().flat_map(part).collect()
        };
        let headings = all(&|column| column.headings(2));
        let cells = all(&|column| column.cells(&row));
        assert_eq!(headings.len(), cells.len());
        let cell = |name: &str| {
            let index = headings.iter().position(|heading| heading == name).unwrap();
            cells[index].as_str()
        };
        assert_eq!((cell("round"), cell("records")), ("7", "20"));
        assert_eq!((cell("prequential_loss"), cell("prequential_accuracy")), ("", "0.5"));
        assert_eq!((cell("tracking_error"), cell("consensus_error")), ("", "0"));
        assert_eq!((cell("epsilon_1"), cell("pure_epsilon_0")), ("2.5", ""));
        assert_eq!((cell("pure_epsilon_1"), cell("noise_scale_0")), ("3", "0.25"));
    }
}
