//! The lower half of the report: learners, facts and files.

use super::number::{MISSING, count, decimal, epsilon, escape, number};
use crate::summary::{LearnerSummary, Summary};
use undertone::noise::NoiseKind;
use undertone::privacy::ForEver;

/// The most learners in the table; `summary.json` has all.
const LEARNERS_MAX: usize = 100;

/// All sections below the charts.
pub(super) fn html(summary: &Summary) -> String {
    format!("{}{}{}{}", learners(summary), facts(summary), files(summary), reproduce(summary))
}

fn learners(summary: &Summary) -> String {
    if summary.learners.is_empty() {
        return String::new();
    }
    let redrawn = summary.learners.iter().any(|one| one.draws_max > 1);
    let for_ever = for_ever_heading(summary);
    let mut head = vec!["Learner", "Records"];
    if redrawn {
        head.push("Most draws of a record");
    }
    head.extend([
        "Noise",
        "Scale ρ₀",
        "ε spent",
        "Pure ε",
        "zCDP",
        for_ever,
        "Cap on ε",
        "Ran dry",
    ]);
    let head: String = head.iter().map(|title| format!("<th scope=\"col\">{title}</th>")).collect();
    let shown = &summary.learners[..summary.learners.len().min(LEARNERS_MAX)];
    let body: String = shown.iter().map(|one| learner(one, redrawn)).collect();
    let delta = summary.learners.first().map_or(MISSING.into(), |one| number(one.delta));
    let mut note =
        format!("ε spent and {for_ever} hold at δ = {delta}. Unit: {}.", escape(summary.unit));
    if redrawn {
        note += " What was spent is what the record has paid that was drawn most.";
    }
    if summary.learners.iter().any(|one| one.noise_exponent.abs() > 0.0) {
        note += " The noise grows with the round t as ρ₀ (t + 1)<sup>ς</sup>.";
    }
    let mut reasons: Vec<&str> =
        summary.learners.iter().filter_map(|one| one.lifetime.no_certificate.as_deref()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    for reason in reasons.iter().take(3) {
        note += &format!(" No certificate: {}.", escape(reason.trim_end_matches('.')));
    }
    if shown.len() < summary.learners.len() {
        note += &format!(
            " The other {} learners are in summary.json.",
            count((summary.learners.len() - shown.len()) as u64)
        );
    }
    format!(
        "<section>\n<h2>Learners</h2>\n<div class=\"scroll\"><table>\n<thead><tr>{head}</tr></thead>\n\
         <tbody>\n{body}</tbody>\n</table></div>\n<p class=\"note\">{note}</p>\n</section>\n"
    )
}

/// A bound that the cap does not let a learner reach is labelled as what it is.
fn for_ever_heading(summary: &Summary) -> &'static str {
    let any = |is: fn(&LearnerSummary) -> bool| summary.learners.iter().any(is);
    let beyond_cap = any(|one| matches!(one.statement.for_ever(), ForEver::Cap { .. }));
    match (beyond_cap, any(|one| one.lifetime.from_here)) {
        (true, false) => "ε if it ran on for ever without the cap",
        (true, true) => "ε if it ran on for ever from here without the cap",
        (false, true) => "ε for ever from here",
        (false, false) => "ε for ever",
    }
}

fn learner(one: &LearnerSummary, redrawn: bool) -> String {
    let optional = |value: Option<f64>| value.map_or(MISSING.into(), epsilon);
    let mut cells = vec![one.learner.to_string(), count(one.records)];
    if redrawn {
        cells.push(count(one.draws_max));
    }
    let kind = match one.noise {
        NoiseKind::Laplace => "Laplace",
        NoiseKind::Gaussian => "Gaussian",
    };
    cells.extend([
        kind.into(),
        number(one.noise_scale),
        epsilon(one.epsilon),
        optional(one.pure_epsilon),
        epsilon(one.zcdp),
        one.lifetime.epsilon.map_or("no certificate".into(), epsilon),
        one.cap_epsilon.map_or("none".into(), epsilon),
        if one.ran_dry { "yes" } else { "no" }.into(),
    ]);
    let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", escape(cell))).collect();
    format!("<tr>{cells}</tr>\n")
}

fn facts(summary: &Summary) -> String {
    let (network, data) = (&summary.network, &summary.data);
    let eigenvalue = |value: Option<f64>| value.map_or(MISSING.into(), |value| decimal(value, 4));
    let rounds = if summary.rounds_run == summary.rounds_planned {
        count(summary.rounds_run)
    } else {
        format!("{} of {} planned", count(summary.rounds_run), count(summary.rounds_planned))
    };
    let mut methods: Vec<&str> = summary.learners.iter().map(|one| one.method_summary).collect();
    methods.sort_unstable();
    methods.dedup();
    let facts = [
        ("Learners", count(network.learners as u64)),
        ("Edges of the network", count(network.edges as u64)),
        ("δ₂ of W, second largest eigenvalue", eigenvalue(network.delta_2)),
        ("δₘ of W, smallest eigenvalue", eigenvalue(network.delta_m)),
        ("Rounds", rounds),
        ("Wall-clock time of the rounds", seconds(summary.seconds)),
        ("Data", data.source.clone()),
        ("Parameters", count(data.parameters as u64)),
        ("Records before round 0, each learner", count(data.warmup)),
        ("Records per round, each learner", count(data.batch)),
        ("Records drawn again when they ran out", if data.repeat { "yes" } else { "no" }.into()),
        ("Records scaled into the bounds", count(data.records_scaled)),
        ("Records left out, outside the bounds", count(data.records_refused)),
        ("Test records", count(data.test_records as u64)),
        ("Privacy accounting", methods.join(", ")),
        ("Undertone version", summary.undertone_version.to_string()),
        ("Format of summary.json", format!("version {}", summary.schema_version)),
    ];
    let list: String = facts
        .iter()
        .map(|(name, value)| {
            format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), escape(value))
        })
        .collect();
    format!("<section>\n<h2>Network and data</h2>\n<dl class=\"facts\">\n{list}</dl>\n</section>\n")
}

fn seconds(value: f64) -> String {
    if !value.is_finite() {
        MISSING.into()
    } else if value >= 3600.0 {
        format!("{} h", decimal(value / 3600.0, 1))
    } else if value >= 120.0 {
        format!("{} min", decimal(value / 60.0, 1))
    } else {
        format!("{} s", decimal(value, 1))
    }
}

fn files(summary: &Summary) -> String {
    let model = if summary.private {
        (
            "<span class=\"yes\">may be published</span>",
            "The public model: an average of noisy releases.",
        )
    } else {
        (
            "<span class=\"no\">not from this run</span>",
            "The public model. It may be published after a run without a seed; the noise of this run \
            follows from its seed and can be subtracted.",
        )
    };
    let keep = "<span class=\"no\">private</span>";
    let rows = [
        ("model.safetensors", model.0, model.1),
        (
            "config.toml",
            keep,
            "The experiment as it was run. It has no records, but is not meant to be published.",
        ),
        (
            "rounds.csv",
            keep,
            "The measurements behind the charts, computed from all private records.",
        ),
        ("summary.json", keep, "This report in numbers, computed from all private records."),
        ("report.html", keep, "This page, computed from all private records."),
    ];
    let body: String = rows
        .iter()
        .map(|(file, status, text)| {
            format!("<tr><td><code>{file}</code></td><td>{status}</td><td>{text}</td></tr>\n")
        })
        .collect();
    format!(
        "<section>\n<h2>Files</h2>\n<p>Only <code>model.safetensors</code> is meant to be \
        published. If the data are private, do not publish the other files.</p>\n\
         <div class=\"scroll files\"><table><tbody>\n{body}</tbody></table></div>\n</section>\n"
    )
}

fn reproduce(summary: &Summary) -> String {
    let (command, note) = match summary.seed {
        Some(seed) => (
            format!("undertone simulate config.toml --seed {seed}"),
            "The same version, config, data and seed give the same numbers.",
        ),
        None => (
            "undertone simulate config.toml".into(),
            "The same guarantee holds, but with new noise: a private run cannot be repeated \
            exactly.",
        ),
    };
    format!(
        "<section>\n<h2>Run it again</h2>\n<pre><code>{command}</code></pre>\n<p>{note}</p>\n\
        </section>\n<footer>Made by Undertone {}. This page loads no external resources.</footer>\n",
        escape(summary.undertone_version)
    )
}
