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
use std::sync::OnceLock;
use undertone::noise::NoiseKind;
use undertone::privacy::{
    Accountant, Lifetime, Mechanism, NoCertificate, RoundTerms, planned_cost, user_cost,
};
use undertone::{LearnerId, Round};
use undertone_lab::Setup;
use undertone_lab::budget::{LearnerBudget, budget};

/// Configs tried.
const CONFIGS: u64 = 520;
/// How far above the truth an account may be, as a share of it.
const ABOVE: f64 = 1e-9;
/// What rounding may do to the reference.
const ROUNDING: f64 = 1e-12;

/// What disagrees.
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn expect(&mut self, holds: bool, what: &str, config: &Config, found: f64, truth: f64) {
        if !holds {
            let above = found / truth - 1.0;
            self.0.push(format!("{what}: {found} of {truth}, {above:e} above\n{}", config.text));
        }
    }

    fn not_below(&mut self, what: &str, config: &Config, found: f64, truth: f64) {
        self.expect(found >= truth * (1.0 - ROUNDING), what, config, found, truth);
    }

    /// The account is the truth, rounded up.
    fn rounded_up(&mut self, what: &str, config: &Config, found: f64, truth: f64) {
        let is_near = found <= truth * (1.0 + ABOVE);
        self.expect(is_near && found >= truth * (1.0 - ROUNDING), what, config, found, truth);
    }

    fn both_rounded_up(&mut self, config: &Config, (pure, zcdp): (f64, f64), truth: &Spent) {
        self.rounded_up("zCDP", config, zcdp, truth.zcdp);
        self.rounded_up("pure", config, pure, truth.pure);
    }
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

/// A config with its setup, and one of its learners.
struct Case {
    config: Config,
    setup: Setup,
    id: LearnerId,
    facts: Facts,
    seed: u64,
}

impl Case {
    fn new(seed: u64) -> Case {
        let mut dice = Dice(seed);
        let config = Config::random(&mut dice);
        let setup = config.setup();
        let id = LearnerId(dice.below(setup.mechanisms.len() as u64) as u32);
        let facts = config.facts(&config.noise_of(&setup), id);
        Case { config, setup, id, facts, seed }
    }

    fn mechanism(&self) -> &Mechanism {
        &self.setup.mechanisms[self.id.0 as usize]
    }

    fn lifetime(&self) -> &Result<Lifetime, NoCertificate> {
        &self.setup.lifetimes[self.id.0 as usize]
    }

    fn budget(&self) -> LearnerBudget {
        let Config { rounds, delta, .. } = self.config;
        budget(&self.setup, rounds, delta, None).learners[self.id.0 as usize].clone()
    }
}

/// Made once for all tests: certificates take long.
fn cases() -> &'static [Case] {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    CASES.get_or_init(|| (0..CONFIGS).map(Case::new).collect())
}

#[track_caller]
fn check_each(mut check: impl FnMut(&mut Faults, &Case)) {
    let mut faults = Faults::default();
    cases().iter().for_each(|case| check(&mut faults, case));
    let Faults(list) = faults;
    let shown = list[..list.len().min(3)].join("\n\n");
    assert!(list.is_empty(), "{} faults, among them:\n{shown}", list.len());
}

#[test]
fn planned_budgets_are_those_of_the_reference_rounded_up() {
    let mut cheaper = 0;
    check_each(|faults, case| {
        let Case { config, facts, .. } = case;
        let truth = facts.spent(&facts.planned(config.rounds));
        let total = planned_cost(case.mechanism(), config.rounds);
        faults.both_rounded_up(config, (total.pure, total.zcdp), &truth);
        let report = case.budget();
        let (least, most) = (planned_epsilon(config, facts, &truth), epsilon(config, &truth));
        if facts.forgets() {
            // Such a plan is priced as if the record that pays most paid evenly.
            faults.not_below("planned ε", config, report.epsilon, least);
            faults.not_below("ε of the total", config, most * (1.0 + ABOVE), report.epsilon);
        } else {
            faults.rounded_up("planned ε", config, report.epsilon, least);
            cheaper += u32::from(report.epsilon < 0.99 * most);
        }
    });
    assert!(cheaper > 20, "of {cheaper} plans with Laplace noise the exact price differs");
}

#[test]
fn running_accounts_are_those_of_the_reference_rounded_up() {
    check_each(|faults, case| {
        let Case { config, facts, seed, .. } = case;
        let story = facts.story(config.rounds.min(120), &mut Dice(!seed));
        let mut account = Accountant::new(*case.mechanism(), None);
        let mut records = 0;
        account.pay().unwrap();
        for (t, happened) in (0..).zip(&story) {
            records += happened.arrived;
            let terms = RoundTerms { round: Round(t), weight_heard: happened.heard, records };
            account.advance(&terms);
            account.pay().unwrap();
        }
        let (spent, truth) = (account.spent(), facts.spent(&story));
        faults.both_rounded_up(config, (spent.pure, spent.zcdp), &truth);
        faults.rounded_up("ε", config, account.epsilon(config.delta), epsilon(config, &truth));
        // A bound for ever from here is above what is paid if all goes as planned from here on.
        if let Ok(bound) = account.for_ever(case.lifetime()) {
            let rest = Happened { arrived: facts.batch, heard: facts.weight };
            let longer: Vec<_> = story.into_iter().chain([rest; 200]).collect();
            let later = facts.spent(&longer);
            faults.not_below("zCDP from here", config, bound.total.zcdp, later.zcdp);
            faults.not_below("pure from here", config, bound.total.pure, later.pure);
        }
    });
}

#[test]
fn bounds_for_ever_are_never_below_a_long_run_of_the_reference() {
    let mut certified = 0;
    check_each(|faults, case| {
        let Case { config, setup, id, facts, .. } = case;
        let Ok(bound) = case.lifetime() else { return };
        certified += 1;
        let long = if facts.forgets() { 300 } else { 20_000 };
        let truth = facts.spent_by_first(&facts.planned(long));
        faults.not_below("zCDP", config, bound.total.zcdp, truth.zcdp);
        faults.not_below("pure", config, bound.total.pure, truth.pure);
        let shown = setup.lifetime_epsilon(*id).unwrap_or(f64::INFINITY);
        faults.not_below("ε", config, shown, epsilon(config, &truth));
        let (pure, zcdp) = (bound.total.pure, bound.total.zcdp);
        let total = Spent { pure, zcdp, ratios: Vec::new() };
        faults.rounded_up("ε of the bound", config, shown, epsilon(config, &total));
    });
    assert!(certified > 150, "{certified} configs with a certificate");
}

#[test]
fn user_level_is_that_of_the_reference_rounded_up() {
    check_each(|faults, case| {
        let Case { config, facts, .. } = case;
        let rounds = config.rounds.min(60);
        let found = user_cost(case.mechanism(), rounds);
        faults.both_rounded_up(config, (found.pure, found.zcdp), &facts.user(rounds));
    });
}

#[test]
fn calibrated_noise_is_the_least_by_the_reference_too() {
    let mut calibrated = 0;
    check_each(|faults, case| {
        let Case { config, facts, .. } = case;
        let Some(target) = config.calibrated_for_rounds else { return };
        calibrated += 1;
        let truth = facts.spent(&facts.planned(config.rounds));
        // As a cap is enforced: pure ε may be less.
        let found = epsilon(config, &Spent { pure: f64::INFINITY, ..truth });
        let is_least = found <= target && found > target * (1.0 - 1e-8);
        faults.expect(is_least, "calibrated", config, found, target);
        // What is shown of the plan may be less.
        let shown = case.budget().epsilon;
        faults.expect(shown <= target, "shown", config, shown, target);
    });
    assert!(calibrated > 40, "{calibrated}");
}

/// The control: a reference with one term changed is told apart, so that agreement means something.
#[test]
fn a_wrong_reference_would_be_noticed() {
    type Change = fn(&mut Facts);
    let changes: [(&str, Change, usize); 5] = [
        ("spread", |facts| facts.spread *= 1.0 + 1e-8, 400),
        ("noise", |facts| facts.scale.0 *= 1.0 - 1e-8, 400),
        ("records", |facts| facts.warmup += 1, 200),
        ("steps", |facts| facts.step.1 += 1e-6, 200),
        ("machine", |facts| facts.radius *= 1e7, 50),
    ];
    for (name, change, least) in changes {
        let noticed = cases().iter().filter(|case| {
            let mut wrong = case.facts.clone();
            change(&mut wrong);
            let rounds = case.config.rounds;
            let found = planned_cost(case.mechanism(), rounds).zcdp;
            let truth = wrong.spent(&wrong.planned(rounds)).zcdp;
            !(found >= truth * (1.0 - ROUNDING) && found <= truth * (1.0 + ABOVE))
        });
        let noticed = noticed.count();
        assert!(noticed >= least, "{name}: {noticed}");
    }
}
