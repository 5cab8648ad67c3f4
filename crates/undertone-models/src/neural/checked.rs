//! A neural network with checked shapes.

use super::{Layer, NeuralSpec, NeuralSpecError, Shape};

/// A neural network with checked shapes. It does not contain parameters.
///
/// # Example
/// ```
/// use undertone_models::neural::{NeuralNetwork, NeuralSpec};
///
/// let neural = NeuralNetwork::new(NeuralSpec::mlp(4, &[8], 3))?;
/// let theta = vec![0.0; neural.parameters()];
/// let logits = neural.logits(&theta, &[0.1, 0.2, 0.3, 0.4]);
/// assert!(logits.iter().all(|logit| logit.abs() < 1e-12));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeuralNetwork {
    spec: NeuralSpec,
    layers: Vec<Layer>,
    parameters: usize,
}

impl NeuralNetwork {
    /// Checks a spec.
    ///
    /// # Errors
    /// Names the first layer that does not fit the one before it, and what is wrong with it.
    pub fn new(spec: NeuralSpec) -> Result<NeuralNetwork, NeuralSpecError> {
        let (layers, parameters) = spec.layout()?;
        Ok(NeuralNetwork { spec, layers, parameters })
    }

    /// The specification.
    #[must_use]
    pub fn spec(&self) -> &NeuralSpec {
        &self.spec
    }

    /// The number of parameters.
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// The number of classes.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.spec.classes
    }

    /// The shape of one record's features.
    #[must_use]
    pub fn input(&self) -> Shape {
        self.spec.input
    }

    /// The number of one record's features.
    #[must_use]
    pub fn features(&self) -> usize {
        self.spec.input.count()
    }

    /// Initial parameters: weights and biases uniform within ±1/√(inputs of the layer).
    ///
    /// `uniform` returns numbers from 0 to 1 and is called once for each parameter, in order. The caller may seed it:
    /// initial parameters are public; they only must not all be zero.
    ///
    /// # Errors
    /// The first error of `uniform`.
    pub fn initial_parameters<E>(
        &self,
        mut uniform: impl FnMut() -> Result<f64, E>,
    ) -> Result<Vec<f64>, E> {
        let mut theta = Vec::with_capacity(self.parameters);
        for layer in self.layers.iter().filter(|layer| layer.biases > 0) {
            #[expect(clippy::cast_precision_loss, reason = "sizes are below 2²⁸")]
            let bound = 1.0 / (layer.fan_in() as f64).sqrt();
            for _ in 0..layer.weights + layer.biases {
                theta.push(bound * (2.0 * uniform()? - 1.0));
            }
        }
        Ok(theta)
    }

    pub(crate) fn layers(&self) -> &[Layer] {
        &self.layers
    }

    pub(crate) fn assert_fits(&self, theta: &[f64]) {
        assert_length("parameters", theta.len(), self.parameters);
    }
}

/// Panics unless a vector has the expected length. Shows no values.
pub(super) fn assert_length(what: &str, found: usize, expected: usize) {
    assert!(found == expected, "{what}: {found} numbers, expected {expected}");
}
