//! The audit passes an honest learner, and catches every planted fault of its account by the check named here.

use crate::preset;
use undertone::agreement::OneOrEach;
use undertone::noise::{Entropy, NoiseKind};
use undertone::privacy::{Cost, record_cost};
use undertone::{DataBounds, LearnerId, PrivateParameters, Release, ReleaseError, Round};
use undertone_lab::audit::{
    Check, Claims, Effort, Facts, Layer, LearnerSubject, Options, Subject, Trial, Verdict, audit,
    audit_subject, passes,
};
use undertone_lab::{Experiment, RunEntropy, Setup, stream};
use undertone_models::{BoundedRecord, Model, Record, RecordError};

/// Enough for faults that are not a matter of statistics.
pub(crate) const QUICK: Effort = Effort {
    samples: 40_000,
    canaries: 40_000,
    runs: 400,
    climb_steps: 5,
    account_rounds: 2000,
    work: 1.5e6,
    layer_work: 3e7,
};
/// Enough to see 2 % of scale: 8.9 standard deviations.
pub(crate) const SAMPLES: Effort = Effort { samples: 200_000, canaries: 200_000, ..QUICK };
/// Enough to ask for the power of the distinguisher.
pub(crate) const RUNS: Effort =
    Effort { runs: 12_000, layer_work: 1e10, account_rounds: 1 << 18, ..QUICK };
/// Enough to find a pair that reaches more than half of what is claimed.
const SEARCH: Effort = Effort { climb_steps: 10, work: 1e7, ..QUICK };
pub(crate) const ID: LearnerId = LearnerId(0);
/// How many rounds the learners run.
const ROUNDS: u64 = 60;

pub(crate) fn setup() -> Setup {
    experiment(NoiseKind::Laplace).setup().unwrap()
}

pub(crate) fn setup_with(kind: NoiseKind) -> Setup {
    experiment(kind).setup().unwrap()
}

/// The default preset over fewer rounds and records.
fn experiment(kind: NoiseKind) -> Experiment {
    let loaded = preset("mushrooms", |raw| {
        raw.rounds = Some(ROUNDS);
        raw.agreement.records.warmup = Some(20);
        raw.agreement.noise.kind = Some(word(kind).into());
    });
    loaded.checked
}

/// As configs name it.
pub(crate) fn word(kind: NoiseKind) -> &'static str {
    match kind {
        NoiseKind::Laplace => "laplace",
        NoiseKind::Gaussian => "gaussian",
    }
}

pub(crate) fn honest(setup: &Setup, seed: u64, trial: &Trial) -> LearnerSubject<RunEntropy> {
    LearnerSubject::new(setup, ID, trial.entropy(Some(seed)), trial)
}

pub(crate) fn run<S: Subject>(
    setup: &Setup,
    effort: &Effort,
    make: impl Fn(&Trial) -> S + Sync,
) -> Vec<Check> {
    audit_subject(&facts(setup), effort, &make).unwrap()
}

fn facts(setup: &Setup) -> Facts {
    Facts::new(setup, ROUNDS, ID, Vec::new(), 1)
}

pub(crate) fn failed(checks: &[Check]) -> Vec<(Layer, &'static str)> {
    let bad = checks.iter().filter(|check| !check.verdict.passes());
    bad.map(|check| (check.layer, check.name)).collect()
}

#[track_caller]
pub(crate) fn assert_caught(checks: &[Check], by: (Layer, &'static str)) {
    assert!(failed(checks).contains(&by), "{by:?} caught nothing; failed: {:?}", failed(checks));
}

/// A learner with something wrong about it: each hook is right unless a test changes it.
pub(crate) struct Faulty<E> {
    pub(crate) inner: LearnerSubject<E>,
    /// What is really claimed, from the honest claims.
    pub(crate) claims: fn(Claims) -> Claims,
    /// What is really sent, from θ, the claims, how often it was asked, and the honest release.
    pub(crate) sent: fn(&[f64], &Claims, u64, Vec<f64>) -> Vec<f64>,
    pub(crate) asked: u64,
    pub(crate) secret: Vec<f64>,
}

impl<E: Entropy> Faulty<E> {
    pub(crate) fn new(inner: LearnerSubject<E>) -> Faulty<E> {
        let (claims, sent) = (|claims| claims, |_: &[f64], _: &Claims, _, sent| sent);
        Faulty { inner, claims, sent, asked: 0, secret: Vec::new() }
    }
}

impl<E: Entropy> Subject for Faulty<E> {
    fn check(&self, record: Record) -> Result<BoundedRecord, RecordError> {
        self.inner.check(record)
    }

    fn observe(&mut self, batch: &[BoundedRecord]) {
        self.inner.observe(batch);
    }

    fn secret(&self) -> Option<PrivateParameters<'_>> {
        self.inner.secret()
    }

    fn release(&mut self) -> Result<Vec<f64>, ReleaseError> {
        if let Some(secret) = self.inner.secret() {
            self.secret = secret.for_owner().to_vec();
        }
        let sent = self.inner.release()?;
        self.asked += 1;
        Ok((self.sent)(&self.secret, &self.claims(), self.asked, sent))
    }

    fn sent(&self) -> &[f64] {
        self.inner.sent()
    }

    fn absorb(&mut self, heard: &[&Release]) {
        self.inner.absorb(heard);
        self.asked = 0;
    }

    fn claims(&self) -> Claims {
        (self.claims)(self.inner.claims())
    }
}

/// 21 checks a run at 10⁻⁶ each: a false alarm in these runs has a chance of 10⁻⁴.
#[test]
fn an_honest_learner_passes_with_every_seed() {
    let setup = setup();
    for seed in [1, 2, 3, 5, 8, 13, 21, 34] {
        let checks = run(&setup, &QUICK, |trial| honest(&setup, seed, trial));
        assert_eq!(failed(&checks), [], "seed {seed}: {checks:#?}");
    }
    let checks = run(&setup, &RUNS, |trial| honest(&setup, 55, trial));
    assert!(checks.iter().all(|check| check.verdict == Verdict::Holds), "{checks:#?}");
}

#[test]
fn an_honest_learner_with_gaussian_noise_passes() {
    let setup = setup_with(NoiseKind::Gaussian);
    for seed in [1, 2, 3] {
        let checks = run(&setup, &QUICK, |trial| honest(&setup, seed, trial));
        assert_eq!(failed(&checks), [], "seed {seed}: {checks:#?}");
    }
}

#[test]
fn the_operating_systems_noise_and_the_learners_own_records_pass() {
    let experiment = experiment(NoiseKind::Laplace);
    let data = stream::load(&experiment, std::path::Path::new("."), 1).unwrap();
    let options = Options { seed: None, learner: None, effort: QUICK };
    let setup = experiment.setup().unwrap();
    let report = audit(&setup, ROUNDS, Some(&data), &options, |_, _| ()).unwrap();
    assert!(report.passed, "{report:#?}");
    assert!(report.own_data);
    // All five learners are alike.
    assert_eq!(report.audits.len(), 1);
    assert_eq!(report.audits[0].learners, [0, 1, 2, 3, 4]);
    assert_eq!(report.audits[0].records_of, [0, 1, 2, 3]);
}

#[test]
fn bounds_that_are_not_enforced_are_caught() {
    let setup = setup();
    let mut wide = setup.clone();
    let bounds = DataBounds { feature_norm: 1e6, label: 1e6, ..*setup.model.bounds() };
    wide.model = Model::new(*setup.model.spec(), bounds).unwrap().into();
    let checks = run(&setup, &QUICK, |trial| honest(&wide, 1, trial));
    assert_caught(&checks, (Layer::Replay, "bounds"));
}

/// What a record does is no excuse for accepting it: an account twice too large hides its harm.
#[test]
fn one_record_outside_the_bounds_is_one_too_many() {
    let setup = setup();
    let mut wide = setup.clone();
    let norm = 1.6 * setup.model.bounds().feature_norm;
    let bounds = DataBounds { feature_norm: norm, ..*setup.model.bounds() };
    wide.model = Model::new(*setup.model.spec(), bounds).unwrap().into();
    let checks = run(&setup, &QUICK, |trial| Faulty {
        claims: |claims| Claims {
            sensitivity: 4.0 * claims.sensitivity,
            spent: Cost { pure: 4.0 * claims.spent.pure, zcdp: 16.0 * claims.spent.zcdp },
            ..claims
        },
        ..Faulty::new(honest(&wide, 1, trial))
    });
    assert_caught(&checks, (Layer::Replay, "bounds"));
}

/// The audit cuts a long warm-up, so the cap would refuse the first charge of every replay.
#[test]
fn a_warm_up_that_is_cut_does_not_end_replays_before_they_cost_anything() {
    let loaded = preset("mushrooms", |raw| {
        raw.rounds = Some(ROUNDS);
        raw.agreement.records.warmup = Some(100_000);
    });
    let setup = loaded.checked.setup().unwrap();
    let checks = run(&setup, &QUICK, |trial| honest(&setup, 1, trial));
    assert_eq!(failed(&checks), [], "{checks:#?}");
    let note = |name| &checks.iter().find(|check| check.name == name).unwrap().note;
    assert!(note("distance").contains("of 100000"), "{}", note("distance"));
    // Only a replay that goes on for rounds that cost something sees half the claim.
    let checks = run(&setup, &SEARCH, |trial| Faulty {
        claims: |claims| Claims { sensitivity: 0.5 * claims.sensitivity, ..claims },
        ..Faulty::new(honest(&setup, 1, trial))
    });
    assert_caught(&checks, (Layer::Replay, "distance"));
}

/// A learner that never pays: everything it claims would hold, for nothing was compared.
#[test]
fn replays_without_a_charge_or_without_effect_are_dead() {
    let setup = setup();
    let mut deaf = setup.clone();
    // Its records do not count: the twins never differ.
    deaf.mechanisms[0].schedule.step.initial = 1e-9;
    let checks = run(&setup, &QUICK, |trial| honest(&deaf, 1, trial));
    assert_caught(&checks, (Layer::Replay, "power"));
    let checks = run(&setup, &QUICK, |trial| Faulty {
        claims: |claims| Claims { spent: Cost::default(), ..claims },
        ..Faulty::new(honest(&deaf, 1, trial))
    });
    assert_caught(&checks, (Layer::Replay, "power"));
}

#[test]
fn an_audit_whose_layers_were_skipped_does_not_pass() {
    let setup = setup();
    let checks = run(&setup, &QUICK, |trial| honest(&setup, 1, trial));
    assert!(passes(&checks));
    for layer in [Layer::Replay, Layer::Account, Layer::Residuals, Layer::Canaries] {
        let mut skipped = checks.clone();
        for check in skipped.iter_mut().filter(|check| check.layer == layer) {
            check.verdict = Verdict::Skipped;
        }
        assert!(!passes(&skipped), "{layer:?}");
    }
}

#[test]
fn a_cap_that_is_not_kept_is_caught() {
    let setup = setup();
    let checks =
        run(&setup, &QUICK, |trial| honest(&setup, 1, &Trial { capped: false, ..trial.clone() }));
    assert_caught(&checks, (Layer::Account, "cap"));
}

/// What is promised beforehand, halved: the setup, the certificate, and its tail alone.
#[test]
fn promises_below_the_account_are_caught() {
    let setup = setup();
    let long = Effort { account_rounds: 1 << 20, ..QUICK };
    let honest_facts = facts(&setup);
    let half = |cost: Cost| Cost { pure: 0.5 * cost.pure, zcdp: 0.5 * cost.zcdp };
    let audit_with = |facts: &Facts| {
        audit_subject(facts, &long, &|trial: &Trial| honest(&setup, 1, trial)).unwrap()
    };
    assert_eq!(failed(&audit_with(&honest_facts)), []);
    let mut facts = honest_facts.clone();
    facts.planned = half(facts.planned);
    assert_caught(&audit_with(&facts), (Layer::Account, "planned"));
    let mut facts = honest_facts.clone();
    let lifetime = facts.lifetime.as_mut().unwrap();
    lifetime.total = half(lifetime.total);
    assert_caught(&audit_with(&facts), (Layer::Account, "lifetime"));
    let mut facts = honest_facts.clone();
    let lifetime = facts.lifetime.as_mut().unwrap();
    let cut = half(lifetime.tail);
    lifetime.tail = cut;
    lifetime.total.pure -= cut.pure;
    lifetime.total.zcdp -= cut.zcdp;
    assert_caught(&audit_with(&facts), (Layer::Account, "tail"));
}

/// An account that is short in the middle of a run and right at its end.
#[test]
fn an_account_that_lags_behind_is_caught() {
    let setup = setup();
    let checks = run(&setup, &SEARCH, |trial| Faulty {
        claims: |claims| {
            let factor = if claims.round.0 == 1 { 0.5 } else { 2.0 };
            let spent = Cost { pure: factor * claims.spent.pure, zcdp: factor * claims.spent.zcdp };
            Claims { spent, ..claims }
        },
        ..Faulty::new(honest(&setup, 1, trial))
    });
    assert_caught(&checks, (Layer::Replay, "pure"));
    assert_caught(&checks, (Layer::Replay, "zcdp"));
}

#[test]
fn the_largest_numbers_of_a_config_cost_no_more_than_others() {
    let rounds = 4_000_000_000;
    let loaded = preset("mushrooms", |raw| {
        raw.rounds = Some(rounds);
        raw.agreement.records.warmup = Some(1_000_000_000);
        raw.agreement.records.batch = Some(1_000_000_000);
        raw.agreement.model.features = Some(20_000.into());
        raw.agreement.noise.calibrate = None;
        raw.agreement.noise.scale = Some(OneOrEach::One(0.1));
        raw.agreement.privacy.epsilon = None;
    });
    let setup = loaded.checked.setup().unwrap();
    let facts = Facts::new(&setup, rounds, ID, Vec::new(), 1);
    let make = |trial: &Trial| honest(&setup, 1, trial);
    let checks = audit_subject(&facts, &QUICK, &make).unwrap();
    assert_eq!(failed(&checks), [], "{checks:#?}");
    let find = |name| checks.iter().find(|check| check.name == name).unwrap();
    assert!(find("distance").note.contains("of 4000000000 rounds"));
    // Two runs are compared however large the model is.
    assert_eq!(find("trials").verdict, Verdict::Holds);
}

#[test]
fn a_start_that_is_spread_is_where_the_audit_starts() {
    let loaded = preset("mushrooms", |raw| {
        raw.rounds = Some(ROUNDS);
        raw.agreement.parameters.start_spread = Some(1.0);
    });
    let setup = loaded.checked.setup().unwrap();
    let first = honest(&setup, 1, &Trial::new(0));
    let second = honest(&setup, 1, &Trial::new(1));
    let start = first.secret().unwrap().for_owner();
    assert!(start.iter().all(|x| x.abs() > 0.0 && x.abs() <= 1.0));
    // Public: the twins share it.
    assert!(start.iter().eq(second.secret().unwrap().for_owner()));
    let checks = run(&setup, &QUICK, |trial| honest(&setup, 1, trial));
    assert_eq!(failed(&checks), [], "{checks:#?}");
}

#[test]
fn debug_output_of_a_trial_never_shows_its_secret() {
    let trial = Trial { planted: Some(vec![0.125]), start: Some(vec![0.375]), ..Trial::new(3) };
    let text = format!("{trial:?}");
    assert!(text.contains("number=3") && !text.contains("0.125") && !text.contains("0.375"));
}

#[test]
fn half_the_sensitivity_is_caught_by_the_replay() {
    let setup = setup();
    let checks = run(&setup, &SEARCH, |trial| Faulty {
        claims: |claims| Claims {
            sensitivity: 0.5 * claims.sensitivity,
            spent: Cost { pure: 0.5 * claims.spent.pure, zcdp: 0.25 * claims.spent.zcdp },
            ..claims
        },
        ..Faulty::new(honest(&setup, 1, trial))
    });
    assert_caught(&checks, (Layer::Replay, "distance"));
    assert_caught(&checks, (Layer::Replay, "pure"));
    assert_caught(&checks, (Layer::Replay, "zcdp"));
}

/// A learner whose memory is a window behind a long warm-up, so that a later record is the worst.
fn forgetful_setup(kind: &str) -> Setup {
    let loaded = preset("mushrooms", |raw| {
        raw.rounds = Some(ROUNDS);
        raw.agreement.unproven = Some(true);
        raw.agreement.records.warmup = Some(100);
        raw.agreement.memory.kind = Some(kind.into());
        match kind {
            "window" => raw.agreement.memory.window = Some(8),
            _ => raw.agreement.memory.factor = Some(0.8),
        }
        raw.agreement.schedule.step_exponent = Some(0.0);
        raw.agreement.schedule.coupling_exponent = Some(0.0);
        raw.agreement.schedule.step = Some(0.5);
        raw.agreement.schedule.coupling = Some(0.5);
    });
    loaded.checked.setup().unwrap()
}

#[test]
fn an_honest_learner_that_forgets_passes() {
    for kind in ["window", "decaying"] {
        let setup = forgetful_setup(kind);
        for seed in [1, 2] {
            let checks = run(&setup, &QUICK, |trial| honest(&setup, seed, trial));
            assert_eq!(failed(&checks), [], "{kind}, seed {seed}: {checks:#?}");
        }
    }
}

/// A learner that forgets and claims what the first record pays.
struct FirstRecordOnly<E> {
    inner: LearnerSubject<E>,
    spent: Vec<Cost>,
}

impl<E: Entropy> Subject for FirstRecordOnly<E> {
    fn check(&self, record: Record) -> Result<BoundedRecord, RecordError> {
        self.inner.check(record)
    }

    fn observe(&mut self, batch: &[BoundedRecord]) {
        self.inner.observe(batch);
    }

    fn release(&mut self) -> Result<Vec<f64>, ReleaseError> {
        self.inner.release()
    }

    fn absorb(&mut self, heard: &[&Release]) {
        self.inner.absorb(heard);
    }

    fn secret(&self) -> Option<PrivateParameters<'_>> {
        self.inner.secret()
    }

    fn sent(&self) -> &[f64] {
        self.inner.sent()
    }

    fn claims(&self) -> Claims {
        let honest = self.inner.claims();
        Claims { spent: self.spent[honest.round.0 as usize], ..honest }
    }
}

#[test]
fn an_account_that_assumes_the_first_record_is_caught_where_a_later_one_is_worse() {
    let setup = forgetful_setup("window");
    let spent: Vec<Cost> =
        (0..=60).map(|t| record_cost(&setup.mechanisms[0], Round::ZERO, t)).collect();
    let checks = run(&setup, &SEARCH, |trial| FirstRecordOnly {
        inner: honest(&setup, 1, trial),
        spent: spent.clone(),
    });
    assert_caught(&checks, (Layer::Replay, "zcdp"));
}
