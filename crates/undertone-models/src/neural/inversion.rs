//! The distance between the gradient of guessed records and an observed gradient, and its derivatives.
//!
//! An observer of a gradient can search for records that give the same one ("deep leakage from gradients", Zhu, Liu and
//! Han, 2019). The laboratory attacks its own releases this way; this module computes what needs the neural network.

use super::NeuralNetwork;
use super::checked::assert_length;
use super::reference::{Pass, log_softmax};
use super::scalar::{Dual, Scalar};

/// A guessed record: its features, and its label as logits, so that every vector is a valid guess.
#[derive(Clone, Copy)]
pub struct Guess<'a> {
    /// The features.
    pub input: &'a [f64],
    /// The label is the softmax of these.
    pub label_logits: &'a [f64],
}

/// The distance D between gradients, and its own gradient for each guess.
#[derive(Clone)]
pub struct GradientMatch {
    /// D = ‖mean gradient of the guesses − target‖².
    pub distance: f64,
    /// ∂D/∂input of each guess, in their order.
    pub input_gradients: Vec<Vec<f64>>,
    /// ∂D/∂label logits of each guess, in their order.
    pub label_gradients: Vec<Vec<f64>>,
}

impl NeuralNetwork {
    /// Compares the mean gradient of guessed records with a target.
    ///
    /// Exact up to rounding. With r = mean gradient − target and B guesses, ∂D/∂x = (2/B) d/dε ∇ₓℓ(θ + εr),
    /// because mixed derivatives do not depend on their order: one pass on numbers that carry a derivative.
    /// For relu and max-pool this is the derivative almost everywhere; D is not smooth there, and descent works poorly.
    ///
    /// # Panics
    /// When a vector has the wrong length, or there is no guess: bugs in the caller.
    #[must_use]
    pub fn gradient_match(
        &self,
        theta: &[f64],
        guesses: &[Guess<'_>],
        target: &[f64],
    ) -> GradientMatch {
        self.assert_fits(theta);
        assert_length("target gradient", target.len(), self.parameters());
        assert!(!guesses.is_empty(), "there is at least one guess");
        for guess in guesses {
            assert_length("input", guess.input.len(), self.features());
            assert_length("label", guess.label_logits.len(), self.classes());
        }
        #[expect(clippy::cast_precision_loss, reason = "there are few guesses")]
        let share = 1.0 / guesses.len() as f64;
        let mut difference: Vec<f64> = target.iter().map(|x| -x).collect();
        for guess in guesses {
            let pass = Pass::new(self, theta, guess.input, &label_of(guess));
            for (entry, slope) in difference.iter_mut().zip(pass.gradient) {
                *entry += share * slope;
            }
        }
        let distance = difference.iter().map(|x| x * x).sum();
        let along = theta.iter().zip(&difference).map(|(&value, &slope)| Dual { value, slope });
        let along: Vec<Dual> = along.collect();
        let slopes = guesses.iter().map(|guess| self.match_slopes(&along, guess, 2.0 * share));
        let (input_gradients, label_gradients) = slopes.unzip();
        GradientMatch { distance, input_gradients, label_gradients }
    }

    /// `factor` times the slopes of rᵀ∇ℓ in one guess's input and label logits, for θ along r.
    fn match_slopes(&self, along: &[Dual], guess: &Guess<'_>, factor: f64) -> (Vec<f64>, Vec<f64>) {
        let label = label_of(guess);
        let input: Vec<Dual> = guess.input.iter().map(|&x| Dual::constant(x)).collect();
        let pass = Pass::new(self, along, &input, &label);
        let inputs = pass.input_gradient.iter().map(|slope| factor * slope.slope).collect();
        // ∂ℓ/∂y_k = −ln p_k, and y = softmax(z) has ∂y_j/∂z_k = y_j (1{j = k} − y_k).
        let by_label: Vec<f64> = log_softmax(&pass.logits).iter().map(|log| -log.slope).collect();
        let mean: f64 = label.iter().zip(&by_label).map(|(y, slope)| y * slope).sum();
        let labels = label.iter().zip(&by_label).map(|(y, slope)| factor * y * (slope - mean));
        (inputs, labels.collect())
    }
}

/// The label of a guess: the softmax of its logits.
fn label_of(guess: &Guess<'_>) -> Vec<f64> {
    log_softmax(guess.label_logits).into_iter().map(f64::exp).collect()
}
