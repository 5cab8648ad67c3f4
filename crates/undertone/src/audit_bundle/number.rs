//! Numbers in JSON that may be infinite: JSON has no infinity, so it is written as a text.
//!
//! Finite numbers are written with as few digits as give the same `f64` again.

use serde::de::{Unexpected, Visitor};
use serde::ser::Error as _;
use serde::{Deserializer, Serializer};
use std::fmt;

const INFINITY: &str = "infinity";
const MINUS_INFINITY: &str = "-infinity";

/// Writes a number.
pub(super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() {
        serializer.serialize_f64(*value)
    } else if value.is_nan() {
        Err(S::Error::custom("a fact of an account is not a number"))
    } else {
        serializer.serialize_str(if *value > 0.0 { INFINITY } else { MINUS_INFINITY })
    }
}

/// Reads a number.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    deserializer.deserialize_any(NumberVisitor)
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = f64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a number, \"{INFINITY}\" or \"{MINUS_INFINITY}\"")
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }

    #[expect(clippy::cast_precision_loss, reason = "a number written without a point is rounded")]
    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<f64, E> {
        Ok(value as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "a number written without a point is rounded")]
    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<f64, E> {
        match text {
            INFINITY => Ok(f64::INFINITY),
            MINUS_INFINITY => Ok(f64::NEG_INFINITY),
            other => Err(E::invalid_value(Unexpected::Str(other), &self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    struct Fact(#[serde(with = "super")] f64);

    fn there_and_back(value: f64) -> Option<f64> {
        let text = serde_json::to_string(&Fact(value)).ok()?;
        serde_json::from_str::<Fact>(&text).ok().map(|fact| fact.0)
    }

    #[test]
    fn infinities_and_both_zeros_are_kept_and_other_texts_refused() {
        for value in [f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 5e-324, f64::MAX, -1e-6] {
            assert_eq!(there_and_back(value).map(f64::to_bits), Some(value.to_bits()), "{value}");
        }
        assert!(there_and_back(f64::NAN).is_none());
        for text in ["\"inf\"", "\"NaN\"", "null", "1e999", "true", "[1.0]"] {
            assert!(serde_json::from_str::<Fact>(text).is_err(), "{text}");
        }
        assert!(
            serde_json::from_str::<Fact>("7").is_ok_and(|fact| fact.0.to_bits() == 7f64.to_bits())
        );
    }

    proptest! {
        #[test]
        fn every_number_is_read_again_bit_for_bit(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(!value.is_nan());
            prop_assert_eq!(there_and_back(value).map(f64::to_bits), Some(bits));
        }
    }
}
