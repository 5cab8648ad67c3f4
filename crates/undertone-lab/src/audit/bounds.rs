//! Records outside the declared bounds must be refused: all claims depend on the bounds.

use super::audited_learner::Facts;
use super::limits::Extent;
use super::replay::{Make, Pair, replay};
use super::report::{Check, Layer, Verdict};
use super::scenario::{Background, Message, Scenario, record};
use super::subject::{Subject, Trial};
use undertone::ReleaseError;
use undertone_models::{Features, Record};

/// Rounds over which the effect of an accepted record is measured.
const ROUNDS: u64 = 8;

fn outside(facts: &Facts) -> [(&'static str, Record); 6] {
    let norm = facts.model.bounds().feature_norm;
    let [low, high] = facts.labels();
    let long = |factor: f64, label| record(facts, &[(0, 1.0)], factor * norm, label);
    let mut turned = long(1000.0, high);
    turned.features.scale(-1.0);
    let mut nowhere = long(1.0, high);
    nowhere.features = Features::Dense(vec![f64::NAN; facts.model.spec().features].into());
    [
        ("features 1.5 times the bound", long(1.5, low)),
        ("features 1000 times the bound", long(1000.0, low)),
        ("features 1000 times the bound, other way", turned),
        ("label beyond the bound", long(1.0, 100.0 * (1.0 + high.abs()))),
        ("label that is not a number", long(1.0, f64::NAN)),
        ("features that are not numbers", nowhere),
    ]
}

/// Offers records outside the bounds: each must be refused. The note states the effect of an
/// accepted one.
///
/// # Errors
/// As [`replay`].
pub(super) fn bounds<S: Subject>(facts: &Facts, make: Make<'_, S>) -> Result<Check, ReleaseError> {
    let rounds = ROUNDS.max(2 * facts.interval() + 1);
    let extent = Extent { rounds, first: 16, batch: 1 };
    let subject = make(&Trial::new(0));
    let scenario = Scenario::new(facts, &subject, Background::Empty, Message::Still, extent);
    let inside = record(facts, &[(0, 1.0)], facts.model.bounds().feature_norm, facts.labels()[1]);
    let offered = outside(facts);
    let (mut refused, mut accepted) = (0_u32, String::new());
    for (name, bad) in &offered {
        if subject.check(bad.clone()).is_err() {
            refused += 1;
            continue;
        }
        accepted.push_str(&format!("; accepted: {name}"));
        let finite = bad.features.is_finite() && bad.label.is_finite();
        let pair = Pair::new(0, [inside.clone(), bad.clone()], &subject);
        if let Some(pair) = pair.filter(|_| finite && !scenario.records.is_empty()) {
            let outcome = replay(facts, make, &scenario, &pair, rounds)?;
            accepted.push_str(&format!(", up to {:.4} of the claims", outcome.score()));
        }
    }
    Ok(Check {
        layer: Layer::Replay,
        name: "bounds",
        claimed: offered.len() as f64,
        measured: f64::from(refused),
        verdict: Verdict::of(refused as usize == offered.len()),
        note: format!("records outside the bounds that were refused{accepted}"),
    })
}
