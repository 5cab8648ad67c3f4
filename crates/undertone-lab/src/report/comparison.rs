//! The page of a comparison: two charts against ε, and a table.

use super::axis::{Scale, Unit};
use super::number::{escape, number, percent};
use super::plot::{Across, Band, Chart, Look, Series};
use super::{figure, head};
use crate::compare::settings::ComparedMethod;
use crate::compare::statistics::Estimate;

/// What a comparison shows.
pub(crate) struct Comparison<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// What was compared and how.
    pub(crate) lead: String,
    /// The test accuracy of each method by ε.
    pub(crate) accuracy: Vec<(ComparedMethod, Vec<(f64, Estimate)>)>,
    /// The excess loss of each method by ε.
    pub(crate) regret: Vec<(ComparedMethod, Vec<(f64, Estimate)>)>,
    /// The accuracy of the centralised optimum.
    pub(crate) central: Option<Estimate>,
    /// The accuracy of local learners.
    pub(crate) alone: Option<Estimate>,
    /// All numbers, as HTML.
    pub(crate) table: String,
}

/// Writes a comparison as an HTML page.
pub(crate) fn comparison_page(comparison: &Comparison<'_>) -> String {
    let name = escape(comparison.name);
    format!(
        "{head}<body>\n<main>\n<header>\n<p class=\"kicker\">Undertone comparison</p>\n<h1>{name}</h1>\n\
         <p class=\"lead\">{lead}</p>\n</header>\n\
         <section>\n<div class=\"charts\">\n{accuracy}{regret}</div>\n</section>\n\
         <section>\n<h2>All numbers</h2>\n{table}\
         <p class=\"note\">Runs with seeds: NOT PRIVATE, for research only. Test accuracy is that of the public \
         model, which is made of releases only, or of the learners’ own parameters if nothing is released. Bytes: \
         eight per value, to each neighbour.</p>\n</section>\n</main>\n</body>\n</html>\n",
        head = head(&format!("{name} – Undertone comparison")),
        lead = escape(&comparison.lead),
        accuracy = figure(&accuracy(comparison), true),
        regret = figure(&regret(comparison), true),
        table = comparison.table,
    )
}

fn accuracy(comparison: &Comparison<'_>) -> Chart {
    let (mut series, bands) = lines(&comparison.accuracy, percent);
    let places: Vec<f64> =
        series.iter().flat_map(|line| line.points.iter().map(|point| point.0)).collect();
    let ends = places.iter().copied().reduce(f64::min).zip(places.iter().copied().reduce(f64::max));
    let levels = [(comparison.central, "central, no privacy", 2), (comparison.alone, "local", 1)];
    for (level, label, style) in levels {
        if let (Some(level), Some((low, high))) = (level, ends) {
            series.push(Series {
                label: label.into(),
                value: percent(level.mean),
                look: Look::Level(style),
                points: vec![(low, level.mean), (high, level.mean)],
            });
        }
    }
    Chart {
        id: "accuracy",
        title: "Test accuracy",
        caption:
            "Share of unseen records classified correctly after the last round, by the budget \
            certified for ever; higher and further left is better."
                .into(),
        y_label: "correct test records",
        scale: Scale::Linear,
        unit: Unit::Percent,
        series,
        across: Across::Log("ε for ever (log scale)"),
        bands,
    }
}

fn regret(comparison: &Comparison<'_>) -> Chart {
    let (series, bands) = lines(&comparison.regret, number);
    Chart {
        id: "regret",
        title: "Regret",
        caption: "Excess loss F(θᵢ) − F(θ*) of a learner in the last round; lower is better."
            .into(),
        y_label: "excess loss per record (log scale)",
        scale: Scale::Log,
        unit: Unit::Plain,
        series,
        across: Across::Log("ε for ever (log scale)"),
        bands,
    }
}

/// A line and a band for each method that has points.
fn lines(
    curves: &[(ComparedMethod, Vec<(f64, Estimate)>)],
    words: fn(f64) -> String,
) -> (Vec<Series>, Vec<Band>) {
    let (mut series, mut bands) = (Vec::new(), Vec::new());
    for (method, points) in curves {
        let Some((_, last)) = points.last() else { continue };
        let style = method.style();
        series.push(Series {
            label: method.name().into(),
            value: words(last.mean),
            look: Look::Line(style),
            points: points.iter().map(|(epsilon, found)| (*epsilon, found.mean)).collect(),
        });
        bands.push(Band {
            style,
            points: points
                .iter()
                .map(|(epsilon, found)| (*epsilon, found.low, found.high))
                .collect(),
        });
    }
    (series, bands)
}
