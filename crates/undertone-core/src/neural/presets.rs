//! Predefined neural networks.

use super::{LayerSpec, NeuralSpec, Shape};

impl NeuralSpec {
    /// A convolutional neural network for images of any shape and any number of classes.
    ///
    /// Two blocks of a 5×5 convolution (16, then 32 channels), relu and 2×2 max-pooling, then one dense layer: 18 378
    /// parameters for MNIST (1×28×28, 10 classes), 22 058 for CIFAR-10 (3×32×32). The paper trains "a CNN" on both and
    /// does not describe it further; this one is ours.
    #[must_use]
    pub fn cnn(input: Shape, classes: usize) -> NeuralSpec {
        let conv = |channels| LayerSpec::Conv { channels, kernel: 5, stride: 1, padding: 0 };
        let pool = LayerSpec::MaxPool { size: 2, stride: None };
        let (relu, dense) = (LayerSpec::Relu {}, LayerSpec::Dense { outputs: classes });
        let layers = vec![conv(16), relu, pool, conv(32), relu, pool, dense];
        NeuralSpec { input, classes, layers }
    }

    /// Dense layers with tanh between them, on vectors of `features` numbers.
    #[must_use]
    pub fn mlp(features: usize, hidden: &[usize], classes: usize) -> NeuralSpec {
        let mut layers = Vec::with_capacity(2 * hidden.len() + 1);
        for &outputs in hidden {
            layers.extend([LayerSpec::Dense { outputs }, LayerSpec::Tanh {}]);
        }
        layers.push(LayerSpec::Dense { outputs: classes });
        NeuralSpec { input: Shape::vector(features), classes, layers }
    }
}
