//! The charts of the report, one function each.

use super::axis::{Scale, Unit};
use super::number::{epsilon, number, percent};
use super::plot::{Across, Band, Chart, Look, POINTS_MAX, STYLES, Series, thin};
use crate::columns::{self, Column};
use crate::simulate::{MEASURED_LEARNERS_MAX, RoundRow};
use crate::summary::{LearnerSummary, Summary};
use undertone::privacy::ForEver;

/// A level this many times above the highest value would flatten the curve: the caption states it instead.
const LEVEL_FACTOR_MAX: f64 = 5.0;

/// All charts of a run, in the order of the page.
pub(super) fn charts(summary: &Summary, rows: &[RoundRow]) -> Vec<Chart> {
    let mut charts = vec![test(rows)];
    charts.extend([tracking(rows), instantaneous_regret(rows), dynamic_regret(rows)]);
    charts.push(consensus(rows));
    for chart in &mut charts[1..] {
        if summary.network.learners > MEASURED_LEARNERS_MAX {
            chart.caption += &format!(
                " Measured on {MEASURED_LEARNERS_MAX} learners, evenly spaced, against all records."
            );
        }
    }
    charts.extend(prequential_accuracy(rows));
    charts.push(prequential_loss(rows));
    charts.push(budget(summary, rows));
    charts.push(noise(rows));
    // Neural networks have no known optimum, so their errors are NaN.
    charts.retain(|chart| {
        let mut points = chart.series.iter().flat_map(|line| &line.points).peekable();
        points.peek().is_none() || !points.all(is_nan)
    });
    for chart in &mut charts {
        note_gaps(chart);
    }
    charts
}

fn is_nan(point: &(f64, f64)) -> bool {
    point.1.is_nan()
}

fn test(rows: &[RoundRow]) -> Chart {
    let public = points(rows, &columns::TEST_ACCURACY_PUBLIC);
    if public.is_empty() {
        let loss = points(rows, &columns::TEST_LOSS_PUBLIC);
        return Chart {
            id: "test-loss",
            title: "Test loss",
            caption: "Mean loss of the public model on records that no learner has seen; lower is \
                      better."
                .into(),
            y_label: "loss per test record",
            scale: Scale::Linear,
            unit: Unit::Plain,
            series: vec![series("public model", Look::Line(1), &loss, number)],
            across: Across::Rounds,
            bands: Vec::new(),
        };
    }
    let own = points(rows, &columns::TEST_ACCURACY_PRIVATE);
    let best = points(rows, &columns::TEST_ACCURACY_OPTIMUM);
    let seen = points(rows, &columns::TRAINING_ACCURACY);
    let gap = if best.is_empty() {
        ""
    } else {
        " The gap between the public model, made of noisy releases only, and the optimum, which learns \
         from all records without noise, is the price of privacy and of learning as records arrive."
    };
    Chart {
        id: "test-accuracy",
        title: "Test accuracy",
        caption: format!(
            "Share of unseen test records classified correctly; higher is better.{gap}"
        ),
        y_label: "correct test records",
        scale: Scale::Linear,
        unit: Unit::Percent,
        series: [
            ("public model", public),
            ("learners’ own models (mean)", own),
            ("optimum, no privacy", best),
            ("training records seen so far, learners’ own (mean)", seen),
        ]
        .into_iter()
        .zip(1..)
        .filter(|((_, points), _)| !points.is_empty())
        .map(|((label, points), style)| series(label, Look::Line(style), &points, percent))
        .collect(),
        across: Across::Rounds,
        bands: Vec::new(),
    }
}

fn tracking(rows: &[RoundRow]) -> Chart {
    error_chart(
        "tracking-error",
        "Tracking error",
        "Mean squared distance ‖θᵢ − θ*‖² between a learner’s parameters and the best parameters for \
         the records so far; lower is better.",
        "squared distance (log scale)",
        points(rows, &columns::TRACKING_ERROR),
    )
}

fn instantaneous_regret(rows: &[RoundRow]) -> Chart {
    error_chart(
        "instantaneous-regret",
        "Instantaneous regret",
        "How much the learners’ mean loss exceeds the smallest possible loss in each round, on \
        all records so far; a falling line means that the learners converge.",
        "excess loss per record (log scale)",
        points(rows, &columns::INSTANTANEOUS_REGRET),
    )
}

fn dynamic_regret(rows: &[RoundRow]) -> Chart {
    let points = points(rows, &columns::DYNAMIC_REGRET);
    Chart {
        id: "dynamic-regret",
        title: "Dynamic regret",
        caption:
            "The sum of the instantaneous regrets up to each round; the flatter the line, the \
            smaller the regret of each further round."
                .into(),
        y_label: "summed excess loss",
        scale: Scale::Linear,
        unit: Unit::Plain,
        series: vec![series("mean over learners", Look::Line(1), &points, number)],
        across: Across::Rounds,
        bands: Vec::new(),
    }
}

fn consensus(rows: &[RoundRow]) -> Chart {
    error_chart(
        "consensus-error",
        "Consensus error",
        "Mean squared distance ‖θᵢ − θ̄‖² between a learner’s parameters and the average over learners; \
         the lower, the more the learners agree.",
        "squared distance (log scale)",
        points(rows, &columns::CONSENSUS_ERROR),
    )
}

fn error_chart(
    id: &'static str,
    title: &'static str,
    caption: &str,
    y_label: &'static str,
    points: Vec<(f64, f64)>,
) -> Chart {
    let series = vec![series("mean over learners", Look::Line(1), &points, number)];
    let caption = caption.into();
    Chart {
        id,
        title,
        caption,
        y_label,
        scale: Scale::Log,
        unit: Unit::Plain,
        series,
        across: Across::Rounds,
        bands: Vec::new(),
    }
}

/// Absent for regression, where nothing is classified.
fn prequential_accuracy(rows: &[RoundRow]) -> Option<Chart> {
    let points = points(rows, &columns::PREQUENTIAL_ACCURACY);
    (!points.is_empty()).then(|| Chart {
        id: "prequential-accuracy",
        title: "Prequential accuracy",
        caption:
            "Share of all records so far that were classified correctly when they arrived, before \
            their labels were known; higher is better."
                .into(),
        y_label: "correct records so far",
        scale: Scale::Linear,
        unit: Unit::Percent,
        series: vec![series("all learners together", Look::Line(1), &points, percent)],
        across: Across::Rounds,
        bands: Vec::new(),
    })
}

fn prequential_loss(rows: &[RoundRow]) -> Chart {
    let points = points(rows, &columns::PREQUENTIAL_LOSS);
    let window = (points.len() / 40).max(1);
    let smooth = moving_mean(&points, window);
    let label = match window {
        1 => "all learners together".to_string(),
        _ => format!("mean of the last {window} measured rounds"),
    };
    let mut lines = vec![series(&label, Look::Line(1), &smooth, number)];
    if window > 1 {
        lines.push(series("each measured round", Look::Faint(1), &points, |_| String::new()));
    }
    Chart {
        id: "prequential-loss",
        title: "Prequential loss",
        caption:
            "Mean loss of the records of a round, measured when they arrived and before anything \
                  was learnt from them; lower is better."
                .into(),
        y_label: "loss per arriving record",
        scale: Scale::Linear,
        unit: Unit::Plain,
        series: lines,
        across: Across::Rounds,
        bands: Vec::new(),
    }
}

fn budget(summary: &Summary, rows: &[RoundRow]) -> Chart {
    let record = match summary.draws_max() > 1 {
        true => "the record that was used most",
        false => "a record",
    };
    let mut chart = Chart {
        id: "privacy-spent",
        title: "Privacy spent",
        caption: format!(
            "ε at the run’s δ that {record} has paid so far, by each learner’s account; lower is more private."
        ),
        y_label: "ε spent, at the run’s δ",
        scale: Scale::Linear,
        unit: Unit::Plain,
        series: Vec::new(),
        across: Across::Rounds,
        bands: Vec::new(),
    };
    per_learner(&mut chart, rows, &columns::EPSILON, epsilon);
    let spent = chart.series.iter().flat_map(|series| &series.points).map(|point| point.1);
    let highest = spent.filter(|value| value.is_finite()).fold(0.0, f64::max);
    let caps: Vec<f64> = summary.learners.iter().filter_map(|one| one.cap_epsilon).collect();
    let lives: Vec<f64> = summary.learners.iter().filter_map(|one| one.lifetime.epsilon).collect();
    let (cap, life) = (ends(&caps), ends(&lives));
    let from_here = summary.learners.iter().any(|one| one.lifetime.from_here);
    let beyond_cap = |one: &LearnerSummary| matches!(one.statement.for_ever(), ForEver::Cap { .. });
    let alike = match (cap, life) {
        (Some(cap), Some(life)) if !from_here => near(cap.0, life.0) && near(cap.1, life.1),
        _ => false,
    };
    if alike {
        level(&mut chart, rows, highest, "cap, and bound for ever", Look::Level(1), cap);
    } else {
        level(&mut chart, rows, highest, "cap", Look::Level(1), cap);
        // The cap ends the run before a bound above it is reached.
        if !summary.learners.iter().any(beyond_cap) {
            let label = if from_here { "bound for ever from here" } else { "bound for ever" };
            level(&mut chart, rows, highest, label, Look::Level(2), life);
        }
    }
    chart
}

fn noise(rows: &[RoundRow]) -> Chart {
    let mut chart = Chart {
        id: "noise",
        title: "Noise schedule",
        caption: "Scale ρₜ of the noise added to every parameter of the release of a round (for \
                  Gaussian noise, its standard deviation); more noise is more private."
            .into(),
        y_label: "noise scale ρₜ (units of a parameter)",
        scale: Scale::Linear,
        unit: Unit::Plain,
        series: Vec::new(),
        across: Across::Rounds,
        bands: Vec::new(),
    };
    per_learner(&mut chart, rows, &columns::NOISE_SCALE, number);
    chart
}

/// Adds one line for all learners, one line each, or their minimum, median and maximum.
fn per_learner(chart: &mut Chart, rows: &[RoundRow], column: &Column, text: fn(f64) -> String) {
    let learners = rows.iter().map(|row| column.of_learners(row).len()).max().unwrap_or(0);
    let of_learner =
        |learner: usize| curve(rows, |row| column.of_learners(row).get(learner).copied());
    let same = rows.iter().all(|row| {
        let list = column.of_learners(row);
        list.len() == learners && list.windows(2).all(|w| w[0].to_bits() == w[1].to_bits())
    });
    if learners == 0 {
        return;
    }
    if same {
        let label = if learners == 1 { "the learner" } else { "all learners" };
        chart.series.push(series(label, Look::Line(1), &of_learner(0), text));
    } else if learners <= usize::from(STYLES) {
        for (learner, style) in (0..learners).zip(1..) {
            let label = format!("learner {learner}");
            chart.series.push(series(&label, Look::Line(style), &of_learner(learner), text));
        }
    } else {
        let every = rows.len().div_ceil(POINTS_MAX - 1).max(1);
        let last = rows.len() - 1;
        let kept =
            rows.iter().enumerate().filter(|(index, _)| index % every == 0 || *index == last);
        let spread: Vec<(f64, [f64; 3])> = kept
            .filter_map(|(_, row)| Some((round(row), spread(column.of_learners(row))?)))
            .collect();
        let pick = |which: usize| -> Vec<(f64, f64)> {
            spread.iter().map(|(round, values)| (*round, values[which])).collect()
        };
        let points = spread.iter().map(|(round, v)| (*round, v[0], v[2])).collect();
        chart.bands.push(Band { style: 1, points });
        chart.series.push(series("highest", Look::Line(2), &pick(2), text));
        chart.series.push(series("median learner", Look::Line(1), &pick(1), text));
        chart.series.push(series("lowest", Look::Line(3), &pick(0), text));
    }
}

/// The smallest, median and largest of the finite values.
fn spread(values: &[f64]) -> Option<[f64; 3]> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    Some([*sorted.first()?, sorted[sorted.len() / 2], *sorted.last()?])
}

/// Adds horizontal lines at the smallest and the largest of some levels, or states them in the caption.
fn level(
    chart: &mut Chart,
    rows: &[RoundRow],
    highest: f64,
    label: &str,
    look: Look,
    ends: Option<(f64, f64)>,
) {
    let (Some((low, high)), Some(first), Some(last)) = (ends, rows.first(), rows.last()) else {
        return;
    };
    let text = if near(low, high) {
        epsilon(high)
    } else {
        format!("{} to {}", epsilon(low), epsilon(high))
    };
    if high > LEVEL_FACTOR_MAX * highest {
        chart.caption += &format!(" Not drawn, far above: {label}, ε = {text}.");
        return;
    }
    let mut points = vec![(round(first), high), (round(last), high)];
    if !near(low, high) {
        points.extend([(f64::NAN, f64::NAN), (round(first), low), (round(last), low)]);
    }
    chart.series.push(Series { label: label.into(), value: text, look, points });
}

fn ends(values: &[f64]) -> Option<(f64, f64)> {
    let [least, _, greatest] = spread(values)?;
    Some((least, greatest))
}

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-6 * left.abs().max(right.abs())
}

fn series(label: &str, look: Look, points: &[(f64, f64)], text: fn(f64) -> String) -> Series {
    let value = points.last().map_or(String::new(), |point| text(point.1));
    Series { label: label.into(), value, look, points: thin(points) }
}

/// The points of a column with one number per row.
fn points(rows: &[RoundRow], column: &Column) -> Vec<(f64, f64)> {
    curve(rows, |row| column.number(row))
}

fn curve(rows: &[RoundRow], value: impl Fn(&RoundRow) -> Option<f64>) -> Vec<(f64, f64)> {
    rows.iter().filter_map(|row| Some((round(row), value(row)?))).collect()
}

#[expect(clippy::cast_precision_loss, reason = "rounds only have to be placed on an axis")]
fn round(row: &RoundRow) -> f64 {
    row.round as f64
}

/// The mean of the finite values among the last `window`.
fn moving_mean(points: &[(f64, f64)], window: usize) -> Vec<(f64, f64)> {
    let mean = |index: usize| {
        let from = (index + 1).saturating_sub(window);
        let finite = points[from..=index].iter().map(|p| p.1).filter(|value| value.is_finite());
        let (sum, count) =
            finite.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
        sum / count
    };
    (0..points.len()).map(|index| (points[index].0, mean(index))).collect()
}

/// Notes in the caption when values are left out.
fn note_gaps(chart: &mut Chart) {
    let lines = chart.series.iter().filter(|series| !matches!(series.look, Look::Level(_)));
    let mut gaps = lines
        .flat_map(|series| &series.points)
        .map(|point| point.1)
        .filter(|value| !chart.scale.can_draw(*value))
        .peekable();
    if gaps.peek().is_none() {
        return;
    }
    chart.caption += if gaps.all(|value| value.is_finite() && value <= 0.0) {
        " Values of zero or below cannot be drawn on a log scale and are left out."
    } else {
        " Values that are infinite, not a number or off the scale are left out."
    };
}
