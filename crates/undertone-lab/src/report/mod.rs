//! `report.html`: a run in one self-contained file.
//!
//! This file writes the page; `charts` defines the charts, `plot` and `axis` draw them, `tables` writes the
//! learners and the facts, `number` formats numbers and escapes text.

mod attack;
mod axis;
mod charts;
mod comparison;
mod neural_reproduction;
mod number;
mod picture;
mod plot;
mod reproduction;
mod tables;
#[cfg(test)]
mod tests;

pub use attack::attack_page;
pub(crate) use comparison::{Comparison, comparison_page};
pub use neural_reproduction::{neural_page, table2_page};
pub use reproduction::{fig1_page, table1_page};

use crate::simulate::RoundRow;
use crate::summary::{RunEnding, Summary};
use number::{MISSING, count, epsilon, escape, number, percent};
use plot::{Chart, Size};
use undertone::privacy::{Cap, ForEver, PlannedLoss};

const STYLE: &str = include_str!("style.css");
/// The page may load nothing; only its own style sheet is allowed.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
                      base-uri 'none'; form-action 'none'";
/// The size of a chart in one of two columns; on a phone there is one column.
const NARROW: Size = Size { width: 480, height: 290 };
/// The size of the first chart, which spans both columns.
const WIDE: Size = Size { width: 1000, height: 340 };

/// Writes a run as one HTML page without external resources.
#[must_use]
pub fn run_page(summary: &Summary, rows: &[RoundRow]) -> String {
    let name = escape(&summary.name);
    let charts: String = charts::charts(summary, rows)
        .iter()
        .enumerate()
        .map(|(index, chart)| figure(chart, index == 0))
        .collect();
    let mark = if summary.private { "" } else { "NOT PRIVATE – " };
    let head = head(&format!("{mark}{name} – Undertone run report"));
    format!(
        "{head}<body>\n<main>\n<header>\n<p class=\"kicker\">Undertone run report</p>\n<h1>{name}</h1>\n\
         <p class=\"lead\">{lead}</p>\n{banners}</header>\n\
         <section class=\"cards\" aria-label=\"Results\">\n{cards}</section>\n\
         <section>\n<h2>Privacy</h2>\n{statement}</section>\n\
         <section>\n<h2>Measurements</h2>\n<div class=\"charts\">\n{charts}</div>\n</section>\n\
         {tables}</main>\n</body>\n</html>\n",
        lead = lead(summary),
        banners = banners(summary),
        cards = cards(summary, rows),
        statement = statement(summary),
        tables = tables::html(summary),
    )
}

/// The head of a page; the title is already HTML.
fn head(title: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n"
    )
}

fn lead(summary: &Summary) -> String {
    let plural = |amount: u64, one: &str| {
        format!("{} {one}{}", count(amount), if amount == 1 { "" } else { "s" })
    };
    format!(
        "{} learning together over {}; a model of {}; data: {}.",
        plural(summary.network.learners as u64, "learner"),
        plural(summary.rounds_run, "round"),
        plural(summary.data.parameters as u64, "parameter"),
        escape(&summary.data.source),
    )
}

fn banners(summary: &Summary) -> String {
    let mut text = String::new();
    if !summary.private {
        let warning = summary.warning.unwrap_or("the noise of this run can be subtracted");
        let warning = warning.strip_prefix("NOT PRIVATE: ").unwrap_or(warning);
        text += &banner("stop", "NOT PRIVATE", &format!("<p>{}.</p>", escape(&capital(warning))));
    }
    if summary.labels_public {
        let body = "<p>Labels and the split among learners are public in this experiment. The features of a \
                    record are protected; its label is not.</p>";
        text += &banner("warn", "LABELS ARE PUBLIC", body);
    }
    let run = count(summary.rounds_run);
    let planned = count(summary.rounds_planned);
    match summary.ending {
        RunEnding::Finished => {}
        RunEnding::BudgetExhausted => {
            let why = summary.refusal.as_deref().unwrap_or("a release was refused");
            let body = format!(
                "<p>The run stopped after {run} of {planned} rounds, because the next release would \
                 have cost more than the cap allows. {}.</p>",
                escape(&capital(why.trim_end_matches('.')))
            );
            text += &banner("warn", "BUDGET EXHAUSTED", &body);
        }
        RunEnding::Interrupted => {
            let body = format!("<p>The run was interrupted after {run} of {planned} rounds.</p>");
            text += &banner("warn", "INTERRUPTED", &body);
        }
    }
    if !summary.unproven.is_empty() {
        let list: String =
            summary.unproven.iter().map(|one| format!("<li>{}</li>", escape(one))).collect();
        let body = format!(
            "<p>The settings lie outside the convergence theorems; privacy does not depend on \
             them.</p><ul>{list}</ul>"
        );
        text += &banner("warn", "UNPROVEN", &body);
    }
    text
}

fn banner(kind: &str, title: &str, body: &str) -> String {
    format!(
        "<div class=\"banner {kind}\" role=\"note\"><strong>{}</strong>{body}</div>\n",
        escape(title)
    )
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().chain(characters).collect::<String>())
}

fn cards(summary: &Summary, rows: &[RoundRow]) -> String {
    let measured = !rows.is_empty();
    let (first, last) = (&summary.first, &summary.last);
    let share = |value: Option<f64>| value.map_or(MISSING.into(), percent);
    let test = if let (Some(public), true) = (last.test_accuracy_public, measured) {
        let beside = format!(
            "public model; learners’ own {}{}",
            share(last.test_accuracy_private),
            last.test_accuracy_optimum
                .map_or(String::new(), |best| format!(", without privacy {}", percent(best)))
        );
        card("Test accuracy", &percent(public), &beside)
    } else {
        let loss = last.test_loss_public.filter(|_| measured);
        let beside = if loss.is_some() { "public model" } else { "not measured" };
        card("Test loss", &loss.map_or(MISSING.into(), number), beside)
    };
    let tracking = if measured {
        format!("{} → {}", number(first.tracking_error), number(last.tracking_error))
    } else {
        MISSING.into()
    };
    let spent = spent_note(summary);
    let for_ever = certified_card(summary);
    [
        test,
        match last.training_accuracy.filter(|_| measured) {
            Some(seen) => card("Training accuracy", &percent(seen), "learners’ own, records seen"),
            None => card("Tracking error", &tracking, "first → last measured round, ‖θᵢ − θ*‖²"),
        },
        card("ε spent", &epsilon(summary.epsilon_paid_max()), &spent),
        for_ever,
        card(
            "Prequential accuracy",
            &share(summary.prequential_accuracy),
            "of records when they arrived, before their labels were known",
        ),
    ]
    .concat()
}

/// What the ε that was spent is of.
fn spent_note(summary: &Summary) -> String {
    let delta = summary.learners.first().map_or(MISSING.into(), |one| number(one.delta));
    let mut note = format!("at δ = {delta}");
    if summary.learners.len() > 1 {
        note += ", largest of all learners";
    }
    if summary.draws_max() > 1 {
        note +=
            &format!(", by the record that was used most: {} times", count(summary.draws_max()));
    }
    let caps = summary.learners.iter().filter_map(|one| one.cap_epsilon);
    match caps.reduce(f64::max) {
        Some(cap) => note + &format!("; cap {}", epsilon(cap)),
        None => note + "; no cap",
    }
}

/// The ε that is certified: of the planned rounds where noise was chosen for them, else for ever.
fn certified_card(summary: &Summary) -> String {
    let Some(privacy) = summary.privacy() else {
        return card("ε for ever", MISSING, "there are no learners");
    };
    if let Some(PlannedLoss { rounds, loss }) = privacy.planned {
        let note = format!("over the {} rounds that the noise was chosen for", count(rounds));
        return card("ε planned", &epsilon(loss.epsilon), &note);
    }
    match privacy.for_ever() {
        ForEver::Bound(bound) if privacy.from_here => card(
            "ε for ever from here",
            &epsilon(bound.epsilon),
            "what was spent and a bound on the rest, if all goes as planned from now on",
        ),
        ForEver::Bound(bound) => {
            card("ε for ever", &epsilon(bound.epsilon), "bound over all future rounds")
        }
        ForEver::Cap { cap: Cap::Approximate { epsilon: cap, .. }, .. } => {
            card("ε for ever", &epsilon(cap), "the cap: a release that would exceed it is refused")
        }
        ForEver::Cap { cap: Cap::Pure { epsilon: cap }, .. } => card(
            "Pure ε for ever",
            &epsilon(cap),
            "the cap: a release that would exceed it is refused",
        ),
        ForEver::NoBound(_) if privacy.from_here => card(
            "ε for ever from here",
            "no finite bound",
            "a round departed from the plan, and nothing is proved from there on",
        ),
        ForEver::NoBound(_) => {
            card("ε for ever", "no certificate", "no finite bound is proved for these settings")
        }
    }
}

fn card(title: &str, figure: &str, note: &str) -> String {
    let kind = if figure.chars().count() > 10 { "figure words" } else { "figure" };
    format!(
        "<div class=\"card\"><h3>{}</h3><div class=\"{kind}\">{}</div><p>{}</p></div>\n",
        escape(title),
        escape(figure),
        escape(note)
    )
}

/// The longest heading of a paragraph: `For ever from here`.
const HEADING_MAX: usize = 18;

/// The statement, with the heading of each paragraph in bold.
fn statement(summary: &Summary) -> String {
    let paragraph = |text: &String| match text.split_once(": ") {
        Some((head, rest)) if head.chars().count() <= HEADING_MAX => {
            format!("<p><strong>{}:</strong> {}</p>\n", escape(head), escape(rest))
        }
        _ => format!("<p>{}</p>\n", escape(text)),
    };
    let body: String = summary.privacy_statement.iter().map(paragraph).collect();
    let body = if body.is_empty() { "<p>Nothing is guaranteed.</p>\n".into() } else { body };
    format!("<div class=\"statement\">\n{body}</div>\n")
}

fn figure(chart: &Chart, hero: bool) -> String {
    let drawing = if hero {
        plot::svg(chart, WIDE).zip(plot::svg(chart, NARROW)).map(|(wide, narrow)| {
            format!("<div class=\"wide\">{wide}</div><div class=\"narrow\">{narrow}</div>")
        })
    } else {
        plot::svg(chart, NARROW)
    };
    let body = match drawing {
        Some(drawing) => format!("{}{drawing}", plot::legend(chart)),
        None => "<p class=\"nothing\">Nothing to show: no measured value can be drawn.</p>".into(),
    };
    format!(
        "<figure id=\"{}\"{}>\n<h3>{}</h3>\n<figcaption>{}</figcaption>\n{body}</figure>\n",
        chart.id,
        if hero { " class=\"hero\"" } else { "" },
        escape(chart.title),
        escape(&chart.caption),
    )
}
