//! Every ε of random configs, beside an accountant that is written from the formulas of the decision records alone.
//!
//! `reference` knows no type of the program. It follows every record by itself, adds up by definition and searches where
//! the program computes. Its own roundings are below 10⁻¹¹.

mod configs;
mod conversion;
mod reference;

use configs::{Config, Dice};
use conversion::{gaussian_epsilon, laplace_epsilon, laplace_plan_epsilon};
use reference::{Facts, Happened, Spent};
use undertone::noise::NoiseKind;
use undertone::privacy::{Accountant, RoundTerms, planned_cost, user_cost};
use undertone::{LearnerId, Round};
use undertone_lab::Setup;
use undertone_lab::budget::{LearnerBudget, budget};

/// Configs tried.
const CONFIGS: u64 = 600;
/// How far above the truth an account may be, as a share of it.
const ABOVE: f64 = 1e-9;
/// What rounding may do to the reference.
const ROUNDING: f64 = 1e-12;

/// The account is the truth, rounded up.
#[track_caller]
fn is_truth_rounded_up(what: &str, config: &Config, found: f64, truth: f64) {
    if truth.is_infinite() {
        assert!(found.is_infinite(), "{what}: {found} of {truth}\n{}", config.text);
        return;
    }
    assert!(found >= truth * (1.0 - ROUNDING), "{what}: {found} below {truth}\n{}", config.text);
    assert!(found <= truth * (1.0 + ABOVE), "{what}: {found} above {truth}\n{}", config.text);
}

#[track_caller]
fn are_truth_rounded_up(what: &str, config: &Config, pure: f64, zcdp: f64, truth: &Spent) {
    is_truth_rounded_up(&format!("{what}, zCDP"), config, zcdp, truth.zcdp);
    is_truth_rounded_up(&format!("{what}, pure"), config, pure, truth.pure);
}

/// ε at δ of a total, by the reference.
fn epsilon(config: &Config, total: &Spent) -> f64 {
    match config.noise {
        NoiseKind::Gaussian => gaussian_epsilon((2.0 * total.zcdp).sqrt(), config.delta),
        NoiseKind::Laplace => laplace_epsilon(total.zcdp, config.delta).min(total.pure),
    }
}

/// ε at δ of planned releases, of which every ratio of sensitivity and noise is known, by the reference.
fn planned_epsilon(config: &Config, facts: &Facts, total: &Spent) -> f64 {
    match config.noise {
        NoiseKind::Gaussian => epsilon(config, total),
        NoiseKind::Laplace => {
            let exact = laplace_plan_epsilon(&total.ratios, facts.dimension, config.delta);
            epsilon(config, total).min(exact)
        }
    }
}

/// The configs, each with its setup, one of its learners and that one's facts.
fn each_config(mut check: impl FnMut(&Config, &Setup, LearnerId, &Facts, &mut Dice)) {
    for seed in 0..CONFIGS {
        let mut dice = Dice(seed);
        let config = Config::random(&mut dice);
        let setup = config.setup();
        let id = LearnerId(dice.below(setup.mechanisms.len() as u64) as u32);
        let facts = config.facts(&setup, id);
        check(&config, &setup, id, &facts, &mut dice);
    }
}

#[test]
fn planned_budgets_are_those_of_the_reference_rounded_up() {
    let mut cheaper = 0;
    each_config(|config, setup, id, facts, _| {
        let mechanism = &setup.mechanisms[id.0 as usize];
        let truth = facts.spent(&facts.planned(config.rounds));
        let total = planned_cost(mechanism, config.rounds);
        are_truth_rounded_up("planned", config, total.pure, total.zcdp, &truth);
        let report: LearnerBudget =
            budget(setup, config.rounds, config.delta, None).learners[id.0 as usize].clone();
        if truth.zcdp > 0.0 && !facts.forgets() {
            let expected = planned_epsilon(config, facts, &truth);
            is_truth_rounded_up("planned ε", config, report.epsilon, expected);
            cheaper += u32::from(report.epsilon < 0.99 * epsilon(config, &truth));
        } else if truth.zcdp > 0.0 {
            // Where records are forgotten a plan is priced as if the record that pays most paid evenly.
            let (least, most) = (planned_epsilon(config, facts, &truth), epsilon(config, &truth));
            assert!(report.epsilon >= least * (1.0 - ROUNDING), "{}", config.text);
            assert!(report.epsilon <= most * (1.0 + ABOVE), "{}", config.text);
        }
    });
    assert!(cheaper > 20, "of {cheaper} plans with Laplace noise the exact price differs");
}

#[test]
fn running_accounts_are_those_of_the_reference_rounded_up() {
    each_config(|config, setup, id, facts, dice| {
        let mechanism = setup.mechanisms[id.0 as usize];
        let story = facts.story(config.rounds.min(120), dice);
        let mut account = Accountant::new(mechanism, None);
        let mut records = 0;
        account.pay().unwrap();
        for (t, happened) in (0..).zip(&story) {
            records += happened.arrived;
            let terms = RoundTerms { round: Round(t), weight_heard: happened.heard, records };
            account.advance(&terms);
            account.pay().unwrap();
        }
        let (spent, truth) = (account.spent(), facts.spent(&story));
        are_truth_rounded_up("running", config, spent.pure, spent.zcdp, &truth);
        let (found, expected) = (account.epsilon(config.delta), epsilon(config, &truth));
        is_truth_rounded_up("running ε", config, found, expected);
        // A bound for ever from here is above what is paid if all goes as planned from here on.
        let planned = &setup.lifetimes[id.0 as usize];
        if let Ok(bound) = account.for_ever(planned) {
            let mut longer = story;
            for _ in 0..200 {
                longer.push(Happened { arrived: facts.batch, heard: facts.weight });
            }
            let later = facts.spent(&longer);
            assert!(bound.total.zcdp >= later.zcdp * (1.0 - ROUNDING), "{}", config.text);
            assert!(bound.total.pure >= later.pure * (1.0 - ROUNDING), "{}", config.text);
        }
    });
}

#[test]
fn bounds_for_ever_are_never_below_a_long_run_of_the_reference() {
    let mut certified = 0;
    each_config(|config, setup, id, facts, _| {
        let Ok(bound) = &setup.lifetimes[id.0 as usize] else { return };
        certified += 1;
        let long = if facts.forgets() { 300 } else { 20_000 };
        let truth = facts.spent_by_first(&facts.planned(long));
        assert!(bound.total.zcdp >= truth.zcdp * (1.0 - ROUNDING), "{}", config.text);
        assert!(bound.total.pure >= truth.pure * (1.0 - ROUNDING), "{}", config.text);
        let shown = setup.lifetime_epsilon(id).unwrap_or(f64::INFINITY);
        let (total, expected) = (bound.total, epsilon(config, &truth));
        assert!(shown >= expected * (1.0 - ROUNDING), "{}", config.text);
        let total = Spent { pure: total.pure, zcdp: total.zcdp, ratios: Vec::new() };
        is_truth_rounded_up("for ever", config, shown, epsilon(config, &total));
    });
    assert!(certified > 150, "{certified} configs with a certificate");
}

#[test]
fn user_level_is_that_of_the_reference_rounded_up() {
    each_config(|config, setup, id, facts, _| {
        let rounds = config.rounds.min(60);
        let found = user_cost(&setup.mechanisms[id.0 as usize], rounds);
        let truth = facts.user(rounds);
        if truth.zcdp.is_finite() && truth.zcdp < 1e200 {
            are_truth_rounded_up("user", config, found.pure, found.zcdp, &truth);
        }
    });
}

#[test]
fn calibrated_noise_is_the_least_by_the_reference_too() {
    let mut calibrated = 0;
    each_config(|config, setup, id, facts, _| {
        let Some(target) = config.calibrated_for_rounds else { return };
        calibrated += 1;
        let truth = facts.spent(&facts.planned(config.rounds));
        let found = epsilon(config, &truth);
        assert!(found <= target && found > target * (1.0 - 1e-8), "{found}\n{}", config.text);
        // What is shown of the plan may be less.
        let report = budget(setup, config.rounds, config.delta, None);
        assert!(report.learners[id.0 as usize].epsilon <= target);
    });
    assert!(calibrated > 40, "{calibrated}");
}

/// The control: a reference with one term changed is told apart, so that agreement means something.
#[test]
fn a_wrong_reference_would_be_noticed() {
    type Change = fn(&mut Facts);
    let changes: [(&str, Change); 5] = [
        ("spread", |facts| facts.spread *= 1.0 + 1e-8),
        ("noise", |facts| facts.scale.0 *= 1.0 - 1e-8),
        ("records", |facts| facts.warmup += 1),
        ("steps", |facts| facts.step.1 += 1e-6),
        ("machine", |facts| facts.radius *= 1e7),
    ];
    for (name, change) in changes {
        let mut noticed = 0;
        each_config(|config, setup, id, facts, _| {
            let mut wrong = facts.clone();
            change(&mut wrong);
            let found = planned_cost(&setup.mechanisms[id.0 as usize], config.rounds).zcdp;
            let truth = wrong.spent(&wrong.planned(config.rounds)).zcdp;
            noticed += u32::from(found < truth * (1.0 - ROUNDING) || found > truth * (1.0 + ABOVE));
        });
        assert!(noticed > 100, "{name}: {noticed}");
    }
}
