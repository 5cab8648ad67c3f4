//! Metrics for Prometheus.

use crate::owner::{Budget, Status};
use crate::protocol::Presence;
use std::fmt::{Display, Write as _};

/// The metrics in Prometheus's text format.
pub(super) fn text(status: &Status, budget: &Budget) -> String {
    let mut page = Page::default();
    page.gauge(
        "undertone_epsilon_spent",
        "Epsilon spent, at the agreement's delta",
        budget.epsilon,
    );
    page.gauge("undertone_zcdp_spent", "zCDP spent", budget.zcdp);
    let optional = [
        ("undertone_pure_epsilon_spent", "Pure epsilon spent", budget.pure_epsilon),
        ("undertone_epsilon_cap", "Cap on epsilon", budget.cap),
        ("undertone_pure_epsilon_cap", "Cap on pure epsilon", budget.pure_cap),
        ("undertone_epsilon_planned", "Epsilon of the planned rounds", budget.planned_epsilon),
        (
            "undertone_epsilon_lifetime",
            "Bound on epsilon for ever without the cap, if the plan holds from now on",
            budget.lifetime_epsilon,
        ),
        ("undertone_loss", "Mean prequential loss of the last rounds", status.loss),
        ("undertone_accuracy", "Prequential accuracy of the last rounds", status.accuracy),
        ("undertone_distance", "Distance to what the neighbours released", status.distance),
    ];
    for (name, help, value) in optional {
        if let Some(value) = value {
            page.gauge(name, help, value);
        }
    }
    page.gauge(
        "undertone_epsilon_lifetime_from_here",
        "Whether a round departed from the plan, so that the bound starts at the present state",
        u8::from(budget.lifetime_from_here),
    );
    page.gauge("undertone_round", "The round the learner is in", status.round);
    if let Some(rounds) = status.rounds {
        page.gauge("undertone_rounds", "Rounds that will be run", rounds);
    }
    page.counter("undertone_releases_total", "Releases made", budget.releases);
    page.counter("undertone_records_total", "Records learnt from", status.records);
    let waiting = status.waiting_records;
    page.gauge("undertone_records_waiting", "Records that wait for a round", waiting);
    page.head("undertone_neighbour_present", "Whether a neighbour is waited for", "gauge");
    for one in &status.neighbours {
        let present = u8::from(one.presence == Presence::Present);
        page.labelled("undertone_neighbour_present", "learner", &one.learner, present);
    }
    page.head("undertone_neighbour_lag_rounds", "Rounds a neighbour is behind", "gauge");
    for one in &status.neighbours {
        if let Some(lag) = one.lag {
            page.labelled("undertone_neighbour_lag_rounds", "learner", &one.learner, lag);
        }
    }
    page.head("undertone_dropped_total", "Dropped messages, by reason", "counter");
    for (reason, count) in &status.dropped {
        page.labelled("undertone_dropped_total", "reason", reason, count);
    }
    page.0
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, help, "gauge");
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, help, "counter");
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn labelled(&mut self, name: &str, label: &str, which: &impl Display, value: impl Display) {
        let _ = writeln!(self.0, "{name}{{{label}=\"{which}\"}} {value}");
    }
}
