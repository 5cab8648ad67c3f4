//! `report.html` of a comparison: accuracy and regret against ε, and the numbers.

use super::Measurement;
use super::settings::ComparedMethod;
use super::statistics::{Entry, Estimate, central, entries};
use crate::report::{Comparison, comparison_page};
use std::fmt::Write as _;
use undertone::privacy::format_epsilon_or;

/// What the page shows besides the runs.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The experiment's name.
    pub name: String,
    /// δ of every budget.
    pub delta: f64,
    /// Learners, rounds and parameters, in words.
    pub setting: String,
}

/// Writes a comparison as one HTML page without external resources.
#[must_use]
pub fn html(facts: &Facts, runs: &[Measurement]) -> String {
    let entries = entries(runs);
    let curve =
        |value: fn(&Entry) -> Option<Estimate>| -> Vec<(ComparedMethod, Vec<(f64, Estimate)>)> {
            let points = |method: ComparedMethod| -> Vec<(f64, Estimate)> {
                let own = entries.iter().filter(|entry| entry.method == method);
                own.filter_map(|entry| Some((entry.epsilon?, value(entry)?))).collect()
            };
            ComparedMethod::ALL.iter().map(|&method| (method, points(method))).collect()
        };
    comparison_page(&Comparison {
        name: &facts.name,
        lead: format!(
            "{} Every method has the same data, the same graph and the same ε, certified for ever at \
             δ = {:e} (one record replaced), Gaussian noise, and was tuned by the same planner from public \
             numbers alone; local learners use the steps of shielded ones without noise. Bands: 95 % confidence over seeds.",
            facts.setting, facts.delta
        ),
        accuracy: curve(|entry| entry.accuracy),
        regret: curve(|entry| entry.regret),
        central: central(runs),
        alone: alone(&entries),
        table: table(&entries),
    })
}

/// The accuracy of local learners.
fn alone(entries: &[Entry]) -> Option<Estimate> {
    let own = entries.iter().find(|entry| entry.method == ComparedMethod::Local);
    own.and_then(|entry| entry.accuracy)
}

fn table(entries: &[Entry]) -> String {
    let mut rows = String::new();
    let share = |estimate: Option<Estimate>, digits: usize| {
        estimate.map_or("–".to_string(), |estimate| estimate.shown(digits))
    };
    for entry in entries {
        let epsilon = entry.epsilon.map_or("∞".to_string(), |epsilon| format!("{epsilon}"));
        let certified = format_epsilon_or(entry.certified_epsilon, "–");
        let milliseconds = entry.seconds_per_round.map(|seconds| 1e3 * seconds.mean);
        let _ = writeln!(
            rows,
            "<tr><td>{}</td><td>{epsilon}</td><td>{certified}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{}</td><td>{}</td><td>{}</td></tr>",
            entry.method,
            share(entry.accuracy, 4),
            share(entry.accuracy_own, 4),
            share(entry.regret, 4),
            milliseconds.map_or("–".into(), |ms| format!("{ms:.2}")),
            entry.bytes_per_round,
            entry.runs,
        );
    }
    format!(
        "<div class=\"scroll\"><table><thead><tr><th>method</th><th>ε</th><th>ε certified</th>\
         <th>test accuracy</th><th>learners’ own</th><th>regret</th><th>ms per round</th>\
         <th>bytes per round</th><th>runs</th></tr></thead><tbody>\n{rows}</tbody></table></div>\n"
    )
}

/// The entries as CSV.
///
/// # Errors
/// When a value has no form in CSV, which does not happen.
pub fn csv(runs: &[Measurement]) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "method",
        "epsilon",
        "runs",
        "certified_epsilon",
        "accuracy",
        "accuracy_low",
        "accuracy_high",
        "accuracy_own",
        "regret",
        "regret_low",
        "regret_high",
        "regret_mean",
        "seconds_per_round",
        "bytes_per_round",
        "warning",
    ])?;
    let text = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for entry in entries(runs) {
        let part = |estimate: Option<Estimate>, of: fn(Estimate) -> f64| text(estimate.map(of));
        writer.write_record([
            entry.method.to_string(),
            entry.epsilon.map_or("inf".into(), |epsilon| epsilon.to_string()),
            entry.runs.to_string(),
            text(entry.certified_epsilon),
            part(entry.accuracy, |found| found.mean),
            part(entry.accuracy, |found| found.low),
            part(entry.accuracy, |found| found.high),
            part(entry.accuracy_own, |found| found.mean),
            part(entry.regret, |found| found.mean),
            part(entry.regret, |found| found.low),
            part(entry.regret, |found| found.high),
            part(entry.regret_mean, |found| found.mean),
            part(entry.seconds_per_round, |found| found.mean),
            entry.bytes_per_round.to_string(),
            "NOT PRIVATE".into(),
        ])?;
    }
    writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))
}
