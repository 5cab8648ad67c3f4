//! Budgets against an independent computation, written from the formulas alone.

use crate::{preset, run};
use undertone::agreement::OneOrEach;
use undertone::method::{Algorithm1, Bound, Method};
use undertone::noise::NoiseKind;
use undertone::privacy::Cost;
use undertone_lab::LoadedExperiment;
use undertone_lab::budget::budget;

/// The numbers of a logistic config that the cost follows from.
struct Facts {
    n: f64,
    radius: f64,
    smoothness: f64,
    convexity: f64,
    spread: f64,
    step: (f64, f64),
    coupling: (f64, f64),
    weight: f64,
    warmup: f64,
    batch: f64,
    scale: (f64, f64),
}

/// zCDP and pure ε of releases 1 … last, by the formulas of the project's design notes.
fn recompute(facts: &Facts, last: u64) -> (f64, f64) {
    let (mut phi, mut zcdp, mut pure) = (0.0f64, 0.0, 0.0);
    for t in 0..=last {
        let x = t as f64 + 1.0;
        let noise = facts.scale.0 * x.powf(facts.scale.1);
        if t > 0 {
            let attraction = facts.weight * facts.coupling.0 / x.powf(facts.coupling.1);
            let machine =
                facts.n.sqrt() / 2f64.powi(50) * (facts.radius + 64.0 * attraction * noise);
            let ratio = (phi + machine) / noise;
            zcdp += ratio * ratio / 2.0;
            pure += facts.n.sqrt() * ratio;
        }
        let lambda = facts.step.0 / x.powf(facts.step.1);
        let attraction = facts.weight * facts.coupling.0 / x.powf(facts.coupling.1);
        let fast = (1.0 - attraction - lambda * facts.smoothness).abs();
        let slow = (1.0 - attraction - lambda * facts.convexity).abs();
        phi = fast.max(slow) * phi + lambda * facts.spread / (facts.warmup + facts.batch * x);
    }
    (zcdp, pure)
}

/// ε from zCDP by a plain scan over Rényi orders.
fn convert(zcdp: f64, delta: f64) -> f64 {
    (1..2_000_000)
        .map(|step| {
            let order = 1.0 + f64::from(step) * 1e-4;
            zcdp * order + (1.0 - 1.0 / order).ln() - (delta * order).ln() / (order - 1.0)
        })
        .fold(f64::INFINITY, f64::min)
}

/// C of a logistic loss of features within norm 1: 2 max √(1 − c²) σ(Bc), by a search that narrows down on it (ADR 0024).
fn logistic_spread(radius: f64) -> f64 {
    let height = |c: f64| (1.0 - c * c).sqrt() / (1.0 + (-radius * c).exp());
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let third = (high - low) / 3.0;
        if height(low + third) < height(high - third) {
            low += third;
        } else {
            high -= third;
        }
    }
    2.0 * height(low)
}

fn default_facts(scale: f64) -> Facts {
    Facts {
        n: 112.0,
        radius: 20.0,
        smoothness: 0.251,
        convexity: 0.001,
        spread: logistic_spread(20.0),
        step: (8.0, 0.55),
        coupling: (2.5, 0.52),
        weight: 0.5,
        warmup: 300.0,
        batch: 1.0,
        scale: (scale, 0.01),
    }
}

fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() < tolerance, "found {found}, expected {expected}");
}

/// 120 rounds with Laplace noise.
fn laplace() -> LoadedExperiment {
    preset("mushrooms", |raw| {
        raw.rounds = Some(120);
        raw.agreement.noise.kind = Some("laplace".into());
    })
}

#[test]
fn what_a_run_says_it_spent_is_what_an_independent_account_finds() {
    let loaded = laplace();
    let (setup, outcome) = run(&loaded.checked, 1, 10);
    for learner in &outcome.learners {
        let (zcdp, pure) = recompute(&default_facts(setup.scales()[0]), 119);
        close(learner.spent.zcdp, zcdp, 1e-9);
        close(learner.spent.pure, pure, 1e-9);
        close(learner.epsilon, convert(zcdp, 1e-6), 1e-7);
    }
}

#[test]
fn a_wrong_recursion_would_be_noticed() {
    // Control: one per cent less spread must not pass the test above.
    let loaded = laplace();
    let (setup, outcome) = run(&loaded.checked, 1, 10);
    let facts = Facts { spread: 0.99 * logistic_spread(20.0), ..default_facts(setup.scales()[0]) };
    let (zcdp, _) = recompute(&facts, 119);
    assert!((outcome.learners[0].spent.zcdp / zcdp - 1.0).abs() > 1e-3);
}

#[test]
fn calibrated_noise_meets_the_lifetime_target_exactly_and_never_passes_it() {
    for epsilon in [0.5, 2.0, 8.0] {
        let loaded = preset("mushrooms", |raw| {
            raw.agreement.privacy.epsilon = Some(OneOrEach::One(epsilon))
        });
        let setup = loaded.checked.setup().unwrap();
        let report = budget(&setup, 800, 1e-6, None);
        for learner in &report.learners {
            let lifetime = learner.lifetime.epsilon.unwrap();
            assert!(lifetime <= epsilon && lifetime > epsilon * (1.0 - 1e-6), "{lifetime}");
            assert!(learner.epsilon < lifetime);
            // A million rounds stay below the certificate, which is not far above them.
            let (zcdp, _) = recompute(&default_facts(learner.noise_scale), 1_000_000);
            let long = Cost { pure: f64::INFINITY, zcdp }.epsilon(NoiseKind::Gaussian, 1e-6);
            assert!(long <= lifetime && long > 0.99 * lifetime, "{long} {lifetime}");
        }
    }
}

#[test]
fn learners_may_choose_their_own_budgets() {
    let loaded = preset("mushrooms", |raw| {
        raw.agreement.privacy.epsilon = Some(OneOrEach::Each(vec![1.0, 2.0, 4.0, 8.0, 16.0]));
    });
    let setup = loaded.checked.setup().unwrap();
    let scales = setup.scales();
    assert!(scales.windows(2).all(|pair| pair[0] > pair[1]), "{scales:?}");
    let report = budget(&setup, 100, 1e-6, None);
    for (learner, target) in report.learners.iter().zip([1.0, 2.0, 4.0, 8.0, 16.0]) {
        assert!(learner.lifetime.epsilon.unwrap() <= target);
    }
}

#[test]
fn the_papers_own_settings_have_a_tight_budget_where_its_own_bound_is_vacuous() {
    let loaded = preset("paper-mushrooms", |raw| raw.rounds = Some(2000));
    let mut experiment = loaded.checked;
    let tight = budget(&experiment.setup().unwrap(), 2000, 1e-6, None);
    experiment.agreement.method = Method::Algorithm1(Algorithm1 { bound: Bound::Theorem5ii });
    let paper = budget(&experiment.setup().unwrap(), 2000, 1e-6, None);
    assert!(tight.unproven);
    assert!(tight.learners[0].pure_epsilon.unwrap() < 1e5);
    assert!(paper.learners[0].pure_epsilon.unwrap() > 1e30);
    assert!(paper.learners[0].lifetime.epsilon.is_none());
}

#[test]
fn a_shielded_run_pays_for_each_gradient_and_nothing_else_and_learns() {
    let loaded = preset("shielded-mushrooms", |_| ());
    let (setup, outcome) = run(&loaded.checked, 1, 10);
    let scale = setup.scales()[0];
    // Clipped to slopes of ¼, two records' gradients are at most ½ apart.
    let cost = |last: u64| -> f64 {
        let gradients = (1..=last).filter(|t| t % 8 == 0);
        let ratio = |t: u64| 0.5 / (800.0 + t as f64) / (scale * (t as f64 + 1.0).powf(0.18));
        gradients.map(|t| ratio(t).powi(2) / 2.0).sum()
    };
    for learner in &outcome.learners {
        close(learner.spent.zcdp, cost(299), 1e-9);
    }
    let report = budget(&setup, 300, 1e-6, None);
    let certified = report.learners[0].lifetime.zcdp.unwrap();
    assert!(cost(2_000_000) <= certified && cost(2_000_000) > 0.99 * certified);
    // Control: the same without the cut would not pass.
    assert!((outcome.learners[0].spent.zcdp / (16.0 * cost(299)) - 1.0).abs() > 0.9);
    let last = outcome.rows.last().unwrap().metrics;
    assert!(last.test_accuracy_public.unwrap() > 0.96, "{last:?}");
}
