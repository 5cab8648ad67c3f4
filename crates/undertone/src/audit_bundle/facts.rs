//! The public facts of a learner as an audit bundle holds them.
//!
//! A [`Mechanism`] is taken apart and put together field by field, without `..`: a new field does not compile until
//! it is in the bundle.

use super::number;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use undertone_core::method::{Algorithm1, Bound, Method, Pdop, Shielded};
use undertone_core::noise::NoiseKind;
use undertone_core::privacy::{Mechanism, NoiseLaw};
use undertone_core::{Forgetting, LossConstants, PowerLaw, Schedule};

/// Every field of a [`Mechanism`], infinite numbers as texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Facts {
    dimension: u64,
    #[serde(with = "number")]
    radius: f64,
    constants: Constants,
    schedule: Laws,
    #[serde(with = "number")]
    weight: f64,
    #[serde(with = "number")]
    weight_min: f64,
    warmup: u64,
    batch: u64,
    memory_error: Law,
    forgetting: Forgets,
    noise: Noise,
    noise_max: Law,
    method: MethodFacts,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Constants {
    #[serde(with = "number")]
    smoothness: f64,
    #[serde(with = "number")]
    strong_convexity: f64,
    #[serde(with = "number")]
    gradient_spread: f64,
    #[serde(with = "number")]
    gradient_norm: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Law {
    #[serde(with = "number")]
    initial: f64,
    #[serde(with = "number")]
    exponent: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Laws {
    step: Law,
    coupling: Law,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Forgets {
    Never {},
    Window {
        rounds: u64,
    },
    Decaying {
        #[serde(with = "number")]
        factor: f64,
        rounds: Option<u64>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Noise {
    kind: NoiseKind,
    scale: Law,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
enum MethodFacts {
    Algorithm1 {
        bound: Bound,
    },
    Shielded {
        interval: u64,
        #[serde(with = "number")]
        momentum: f64,
    },
    Dsgd {},
    Dola {},
    Pdop {
        #[serde(with = "number")]
        step_ratio: f64,
        #[serde(with = "number")]
        noise_ratio: f64,
    },
    Local {},
}

/// Two facts that differ.
#[derive(Debug, PartialEq)]
pub(super) struct Difference {
    /// Which fact, as `constants.gradient_spread`.
    pub(super) fact: String,
    /// What the bundle says.
    pub(super) found: String,
    /// What the agreement implies.
    pub(super) expected: String,
}

impl Facts {
    /// The first fact that differs from what it should be, apart from the last digits, which may differ between machines.
    pub(super) fn first_difference(&self, expected: &Facts) -> Option<Difference> {
        let value = |facts: &Facts| serde_json::to_value(facts).unwrap_or_default();
        difference("", &value(self), &value(expected))
    }
}

/// Numbers that two machines compute differ by less than this share.
const TOLERANCE: f64 = 1e-9;

/// Whether a number is the expected one, up to [`TOLERANCE`].
pub(super) fn is_close(found: f64, expected: f64) -> bool {
    let both_infinite = found > f64::MAX && expected > f64::MAX;
    both_infinite || (found - expected).abs() <= TOLERANCE * expected.abs()
}

fn difference(path: &str, found: &Value, expected: &Value) -> Option<Difference> {
    if let (Value::Object(found), Value::Object(expected)) = (found, expected) {
        let keys = expected.keys().chain(found.keys());
        return keys.into_iter().find_map(|key| {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let of =
                |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
            difference(&path, &of(found), &of(expected))
        });
    }
    let is_whole = found.is_u64() && expected.is_u64();
    let same = match (found.as_f64(), expected.as_f64()) {
        // Whole numbers have no last digits.
        (Some(found), Some(expected)) if !is_whole => is_close(found, expected),
        _ => found == expected,
    };
    let text = |value: &Value| value.to_string();
    (!same).then(|| Difference { fact: path.into(), found: text(found), expected: text(expected) })
}

impl From<&Mechanism> for Facts {
    fn from(mechanism: &Mechanism) -> Facts {
        let &Mechanism {
            dimension,
            radius,
            constants,
            schedule: Schedule { step, coupling },
            weight,
            weight_min,
            warmup,
            batch,
            memory_error,
            forgetting,
            noise: NoiseLaw { kind, scale },
            noise_max,
            method,
        } = mechanism;
        Facts {
            dimension: dimension as u64,
            radius,
            constants: constants.into(),
            schedule: Laws { step: step.into(), coupling: coupling.into() },
            weight,
            weight_min,
            warmup,
            batch,
            memory_error: memory_error.into(),
            forgetting: forgetting.into(),
            noise: Noise { kind, scale: scale.into() },
            noise_max: noise_max.into(),
            method: method.into(),
        }
    }
}

impl TryFrom<&Facts> for Mechanism {
    type Error = std::num::TryFromIntError;

    fn try_from(facts: &Facts) -> Result<Mechanism, Self::Error> {
        let &Facts {
            dimension,
            radius,
            ref constants,
            schedule: Laws { ref step, ref coupling },
            weight,
            weight_min,
            warmup,
            batch,
            ref memory_error,
            ref forgetting,
            noise: Noise { kind, ref scale },
            ref noise_max,
            ref method,
        } = facts;
        Ok(Mechanism {
            dimension: usize::try_from(dimension)?,
            radius,
            constants: constants.into(),
            schedule: Schedule { step: step.into(), coupling: coupling.into() },
            weight,
            weight_min,
            warmup,
            batch,
            memory_error: memory_error.into(),
            forgetting: forgetting.into(),
            noise: NoiseLaw { kind, scale: scale.into() },
            noise_max: noise_max.into(),
            method: method.into(),
        })
    }
}

impl From<LossConstants> for Constants {
    fn from(constants: LossConstants) -> Constants {
        let LossConstants { smoothness, strong_convexity, gradient_spread, gradient_norm } =
            constants;
        Constants { smoothness, strong_convexity, gradient_spread, gradient_norm }
    }
}

impl From<&Constants> for LossConstants {
    fn from(constants: &Constants) -> LossConstants {
        let &Constants { smoothness, strong_convexity, gradient_spread, gradient_norm } = constants;
        LossConstants { smoothness, strong_convexity, gradient_spread, gradient_norm }
    }
}

impl From<PowerLaw> for Law {
    fn from(PowerLaw { initial, exponent }: PowerLaw) -> Law {
        Law { initial, exponent }
    }
}

impl From<&Law> for PowerLaw {
    fn from(&Law { initial, exponent }: &Law) -> PowerLaw {
        PowerLaw { initial, exponent }
    }
}

impl From<Forgetting> for Forgets {
    fn from(forgetting: Forgetting) -> Forgets {
        match forgetting {
            Forgetting::Never => Forgets::Never {},
            Forgetting::Window { rounds } => Forgets::Window { rounds },
            Forgetting::Decaying { factor, rounds } => Forgets::Decaying { factor, rounds },
        }
    }
}

impl From<&Forgets> for Forgetting {
    fn from(forgetting: &Forgets) -> Forgetting {
        match *forgetting {
            Forgets::Never {} => Forgetting::Never,
            Forgets::Window { rounds } => Forgetting::Window { rounds },
            Forgets::Decaying { factor, rounds } => Forgetting::Decaying { factor, rounds },
        }
    }
}

impl From<Method> for MethodFacts {
    fn from(method: Method) -> MethodFacts {
        match method {
            Method::Algorithm1(Algorithm1 { bound }) => MethodFacts::Algorithm1 { bound },
            Method::Shielded(Shielded { interval, momentum }) => {
                MethodFacts::Shielded { interval, momentum }
            }
            Method::Dsgd => MethodFacts::Dsgd {},
            Method::Dola => MethodFacts::Dola {},
            Method::Pdop(Pdop { step_ratio, noise_ratio }) => {
                MethodFacts::Pdop { step_ratio, noise_ratio }
            }
            Method::Local => MethodFacts::Local {},
        }
    }
}

impl From<&MethodFacts> for Method {
    fn from(method: &MethodFacts) -> Method {
        match *method {
            MethodFacts::Algorithm1 { bound } => Method::Algorithm1(Algorithm1 { bound }),
            MethodFacts::Shielded { interval, momentum } => {
                Method::Shielded(Shielded { interval, momentum })
            }
            MethodFacts::Dsgd {} => Method::Dsgd,
            MethodFacts::Dola {} => Method::Dola,
            MethodFacts::Pdop { step_ratio, noise_ratio } => {
                Method::Pdop(Pdop { step_ratio, noise_ratio })
            }
            MethodFacts::Local {} => Method::Local,
        }
    }
}
