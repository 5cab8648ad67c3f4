//! The settings of the methods that the paper compares with.

use crate::compare::settings::ComparedMethod;
use crate::experiment::RawExperiment;
use undertone::agreement::{OneOrEach, RawMemory};

/// DOLA's noise in the paper's second experiment, 0.07 / (0.2 (t+1)).
pub(super) const DOLA_NOISE: f64 = 0.35;
/// PDOP's noise in the paper's second experiment, 0.5 · 0.98^t.
const PDOP_NOISE: f64 = 0.5;
const PDOP_NOISE_RATIO: f64 = 0.98;
/// Steps must fall faster than noise; the paper does not state how fast.
const PDOP_STEP_RATIO: f64 = 0.97;

/// Changes an experiment of Algorithm 1 into one of DSGD, DOLA or PDOP. Ratios are those of the paper to the
/// power `pace`. As in the paper, DSGD has the step and noise of Algorithm 1.
pub(super) fn apply_method(
    method: ComparedMethod,
    raw: &mut RawExperiment,
    dola_step_exponent: f64,
    pace: f64,
) {
    raw.agreement.method = Some(method.name().into());
    raw.agreement.memory = RawMemory::default();
    raw.agreement.schedule.coupling = Some(1.0);
    raw.agreement.schedule.coupling_exponent = Some(0.0);
    match method {
        ComparedMethod::Dola => {
            raw.agreement.schedule.step_exponent = Some(dola_step_exponent);
            raw.agreement.noise.scale = Some(OneOrEach::One(DOLA_NOISE));
            raw.agreement.noise.exponent = Some(OneOrEach::One(-1.0));
        }
        ComparedMethod::Pdop => {
            raw.agreement.schedule.step_exponent = Some(0.0);
            raw.agreement.schedule.step_ratio = Some(PDOP_STEP_RATIO.powf(pace));
            raw.agreement.noise.scale = Some(OneOrEach::One(PDOP_NOISE));
            raw.agreement.noise.exponent = Some(OneOrEach::One(0.0));
            raw.agreement.noise.ratio = Some(PDOP_NOISE_RATIO.powf(pace));
        }
        ComparedMethod::Dsgd
        | ComparedMethod::Algorithm1
        | ComparedMethod::Shielded
        | ComparedMethod::Local => {}
    }
}
