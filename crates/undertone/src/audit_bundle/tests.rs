use super::facts::Facts;
use super::without_nulls;
use serde_json::json;
use undertone_core::method::{Algorithm1, Bound, Method, Pdop, Shielded};
use undertone_core::noise::NoiseKind;
use undertone_core::privacy::{Mechanism, NoiseLaw};
use undertone_core::{Forgetting, LossConstants, PowerLaw, Schedule};

/// A different number for every field.
fn mechanism(method: Method, forgetting: Forgetting) -> Mechanism {
    let law = |number: f64| PowerLaw { initial: number, exponent: -0.1 * number };
    Mechanism {
        dimension: 1,
        radius: 2.0,
        constants: LossConstants {
            smoothness: f64::INFINITY,
            strong_convexity: f64::NEG_INFINITY,
            gradient_spread: 3.0,
            gradient_norm: 4.0,
        },
        schedule: Schedule { step: law(5.0), coupling: PowerLaw { initial: 6.0, exponent: -0.0 } },
        weight: 7.0,
        weight_min: 8.0,
        warmup: 9,
        batch: 10,
        memory_error: law(11.0),
        forgetting,
        noise: NoiseLaw { kind: NoiseKind::Gaussian, scale: law(12.0) },
        noise_max: law(13.0),
        method,
    }
}

fn variants() -> Vec<Mechanism> {
    let methods = [
        Method::Algorithm1(Algorithm1 { bound: Bound::Tight }),
        Method::Algorithm1(Algorithm1 { bound: Bound::Theorem5i }),
        Method::Algorithm1(Algorithm1 { bound: Bound::Theorem5ii }),
        Method::Shielded(Shielded { interval: 3, momentum: 0.5 }),
        Method::Dsgd,
        Method::Dola,
        Method::Pdop(Pdop { step_ratio: 0.9, noise_ratio: 0.8 }),
        Method::Local,
    ];
    let forgettings = [
        Forgetting::Never,
        Forgetting::Window { rounds: 14 },
        Forgetting::Decaying { factor: 0.5, rounds: None },
        Forgetting::Decaying { factor: 0.5, rounds: Some(15) },
    ];
    let of = |&method: &Method| forgettings.map(|forgetting| mechanism(method, forgetting));
    methods.iter().flat_map(of).collect()
}

#[test]
fn every_mechanism_comes_out_of_its_facts_as_it_went_in() {
    for mechanism in variants() {
        let text = serde_json::to_string(&Facts::from(&mechanism)).unwrap();
        let back: Facts = serde_json::from_str(&text).unwrap();
        let back = Mechanism::try_from(&back).unwrap();
        assert_eq!(back, mechanism, "{text}");
        // −0.0 and 0.0 are equal and have other hashes.
        let sign = |mechanism: &Mechanism| mechanism.schedule.coupling.exponent.is_sign_negative();
        assert!(sign(&back) && sign(&mechanism));
    }
}

#[test]
fn facts_that_differ_are_named_and_last_digits_are_allowed_to() {
    let all = variants();
    for (place, left) in all.iter().map(Facts::from).enumerate() {
        for (other, right) in all.iter().map(Facts::from).enumerate() {
            let difference = left.first_difference(&right);
            assert_eq!(difference.is_none(), place == other, "{difference:?}");
        }
    }
    let expected = Facts::from(&all[0]);
    let mut near = all[0];
    near.radius = 2.0 * (1.0 + 1e-12);
    assert_eq!(Facts::from(&near).first_difference(&expected), None);
    // A whole number has no last digits, however large it is.
    let large = Mechanism { warmup: 1_000_000_000, ..all[0] };
    let found = Facts::from(&Mechanism { warmup: 1_000_000_001, ..all[0] });
    assert_eq!(found.first_difference(&Facts::from(&large)).unwrap().fact, "warmup");
    near.radius = 2.0 * (1.0 + 1e-8);
    near.constants.smoothness = 1.0;
    let found = Facts::from(&near).first_difference(&expected).unwrap();
    assert_eq!(
        (&*found.fact, &*found.found, &*found.expected),
        ("constants.smoothness", "1.0", "\"infinity\"")
    );
}

#[test]
fn facts_with_a_key_more_or_less_are_refused() {
    let whole = serde_json::to_value(Facts::from(&variants()[0])).unwrap();
    assert!(serde_json::from_value::<Facts>(whole.clone()).is_ok(), "the control");
    for key in whole.as_object().unwrap().keys() {
        let mut less = whole.clone();
        less.as_object_mut().unwrap().remove(key);
        assert!(serde_json::from_value::<Facts>(less).is_err(), "{key}");
    }
    for place in ["", "constants", "schedule", "memory_error", "forgetting", "noise", "method"] {
        let mut more = whole.clone();
        let object = if place.is_empty() { &mut more } else { &mut more[place] };
        object["another"] = json!(1);
        assert!(serde_json::from_value::<Facts>(more).is_err(), "{place}");
    }
}

#[test]
fn keys_without_values_are_left_out_and_values_kept() {
    let value = json!({"a": null, "b": {"c": null}, "d": {"e": 0, "f": null}, "g": [null, {"h": null}], "i": ""});
    let kept = json!({"d": {"e": 0}, "g": [null, {"h": null}], "i": ""});
    assert_eq!(without_nulls(value), kept);
}
