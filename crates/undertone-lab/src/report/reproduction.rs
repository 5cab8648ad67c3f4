//! The pages of the reproduced experiments, with the paper's numbers.

use super::axis::{Scale, Unit};
use super::number::{count, epsilon, number};
use super::plot::{Across, Band, Chart, Look, Series};
use super::{figure, head};
use crate::reproduce::fig1::{Figure, Point};
use crate::reproduce::quartiles::Quartiles;
use crate::reproduce::table1::{CLOSEST, DELTA, ROUNDS_MAX, Row, Table};
use crate::reproduce::tuning::{LEFT_MAX, Trial, WORST_MAX};
use std::fmt::Write as _;

/// A page with figures and a table.
pub(super) fn page(title: &str, lead: &str, body: &str) -> String {
    format!(
        "{head}<body>\n<main>\n<header>\n<p class=\"kicker\">Undertone reproduces</p>\n<h1>{title}</h1>\n\
         <p class=\"lead\">{lead}</p>\n</header>\n{body}\
         <p class=\"note\">Runs with seeds: NOT PRIVATE, for research only.</p>\n</main>\n</body>\n</html>\n",
        head = head(&format!("{title} – Undertone")),
    )
}

/// Writes the page of Table I.
#[must_use]
pub fn table1_page(table: &Table) -> String {
    let unknowns = table.unknowns;
    let chosen = if unknowns == CLOSEST { "came closest and are used" } else { "are used" };
    let lead = format!(
        "Mushrooms, ring of five, Laplace noise multiplied by 1 to 6: iterations until the \
        learners’ mean is within 1 of the optimum. {} seeds. The paper does not state the batch, the \
        ridge or the start: {} per round, {} and ±{} per coordinate {chosen} here.",
        table.seeds, unknowns.batch, unknowns.ridge, unknowns.start_spread
    );
    let body = format!(
        "<section>\n<div class=\"charts\">\n{}{}</div>\n</section>\n<section>\n<h2>All numbers</h2>\n{}\
         <p class=\"note\">The paper’s budget is the sum of 10/(k(t+1)^1.24): the rate of its Theorem 5 \
         with every constant set to 1. It is a shape, not an ε. The certified pure ε and ε at δ = {:e} are for \
         one use of a record by the learner that pays most, up to the paper’s iterations and for ever; \
         a record that is drawn again pays again.</p>\n</section>\n",
        figure(&iterations_chart(table), true),
        figure(&budget_chart(table), true),
        table1_rows(table),
        DELTA
    );
    page("Table I", &lead, &body)
}

fn iterations_chart(table: &Table) -> Chart {
    let reached = |row: &Row| row.iterations.filter(|of| of.median.is_finite());
    let ours: Vec<(f64, f64)> = table
        .rows
        .iter()
        .filter_map(|row| Some((row.printed.multiple, reached(row)?.median + 1.0)))
        .collect();
    let band = |row: &Row| {
        let Quartiles { low, high, .. } = reached(row)?;
        Some((row.printed.multiple, low + 1.0, high.min(ROUNDS_MAX as f64) + 1.0))
    };
    Chart {
        id: "iterations",
        title: "Iterations",
        caption:
            "Iterations until the mean of all learners is within 1 of the optimum, by noise; the \
                  band is from the first to the third quartile over seeds."
                .into(),
        y_label: "iterations (log scale)",
        scale: Scale::Log,
        unit: Unit::Plain,
        series: vec![
            line("ours, median", 1, ours),
            line("paper", 2, column(table, |row| (row.printed.iterations + 1) as f64)),
        ],
        across: Across::Log("noise multiple (log scale)"),
        bands: vec![Band { style: 1, points: table.rows.iter().filter_map(band).collect() }],
    }
}

fn budget_chart(table: &Table) -> Chart {
    Chart {
        id: "budget",
        title: "Budget",
        caption:
            "The paper’s numbers, and the certified budget over the same rounds; lower is more \
        private."
                .into(),
        y_label: "ε (log scale)",
        scale: Scale::Log,
        unit: Unit::Plain,
        series: vec![
            line("certified pure ε", 3, column(table, |row| row.certified.pure)),
            line("certified ε, δ = 1e-5", 1, column(table, |row| row.certified.approximate)),
            line("paper", 2, column(table, |row| row.printed.budget)),
        ],
        across: Across::Log("noise multiple (log scale)"),
        bands: Vec::new(),
    }
}

fn column(table: &Table, value: fn(&Row) -> f64) -> Vec<(f64, f64)> {
    table.rows.iter().map(|row| (row.printed.multiple, value(row))).collect()
}

pub(super) fn line(label: &str, style: u8, points: Vec<(f64, f64)>) -> Series {
    Series { label: label.into(), value: String::new(), look: Look::Line(style), points }
}

fn table1_rows(table: &Table) -> String {
    let mut rows = String::new();
    let rounds = |value: f64| {
        let capped = value.min(ROUNDS_MAX as f64);
        let more = if value > capped { "&gt; " } else { "" };
        format!("{more}{}", count(capped.round() as u64))
    };
    for row in &table.rows {
        let for_ever =
            row.certified_for_ever.map_or("–".into(), |certified| epsilon(certified.approximate));
        let ours = row.iterations.map_or("–".into(), |of| {
            format!("{} ({} – {})", rounds(of.median), rounds(of.low), rounds(of.high))
        });
        let _ = writeln!(
            rows,
            "<tr><td>×{}</td><td>{:.2}</td><td>{:.2}</td><td>{}</td><td>{}</td><td>{for_ever}</td>\
             <td>{}</td><td>{ours}</td></tr>",
            row.printed.multiple,
            row.printed.budget,
            row.unit_formula,
            epsilon(row.certified.pure),
            epsilon(row.certified.approximate),
            count(row.printed.iterations),
        );
    }
    format!(
        "<div class=\"scroll\"><table><thead><tr><th>noise</th><th>paper’s budget</th><th>unit formula</th>\
         <th>pure ε</th><th>ε at δ = {DELTA:e}</th><th>ε for ever</th><th>paper’s iterations</th>\
         <th>ours (quartiles)</th></tr></thead><tbody>\n{rows}</tbody></table></div>\n"
    )
}

/// Writes the page of Figure 1.
#[must_use]
pub fn fig1_page(found: &Figure) -> String {
    let lead = format!(
        "Mushrooms split by class, ring of five, {} rounds, {} seeds. Algorithm 1 with the paper’s noise \
         and steps; the others with steps tuned as in the paper: twice the step no longer converges. \
         Lines are medians, bands quartiles over seeds.",
        found.rounds, found.seeds
    );
    let charts = [tracking(found), regret(found), summed(found), event(found)];
    let charts: String = charts.iter().map(|chart| figure(chart, true)).collect();
    let body = format!(
        "<section>\n<div class=\"charts\">\n{charts}</div>\n</section>\n<section>\n<h2>Last round</h2>\n{}\
         <p class=\"note\">Convergence is judged without noise, because with noise that grows and a coupling \
         that does not fall, no step makes DSGD converge. The excess loss in the last tenth of a run must be less \
         than {LEFT_MAX} of the first, and never more than {WORST_MAX} times the first. The columns show \
         both shares. DOLA and PDOP have the noise of the paper’s second experiment, because it states none \
         for this one; PDOP’s falls over {} rounds by as much as there over 600.</p>\n</section>\n",
        fig1_rows(found),
        found.rounds
    );
    page("Figure 1", &lead, &body)
}

fn tracking(found: &Figure) -> Chart {
    let (mut series, bands) = curves(found, |point| Some(point.tracking_error), number);
    series.extend(slope_line(found, found.slope_of_theorem, "theorem’s slope", 1));
    let measured = found.slope_measured;
    series.extend(measured.and_then(|slope| slope_line(found, slope, "measured slope", 2)));
    Chart {
        id: "tracking-error",
        title: "Tracking error",
        caption:
            "Mean squared distance ‖θᵢ − θ*‖² between a learner’s parameters and the best parameters \
            for the records so far; on these axes a power of t is a straight line."
                .into(),
        y_label: "squared distance (log scale)",
        scale: Scale::Log,
        unit: Unit::Plain,
        series,
        across: ROUNDS,
        bands,
    }
}

const ROUNDS: Across = Across::Log("round + 1 (log scale)");

/// (t+1)^−β through the last median of Algorithm 1, from a tenth of the rounds on.
fn slope_line(found: &Figure, slope: f64, label: &str, style: u8) -> Option<Series> {
    let last = found.curves.first()?.points.last()?;
    let (end, value) = ((last.round + 1) as f64, last.tracking_error.median);
    let start = (end / 20.0).max(1.0);
    let points = vec![(start, value * (start / end).powf(-slope)), (end, value)];
    let value = format!("(t+1)^−{slope:.2}");
    Some(Series { label: label.into(), value, look: Look::Level(style), points })
}

fn regret(found: &Figure) -> Chart {
    let (series, bands) = curves(found, |point| Some(point.instantaneous_regret), number);
    Chart {
        id: "regret",
        title: "Instantaneous regret",
        caption:
            "Excess loss F(θᵢ) − F(θ*) on all records so far, mean over learners; lower is better."
                .into(),
        y_label: "excess loss per record (log scale)",
        scale: Scale::Log,
        unit: Unit::Plain,
        series,
        across: ROUNDS,
        bands,
    }
}

fn summed(found: &Figure) -> Chart {
    budget(
        found,
        "budget-summed",
        "Budget as the paper counts",
        "The sum of all rounds’ pure ε, with true constants: √n λ C / (N ρ) for methods that step along \
        the newest batch, whichever record causes it, and the pure ε of one record for Algorithm 1.",
        |point| point.budget_summed,
    )
}

fn event(found: &Figure) -> Chart {
    budget(
        found,
        "budget-event",
        "Budget of one record",
        "Pure ε of one use of the record that pays most so far: the unit of differential privacy. DOLA and \
        PDOP use a record once. DSGD’s first steps are so long that the effect of a record grows before it \
        shrinks.",
        |point| point.budget_event,
    )
}

fn budget(
    found: &Figure,
    id: &'static str,
    title: &'static str,
    caption: &str,
    value: fn(&Point) -> f64,
) -> Chart {
    let of_point = |point: &Point| {
        let all = value(point);
        (all > 0.0).then_some(Quartiles { low: all, median: all, high: all })
    };
    let (series, _) = curves(found, of_point, epsilon);
    Chart {
        id,
        title,
        caption: caption.into(),
        y_label: "pure ε (log scale)",
        scale: Scale::Log,
        unit: Unit::Plain,
        series,
        across: ROUNDS,
        bands: Vec::new(),
    }
}

/// A line and a band for each method.
fn curves(
    found: &Figure,
    value: impl Fn(&Point) -> Option<Quartiles>,
    text: fn(f64) -> String,
) -> (Vec<Series>, Vec<Band>) {
    let (mut series, mut bands) = (Vec::new(), Vec::new());
    for curve in &found.curves {
        let points: Vec<(f64, Quartiles)> = curve
            .points
            .iter()
            .filter_map(|point| Some(((point.round + 1) as f64, value(point)?)))
            .collect();
        let Some((_, last)) = points.last() else { continue };
        let style = curve.method.style();
        series.push(Series {
            label: curve.method.name().into(),
            value: text(last.median),
            look: Look::Line(style),
            points: points.iter().map(|(round, of)| (*round, of.median)).collect(),
        });
        let edges = points.iter().map(|(round, of)| (*round, of.low, of.high)).collect();
        bands.push(Band { style, points: edges });
    }
    (series, bands)
}

fn fig1_rows(found: &Figure) -> String {
    let mut rows = String::new();
    for curve in &found.curves {
        let Some(last) = curve.points.last() else { continue };
        let (step, left) = match curve.tuned {
            None => ("the paper’s".into(), "–".into()),
            Some(tuned) => {
                let shares =
                    |trial: Trial| format!("{}, {}", number(trial.left), number(trial.worst));
                (
                    number(tuned.step),
                    format!("{} → {}", shares(tuned.trial), shares(tuned.at_double)),
                )
            }
        };
        let spread = |of: Quartiles| {
            format!("{} ({} – {})", number(of.median), number(of.low), number(of.high))
        };
        let _ = writeln!(
            rows,
            "<tr><td>{}</td><td>{step}</td><td>{left}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            curve.method,
            spread(last.tracking_error),
            spread(last.instantaneous_regret),
            epsilon(last.budget_summed),
            epsilon(last.budget_event),
        );
    }
    format!(
        "<div class=\"scroll\"><table><thead><tr><th>method</th><th>first step</th>\
         <th>left, worst → at twice</th><th>tracking error</th><th>excess loss</th>\
         <th>ε summed</th><th>ε of one</th></tr></thead><tbody>\n{rows}</tbody></table></div>\n"
    )
}
