//! Everything that a run, a report and a budget say of ε: what was paid by all uses of a record, and no bound that is void.

use crate::preset;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use undertone::agreement::OneOrEach;
use undertone::privacy::format_epsilon;
use undertone_lab::budget::budget;
use undertone_lab::experiment::{LoadedExperiment, resolved};
use undertone_lab::stream;
use undertone_lab::{
    Measuring, Outcome, RunEntropy, RunFacts, Setup, Summary, run_folder, simulate,
};

/// A run with its summary and its report.
struct Run {
    setup: Setup,
    outcome: Outcome,
    summary: Summary,
    json: String,
    page: String,
}

impl Run {
    fn new(loaded: &LoadedExperiment) -> Run {
        let setup = loaded.checked.setup().unwrap();
        let streams = stream::load(&loaded.checked, Path::new("."), 1).unwrap();
        let facts = RunFacts {
            rounds_planned: loaded.checked.rounds,
            records_repeat: loaded.checked.data.repeat,
            seed: Some(1),
            source: streams.name.clone(),
            test_records: streams.test.len(),
            records_scaled: streams.scaled,
            records_refused: streams.refused,
            public: streams.public,
            seconds: 1.0,
        };
        let go = |_: Option<&_>| ControlFlow::Continue(());
        let (rounds, entropy) = (loaded.checked.rounds, RunEntropy::new(Some(1)));
        let outcome = simulate(&setup, rounds, streams, entropy, Measuring::Evenly(3), go).unwrap();
        let summary = Summary::new(&setup, &outcome, &facts);
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("run");
        let raw = resolved(loaded, &setup.scales());
        run_folder::write(&folder, &raw, &outcome, &summary, None).unwrap();
        let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let (json, page) = (text("summary.json"), text("report.html"));
        Run { setup, outcome, summary, json, page }
    }

    fn statement(&self) -> String {
        self.summary.privacy_statement.join("\n")
    }

    /// The large figure of a card of the report.
    fn card(&self, title: &str) -> f64 {
        let from = self.page.find(&format!("<h3>{title}</h3>")).unwrap();
        let figure = self.page[from..].split("\">").nth(1).unwrap().split('<').next().unwrap();
        figure.replace(',', "").parse().unwrap_or_else(|_| panic!("{title}: {figure}"))
    }
}

/// Most records are kept for testing, so that learners run out of theirs.
fn runs_dry(rounds: u64, capped: bool) -> LoadedExperiment {
    preset("mushrooms", |raw| {
        raw.data.test_fraction = Some(0.9);
        raw.data.partition = Some("iid".into());
        raw.agreement.records.warmup = Some(50);
        raw.rounds = Some(rounds);
        if capped {
            raw.agreement.noise.calibrate = Some("rounds".into());
        } else {
            raw.agreement.privacy.epsilon = None;
            raw.agreement.noise.calibrate = None;
            raw.agreement.noise.scale = Some(OneOrEach::One(1.0));
        }
    })
}

#[test]
fn no_bound_for_ever_is_shown_below_what_was_spent_once_records_ran_out() {
    let run = Run::new(&runs_dry(3000, false));
    let void = run.setup.lifetime_epsilon_max().unwrap();
    assert!(run.summary.epsilon_paid_max() > void, "the control: more was spent than planned");
    for learner in &run.summary.learners {
        assert!(learner.ran_dry && learner.lifetime.from_here);
        assert!(learner.lifetime.epsilon.unwrap() >= learner.epsilon, "{learner:?}");
    }
    let bounds = run.summary.learners.iter().filter_map(|learner| learner.lifetime.epsilon);
    let here = format_epsilon(bounds.fold(0.0, f64::max));
    let statement = run.statement();
    assert!(statement.contains(&format!("For ever from here: ε = {here} at")), "{statement}");
    assert!(statement.contains("the certificate of the plan is void"), "{statement}");
    assert!(statement.contains("the records of 5 learners ran out"), "{statement}");
    assert!(run.card("ε for ever from here") >= run.summary.epsilon_paid_max());
    for text in [&statement, &run.page, &run.json] {
        assert!(!text.contains(&format_epsilon(void)), "the void bound is nowhere");
    }
    // The control: a run as planned shows the certificate of its plan.
    let planned = Run::new(&preset("mushrooms", |raw| raw.rounds = Some(5)));
    assert!(planned.statement().contains("For ever: ε = 8.0000 at"));
    assert!(planned.card("ε for ever") >= 8.0 && !planned.summary.learners[0].lifetime.from_here);
}

#[test]
fn a_plan_that_was_departed_from_is_not_shown_and_the_cap_is() {
    let run = Run::new(&runs_dry(300, true));
    assert!(run.outcome.ran_dry());
    assert_eq!((run.summary.planned_rounds, run.summary.planned_epsilon), (Some(300), None));
    let statement = run.statement();
    assert!(!statement.contains("Planned:"), "{statement}");
    assert!(statement.contains("For ever: never more than the cap of ε = 8:"), "{statement}");
    assert!(run.summary.epsilon_paid_max() <= 8.0);
    // The control: with enough records the plan is kept, and shown.
    let mut loaded = runs_dry(300, true);
    loaded.checked.data.test_fraction = Some(0.2);
    let kept = Run::new(&loaded);
    assert!(!kept.outcome.ran_dry());
    assert!(kept.summary.planned_epsilon.is_some_and(|epsilon| epsilon <= 8.0 && epsilon > 7.999));
    assert!(kept.statement().contains("Planned: ε = 8.0000 at δ = 1e-6 over 300 rounds"));
    assert!(kept.card("ε planned") >= kept.summary.planned_epsilon.unwrap());
}

#[test]
fn a_record_drawn_again_shows_what_all_its_draws_have_paid_and_never_what_one_did() {
    let loaded = preset("paper-mushrooms", |raw| raw.rounds = Some(3000));
    let run = Run::new(&loaded);
    let (noise, delta) = (run.setup.agreement.noise_kind, run.setup.agreement.delta);
    let mut most = 0.0_f64;
    for (learner, shown) in run.outcome.learners.iter().zip(&run.summary.learners) {
        assert!(learner.draws_max >= 2);
        let paid = learner.spent.of_repeated(learner.draws_max);
        let epsilon = paid.epsilon(noise, delta);
        assert_eq!(shown.epsilon.to_bits(), epsilon.to_bits());
        assert_eq!(shown.epsilon_of_most_drawn.to_bits(), epsilon.to_bits());
        assert_eq!(shown.zcdp.to_bits(), paid.zcdp.to_bits());
        let once = learner.spent.epsilon(noise, delta);
        assert_eq!(shown.epsilon_used_once.to_bits(), once.to_bits());
        assert!(epsilon > 1.9 * once, "the control: {once} is far less");
        assert!(shown.lifetime.epsilon.is_none());
        most = most.max(epsilon);
    }
    let row = run.outcome.rows.last().unwrap();
    let shown = row.epsilon.iter().copied().fold(0.0, f64::max);
    assert!(shown > 0.99 * most, "{shown} {most}");
    assert!(run.card("ε spent") >= most, "{} {most}", run.card("ε spent"));
    let statement = run.statement();
    assert!(statement.contains(&format!("at most ε = {} at", format_epsilon(most))), "{statement}");
    assert!(statement.contains("For ever: no certificate"), "{statement}");
    // A budget without data counts every draw, and says so.
    let rounds = loaded.checked.rounds;
    let report = budget(&run.setup, rounds, delta, Some(&loaded.checked));
    assert!(report.records_repeat);
    for (learner, spent) in report.learners.iter().zip(&run.summary.learners) {
        assert_eq!(learner.uses, loaded.checked.agreement.records.taken_after(rounds));
        assert!(learner.epsilon >= spent.epsilon, "{} {}", learner.epsilon, spent.epsilon);
        assert!(learner.epsilon_used_once < spent.epsilon);
        assert!(learner.lifetime.no_certificate.as_ref().unwrap().contains("drawn again"));
    }
    // The control: an agreement, whose records are used once.
    let once = budget(&run.setup, rounds, delta, None);
    assert!(once.learners.iter().all(|learner| learner.uses == 1));
    assert!(once.learners[0].epsilon < report.learners[0].epsilon);
}
