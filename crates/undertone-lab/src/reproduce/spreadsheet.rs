//! Results as CSV.

use super::fig1::Figure;
use super::neural::NeuralFigure;
use super::table1::Table;
use super::table2::Table2;

type Bytes = Result<Vec<u8>, csv::Error>;

/// One line for each noise level; an empty field where there is no number.
///
/// # Errors
/// When a value has no form in CSV, which does not happen.
pub fn table1(table: &Table) -> Bytes {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "noise_multiple",
        "paper_budget",
        "unit_formula",
        "certified_pure_epsilon",
        "certified_epsilon",
        "certified_epsilon_for_ever",
        "paper_iterations",
        "iterations_low",
        "iterations_median",
        "iterations_high",
        "runs_given_up",
    ])?;
    let finite = |value: Option<f64>| {
        value.filter(|value| value.is_finite()).map_or(String::new(), |value| value.to_string())
    };
    for row in &table.rows {
        writer.write_record([
            row.printed.multiple.to_string(),
            row.printed.budget.to_string(),
            row.unit_formula.to_string(),
            row.certified.pure.to_string(),
            row.certified.approximate.to_string(),
            finite(row.certified_for_ever.map(|certified| certified.approximate)),
            row.printed.iterations.to_string(),
            finite(row.iterations.map(|of| of.low)),
            finite(row.iterations.map(|of| of.median)),
            finite(row.iterations.map(|of| of.high)),
            row.never.to_string(),
        ])?;
    }
    bytes(writer)
}

/// One line for each method and measured round.
///
/// # Errors
/// When a value has no form in CSV, which does not happen.
pub fn fig1(figure: &Figure) -> Bytes {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "method",
        "round",
        "tracking_error_low",
        "tracking_error_median",
        "tracking_error_high",
        "instantaneous_regret_low",
        "instantaneous_regret_median",
        "instantaneous_regret_high",
        "pure_epsilon_summed_over_rounds",
        "pure_epsilon_of_one_record",
    ])?;
    for curve in &figure.curves {
        for point in &curve.points {
            let (error, regret) = (point.tracking_error, point.instantaneous_regret);
            writer.write_record([
                curve.method.to_string(),
                point.round.to_string(),
                error.low.to_string(),
                error.median.to_string(),
                error.high.to_string(),
                regret.low.to_string(),
                regret.median.to_string(),
                regret.high.to_string(),
                point.budget_summed.to_string(),
                point.budget_event.to_string(),
            ])?;
        }
    }
    bytes(writer)
}

/// One line for each method and measured round.
///
/// # Errors
/// When a value has no form in CSV, which does not happen.
pub fn neural(figure: &NeuralFigure) -> Bytes {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "method",
        "round",
        "training_low",
        "training_median",
        "training_high",
        "test_own_low",
        "test_own_median",
        "test_own_high",
        "test_public_median",
        "unit_budget",
        "certified_epsilon_for_ever",
    ])?;
    let text = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for curve in &figure.curves {
        for point in &curve.points {
            let (training, own) = (point.training, point.test_own);
            writer.write_record([
                curve.method.to_string(),
                point.round.to_string(),
                training.low.to_string(),
                training.median.to_string(),
                training.high.to_string(),
                own.low.to_string(),
                own.median.to_string(),
                own.high.to_string(),
                point.test_public.median.to_string(),
                text(point.unit_budget),
                text(curve.certified),
            ])?;
        }
    }
    bytes(writer)
}

/// One line for each noise level.
///
/// # Errors
/// When a value has no form in CSV, which does not happen.
pub fn table2(table: &Table2) -> Bytes {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "noise_multiple",
        "paper_training",
        "training_median",
        "paper_test",
        "test_own_median",
        "paper_attack_error",
        "attack_error",
        "labels_found",
        "attack_error_start_known",
        "labels_found_start_known",
    ])?;
    for row in &table.rows {
        let numbers = [
            row.printed.multiple,
            row.printed.training,
            row.training.median,
            row.printed.test,
            row.test_own.median,
            row.printed.error,
            row.attack.error,
            row.attack.labels_found,
            row.attack_with_start.error,
            row.attack_with_start.labels_found,
        ];
        writer.write_record(numbers.map(|number| number.to_string()))?;
    }
    bytes(writer)
}

fn bytes(writer: csv::Writer<Vec<u8>>) -> Bytes {
    writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))
}
