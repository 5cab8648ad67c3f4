//! The defaults of a learner, which exist in `LearnerBuilder` and nowhere else.
//!
//! The fixture is the agreement that they make. The tests of the Python package hold their keywords to the
//! same file, so that a default that changes here changes there.

use undertone::LearnerBuilder;
use undertone::agreement::RawAgreement;
use undertone::load::{Loaded, Source, Strictness, load};

const FIXTURE: &str = include_str!("../fixtures/default_learner.toml");

/// Twenty features, two classes, ε = 2 at δ = 10⁻⁶; everything else is left out.
fn builder() -> LearnerBuilder {
    LearnerBuilder::new(20, 2.0, 1e-6)
}

#[test]
fn the_agreement_of_a_learner_with_nothing_but_its_privacy_is_the_fixture() {
    let text = toml::to_string(&builder().agreement()).unwrap();
    assert_eq!(text, FIXTURE, "renew tests/fixtures/default_learner.toml");
    let changed = LearnerBuilder { batch: 33, ..builder() };
    assert_ne!(toml::to_string(&changed.agreement()).unwrap(), FIXTURE, "the control");
}

#[test]
fn the_fixture_is_of_the_network_of_the_default_learner() {
    let source = Source::Text { origin: "the fixture".into(), text: FIXTURE.into() };
    let loaded: Loaded<RawAgreement> = load(&source, |_| (), Strictness::Run).unwrap();
    let id = undertone::Setup::new(loaded.checked).unwrap().network_id();
    assert_eq!(id, builder().setup().unwrap().network_id());
    let other = LearnerBuilder { step_exponent: 0.3, ..builder() };
    assert_ne!(id, other.setup().unwrap().network_id(), "the control");
}
