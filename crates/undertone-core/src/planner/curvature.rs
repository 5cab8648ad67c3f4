//! The predictor's model of the loss and the data, from public numbers alone.

use super::Outlook;
use crate::agreement::Agreement;
use crate::{Loss, LossConstants};

/// Directions of about the same curvature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mode {
    /// Their mean curvature h.
    pub(super) curvature: f64,
    /// How many there are.
    pub(super) count: f64,
    /// The energy of θ* − θ_0 in them.
    pub(super) start: f64,
    /// The share of a gradient's energy in them.
    pub(super) gradient_share: f64,
}

/// The predictor's model of loss and data.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Landscape {
    pub(super) modes: Vec<Mode>,
    /// G: the largest norm of a record's gradient.
    pub(super) gradient_max: f64,
    /// L.
    pub(super) smoothness: f64,
    /// Whether gradients vanish as fast as the loss does.
    pub(super) saturates: bool,
    /// The assumed loss at θ*.
    pub(super) loss_left: f64,
    /// χ: how different the learners' data are, from 0 to 1.
    pub(super) heterogeneity: f64,
    /// 4B², the square of the largest distance within Θ.
    pub(super) energy_max: f64,
}

/// The loss at θ*, assumed as a share of the loss at θ = 0.
const LOSS_LEFT: f64 = 0.05;

impl Landscape {
    /// The model for an agreement. It does not depend on schedules or noise.
    pub(super) fn of(agreement: &Agreement, outlook: &Outlook) -> Landscape {
        let constants = agreement.model.constants(&agreement.bounds);
        let loss_start = loss_at_zero(agreement);
        let radius = agreement.bounds.radius;
        Landscape {
            modes: modes(agreement.model.parameters(), &constants, loss_start, radius * radius),
            gradient_max: constants.gradient_norm,
            smoothness: constants.smoothness,
            saturates: agreement.model.loss.classes().is_some(),
            loss_left: LOSS_LEFT * loss_start,
            heterogeneity: outlook.heterogeneity,
            energy_max: 4.0 * radius * radius,
        }
    }

    /// g: the norm of a record's gradient at a given excess loss, as its loss bounds it.
    ///
    /// A smooth loss l ≥ 0 has ‖∇l‖ ≤ √(2 L l). Logistic and softmax losses also have ‖∇l‖ ≤ G l,
    /// because the probability of a wrong answer, 1 − exp(−l), is at most l.
    pub(super) fn gradient(&self, excess_loss: f64) -> f64 {
        let loss = excess_loss + self.loss_left;
        let bound = (2.0 * self.smoothness * loss).sqrt().min(self.gradient_max);
        if self.saturates { bound.min(self.gradient_max * loss) } else { bound }
    }
}

/// Eigenvalues μ + (L − μ)/(k H_n), gathered by octaves of k.
fn modes(
    dimension: usize,
    constants: &LossConstants,
    loss_start: f64,
    energy_limit: f64,
) -> Vec<Mode> {
    #[expect(clippy::cast_precision_loss, reason = "a model, not an account")]
    let dimension = dimension.max(1) as f64;
    // Σ 1/k from a to b by the midpoint rule, so that octaves add up to the whole sum.
    let harmonic = |first: f64, last: f64| ((last + 0.5) / (first - 0.5)).ln();
    let floor = constants.strong_convexity.max(0.0);
    let excess = (constants.smoothness - floor).max(0.0);
    let whole = harmonic(1.0, dimension);
    let trace = floor * dimension + excess;
    // ½ Σ h · energy/n is the loss at the start in the quadratic model; no loss is below zero.
    let energy = energy_limit.min(2.0 * loss_start * dimension / trace);
    let mut list = Vec::new();
    let mut first = 1.0;
    while first <= dimension {
        let last = (2.0 * first - 1.0).min(dimension);
        let count = last - first + 1.0;
        let own = excess * harmonic(first, last) / whole;
        list.push(Mode {
            curvature: floor + own / count,
            count,
            start: energy * count / dimension,
            gradient_share: if excess > 0.0 { own / excess } else { count / dimension },
        });
        first = last + 1.0;
    }
    list
}

/// The largest loss of a record at θ = 0.
fn loss_at_zero(agreement: &Agreement) -> f64 {
    let label = agreement.bounds.label;
    match agreement.model.loss {
        Loss::Squared => 0.5 * label * label,
        Loss::Power { degree } => label.powf(f64::from(degree)) / f64::from(degree),
        Loss::Huber { threshold } => {
            let inner = label.min(threshold);
            inner * (label - 0.5 * inner)
        }
        Loss::Logistic => std::f64::consts::LN_2,
        // From the bound on its slope, as if the loss were zero somewhere in Θ.
        Loss::Declared { .. } => agreement.model.clip * agreement.bounds.radius,
        Loss::Softmax { classes } | Loss::Neural { classes, .. } => f64::from(classes).ln(),
    }
}
