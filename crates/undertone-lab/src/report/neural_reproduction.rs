//! The pages of the paper's experiments with neural networks.

use super::axis::{Scale, Unit};
use super::figure;
use super::number::{count, epsilon, number, percent};
use super::plot::{Across, Band, Chart, Look, Series};
use super::reproduction::{line, page};
use crate::attack::Line;
use crate::compare::settings::ComparedMethod;
use crate::reproduce::neural::{Images, NeuralFigure, Point};
use crate::reproduce::quartiles::Quartiles;
use crate::reproduce::table2::{Row, Table2};
use std::fmt::Write as _;

const NO_CERTIFICATE: &str = "Algorithm 1 and DSGD have no certificate for a neural network: they add noise to a state that \
depends on each record by an amount that follows from the smoothness L of the loss, and no finite L is known. (Clipping alone \
would bound the cost of finitely many rounds, by a budget that grows with every round.) The paper gives no certificate either.";

/// Writes the page of Figure 2 or 3.
#[must_use]
pub fn neural_page(found: &NeuralFigure) -> String {
    let (title, data, own) = match found.images {
        Images::Mnist => ("Figure 2", "MNIST", "digits"),
        Images::Cifar10 => ("Figure 3", "CIFAR-10", "classes"),
    };
    let lead = format!(
        "A small CNN on {data}, ring of five, each learner with 40 % of two {own} and an even share of the rest; \
         {} rounds of {} records per learner, {} seeds, the paper’s steps and noise. Lines are medians, bands \
         quartiles over seeds.",
        count(found.extent.rounds),
        count(found.extent.batch),
        count(found.extent.seeds)
    );
    let charts = [
        accuracy(found, "training", "Training accuracy", TRAINING, |point| point.training),
        accuracy(found, "test", "Test accuracy", TEST, |point| point.test_own),
        budget(found),
    ];
    let charts: String = charts.iter().map(|chart| figure(chart, true)).collect();
    let shielded = match found.extent.shielded_divisor {
        1 => "it uses the same data".into(),
        divisor => format!("it uses one in {divisor} of the records of its preset"),
    };
    let body = format!(
        "<section>\n<div class=\"charts\">\n{charts}</div>\n</section>\n<section>\n<h2>Last round</h2>\n{}\
         <p class=\"note\">{NO_CERTIFICATE} PDOP has a certificate because gradients are clipped, here at a norm of 1000, which the paper does \
         not do: hence its size. DOLA’s noise falls faster than its steps, so each record pays more than the one \
         before. The public model is the average of all releases. <em>local</em> sends and receives nothing: where Algorithm 1 is no better, \
         the learners gained nothing from each other. <em>shielded</em> has its own neural network, rounds, steps and noise, and is \
         certified for ever; {shielded}.</p>\n</section>\n",
        rows(found),
    );
    page(title, &lead, &body)
}

const TRAINING: &str =
    "Accuracy of the learners’ own parameters on records seen so far, mean over learners.";
const TEST: &str = "Accuracy of the learners’ own parameters on the test set, mean over learners.";

fn accuracy(
    found: &NeuralFigure,
    id: &'static str,
    title: &'static str,
    caption: &str,
    value: fn(&Point) -> Quartiles,
) -> Chart {
    let (mut series, mut bands) = (Vec::new(), Vec::new());
    for curve in &found.curves {
        let Some(last) = curve.points.last() else { continue };
        let style = curve.method.style();
        series.push(Series {
            label: curve.method.name().into(),
            value: percent(value(last).median),
            look: Look::Line(style),
            points: curve.points.iter().map(|at| (at.round as f64, value(at).median)).collect(),
        });
        let edge = |at: &Point| (at.round as f64, value(at).low, value(at).high);
        bands.push(Band { style, points: curve.points.iter().map(edge).collect() });
    }
    Chart {
        id,
        title,
        caption: caption.into(),
        y_label: "accuracy",
        scale: Scale::Linear,
        unit: Unit::Percent,
        series,
        across: Across::Rounds,
        bands,
    }
}

fn budget(found: &NeuralFigure) -> Chart {
    let curves = found.curves.iter().filter_map(|curve| {
        let points: Option<Vec<(f64, f64)>> =
            curve.points.iter().map(|at| Some((at.round as f64, at.unit_budget?))).collect();
        let mut series = line(curve.method.name(), curve.method.style(), points?);
        series.value = number(series.points.last()?.1);
        Some(series)
    });
    Chart {
        id: "budget",
        title: "Shape of the budget",
        caption: "The sum of all rounds’ costs with every constant set to 1, as in the paper’s Table I: the rate \
        of Theorem 5 for Algorithm 1, step over noise for the others. This is how the paper counts; \
        DSGD, DOLA and PDOP use a record once, so one record pays for its own round only. Not an ε."
            .into(),
        y_label: "sum over rounds (log scale)",
        scale: Scale::Log,
        unit: Unit::Plain,
        series: curves.collect(),
        across: Across::Rounds,
        bands: Vec::new(),
    }
}

fn spread(of: Quartiles) -> String {
    format!("{} ({} – {})", percent(of.median), percent(of.low), percent(of.high))
}

fn rows(found: &NeuralFigure) -> String {
    let mut rows = String::new();
    for curve in &found.curves {
        let Some(last) = curve.points.last() else { continue };
        let certified = match curve.certified {
            Some(found) => epsilon(found),
            None if curve.method == ComparedMethod::Local => "nothing is sent".into(),
            None => "no certificate".into(),
        };
        let dry = if curve.ran_dry { " (ran out of records)" } else { "" };
        let _ = writeln!(
            rows,
            "<tr><td>{}{dry}</td><td>{}</td><td>{}</td><td>{}</td><td>{certified}</td></tr>",
            curve.method,
            spread(last.training),
            spread(last.test_own),
            if curve.method == ComparedMethod::Local {
                "–".into()
            } else {
                spread(last.test_public)
            },
        );
    }
    format!(
        "<div class=\"scroll\"><table><thead><tr><th>method</th><th>training accuracy</th><th>test, learners’ own</th>\
         <th>test, public model</th><th>ε for ever, δ = {}</th></tr></thead><tbody>\n{rows}</tbody></table></div>\n",
        number(found.delta)
    )
}

/// Writes the page of Table II.
#[must_use]
pub fn table2_page(table: &Table2) -> String {
    let lead = format!(
        "A small CNN on MNIST with noise multiplied by 0.5 to 2: {} rounds of {} records per learner, {} seeds. The attack \
        is on one record of round 0.",
        count(table.extent.rounds),
        count(table.extent.batch),
        count(table.extent.seeds)
    );
    let random = table.error_of_random.map_or(String::new(), |error| {
        format!("A uniformly random guess has error {}.", number(error))
    });
    let body = format!(
        "<section>\n<h2>Accuracy</h2>\n{}</section>\n<section>\n<h2>The DLG attack</h2>\n{}<p class=\"note\">{random} Error: mean squared difference of a pixel; the paper does not define its error. All learners \
        start at one public point; an attacker who uses it has to deal with one noise fewer. \
        Local learners, which send nothing, reach {} in training and {} in the test: learners weigh \
        their neighbours by 0.6 γ_t, which adds up to little, and so does the noise.</p><p class=\"note\">{NO_CERTIFICATE}</p>\n</section>\n",
        accuracy_rows(&table.rows),
        attack_rows(table),
        percent(table.local.0.median),
        percent(table.local.1.median),
    );
    page("Table II", &lead, &body)
}

fn accuracy_rows(rows: &[Row]) -> String {
    let mut text = String::new();
    for Row { printed, training, test_own, .. } in rows {
        let _ = writeln!(
            text,
            "<tr><td>×{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            printed.multiple,
            percent(printed.training),
            spread(*training),
            percent(printed.test),
            spread(*test_own),
        );
    }
    format!(
        "<div class=\"scroll\"><table><thead><tr><th>noise</th><th>training, paper’s</th><th>ours</th>\
         <th>test, paper’s</th><th>ours</th></tr></thead><tbody>\n{text}</tbody></table></div>\n"
    )
}

fn attack_rows(table: &Table2) -> String {
    let free = &table.attack_without_noise;
    let found = |line: &Line| {
        format!("<td>{}</td><td>{}</td>", number(line.error), percent(line.labels_found))
    };
    let mut text = format!("<tr><td>none</td><td>–</td>{0}{0}</tr>\n", found(free));
    for Row { printed, attack, attack_with_start, .. } in &table.rows {
        let _ = writeln!(
            text,
            "<tr><td>×{}</td><td>{}</td>{}{}</tr>",
            printed.multiple,
            number(printed.error),
            found(attack),
            found(attack_with_start),
        );
    }
    format!(
        "<div class=\"scroll\"><table><thead><tr><th>noise</th><th>error, paper’s</th><th>ours</th><th>labels found</th>\
         <th>start known: error</th><th>labels found</th></tr></thead><tbody>\n{text}</tbody></table></div>\n"
    )
}
