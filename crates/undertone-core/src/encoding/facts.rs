//! The encoding of every type that a learner's account or a network's identity depends on.

use super::{Digest, Encode, Encoder};
use crate::agreement::{OutOfBounds, RecordForm};
use crate::method::Method;
use crate::neural::{LayerSpec, NeuralSpec, Shape};
use crate::noise::NoiseKind;
use crate::privacy::{Mechanism, NoiseLaw};
use crate::{
    DataBounds, DeclaredCurvature, Domain, FeatureTransform, Forgetting, Loss, LossConstants,
    MemoryKind, ModelSpec, PowerLaw, Schedule,
};

impl Encode for Digest {
    fn encode(&self, encoder: &mut Encoder) {
        let Digest(bytes) = self;
        bytes.iter().for_each(|&byte| encoder.count(byte.into()));
    }
}

impl Encode for Mechanism {
    fn encode(&self, encoder: &mut Encoder) {
        let Mechanism {
            dimension,
            radius,
            constants,
            schedule,
            weight,
            weight_min,
            warmup,
            batch,
            memory_error,
            forgetting,
            noise,
            noise_max,
            method,
        } = self;
        encoder.count(*dimension as u64);
        encoder.number(*radius);
        encoder.add(constants);
        encoder.add(schedule);
        encoder.number(*weight);
        encoder.number(*weight_min);
        encoder.count(*warmup);
        encoder.count(*batch);
        encoder.add(memory_error);
        encoder.add(forgetting);
        encoder.add(noise);
        encoder.add(noise_max);
        encoder.add(method);
    }
}

impl Encode for Method {
    fn encode(&self, encoder: &mut Encoder) {
        encoder.text(self.describe().name);
        self.account().encode(encoder);
    }
}

impl Encode for LossConstants {
    fn encode(&self, encoder: &mut Encoder) {
        let &LossConstants { smoothness, strong_convexity, gradient_spread, gradient_norm } = self;
        encoder.number(smoothness);
        encoder.number(strong_convexity);
        encoder.number(gradient_spread);
        encoder.number(gradient_norm);
    }
}

impl Encode for PowerLaw {
    fn encode(&self, encoder: &mut Encoder) {
        let &PowerLaw { initial, exponent } = self;
        encoder.number(initial);
        encoder.number(exponent);
    }
}

impl Encode for Schedule {
    fn encode(&self, encoder: &mut Encoder) {
        let Schedule { step, coupling } = self;
        encoder.add(step);
        encoder.add(coupling);
    }
}

impl Encode for NoiseKind {
    fn encode(&self, encoder: &mut Encoder) {
        encoder.text(match self {
            NoiseKind::Laplace => "laplace",
            NoiseKind::Gaussian => "gaussian",
        });
    }
}

impl Encode for NoiseLaw {
    fn encode(&self, encoder: &mut Encoder) {
        let NoiseLaw { kind, scale } = self;
        encoder.add(kind);
        encoder.add(scale);
    }
}

impl Encode for Forgetting {
    fn encode(&self, encoder: &mut Encoder) {
        match *self {
            Forgetting::Never => encoder.text("never"),
            Forgetting::Window { rounds } => {
                encoder.text("window");
                encoder.count(rounds);
            }
            Forgetting::Decaying { factor, rounds } => {
                encoder.text("decaying");
                encoder.number(factor);
                encoder.optional(rounds, Encoder::count);
            }
        }
    }
}

impl Encode for MemoryKind {
    fn encode(&self, encoder: &mut Encoder) {
        match self {
            MemoryKind::Exact => encoder.text("exact"),
            MemoryKind::Moments => encoder.text("moments"),
            MemoryKind::Recursive => encoder.text("recursive"),
            MemoryKind::Arrival => encoder.text("arrival"),
            MemoryKind::Polynomial { degree } => {
                encoder.text("polynomial");
                encoder.count((*degree).into());
            }
            MemoryKind::Anchored { tolerance } => {
                encoder.text("anchored");
                encoder.add(tolerance);
            }
            MemoryKind::Window { rounds } => {
                encoder.text("window");
                encoder.count(*rounds);
            }
            MemoryKind::Decaying { factor, rounds } => {
                encoder.text("decaying");
                encoder.number(*factor);
                encoder.optional(*rounds, Encoder::count);
            }
        }
    }
}

impl Encode for Domain {
    fn encode(&self, encoder: &mut Encoder) {
        match *self {
            Domain::Ball { radius } => {
                encoder.text("ball");
                encoder.number(radius);
            }
            Domain::Box { lower, upper } => {
                encoder.text("box");
                encoder.number(lower);
                encoder.number(upper);
            }
            Domain::Simplex { total } => {
                encoder.text("simplex");
                encoder.number(total);
            }
        }
    }
}

impl Encode for ModelSpec {
    fn encode(&self, encoder: &mut Encoder) {
        let ModelSpec { loss, features, degree, ridge, lasso, clip } = self;
        encoder.add(loss);
        encoder.count(*features as u64);
        encoder.count((*degree).into());
        encoder.number(*ridge);
        encoder.number(*lasso);
        encoder.number(*clip);
    }
}

impl Encode for Loss {
    fn encode(&self, encoder: &mut Encoder) {
        match *self {
            Loss::Squared => encoder.text("squared"),
            Loss::Power { degree } => {
                encoder.text("power");
                encoder.count(degree.into());
            }
            Loss::Huber { threshold } => {
                encoder.text("huber");
                encoder.number(threshold);
            }
            Loss::Logistic => encoder.text("logistic"),
            Loss::Softmax { classes } => {
                encoder.text("softmax");
                encoder.count(classes.into());
            }
            Loss::Neural { classes, parameters } => {
                encoder.text("neural");
                encoder.count(classes.into());
                encoder.count(parameters as u64);
            }
            Loss::Declared { parameters, curvature, gradient_spread } => {
                encoder.text("declared");
                encoder.count(parameters as u64);
                encoder.optional(curvature, |encoder, curvature| {
                    let DeclaredCurvature { smoothness, strong_convexity } = curvature;
                    encoder.number(smoothness);
                    encoder.number(strong_convexity);
                });
                encoder.optional(gradient_spread, Encoder::number);
            }
        }
    }
}

impl Encode for Shape {
    fn encode(&self, encoder: &mut Encoder) {
        let &Shape { channels, height, width } = self;
        [channels, height, width].iter().for_each(|&size| encoder.count(size as u64));
    }
}

impl Encode for FeatureTransform {
    fn encode(&self, encoder: &mut Encoder) {
        encoder.text(self.name());
        encoder.count(FeatureTransform::VERSION);
        match *self {
            FeatureTransform::Scattering { input, dimension } => {
                encoder.add(&input);
                encoder.optional(dimension, |encoder, dimension| encoder.count(dimension as u64));
            }
            FeatureTransform::Fourier { inputs, gamma, dimension } => {
                encoder.count(inputs as u64);
                encoder.number(gamma);
                encoder.count(dimension as u64);
            }
        }
    }
}

impl Encode for NeuralSpec {
    fn encode(&self, encoder: &mut Encoder) {
        let NeuralSpec { input, classes, layers } = self;
        encoder.add(input);
        encoder.count(*classes as u64);
        encoder.count(layers.len() as u64);
        layers.iter().for_each(|layer| encoder.add(layer));
    }
}

impl Encode for LayerSpec {
    fn encode(&self, encoder: &mut Encoder) {
        match *self {
            LayerSpec::Conv { channels, kernel, stride, padding } => {
                encoder.text("conv");
                encoder.count(channels as u64);
                encoder.count(kernel as u64);
                encoder.count(stride as u64);
                encoder.count(padding as u64);
            }
            LayerSpec::Relu {} => encoder.text("relu"),
            LayerSpec::Tanh {} => encoder.text("tanh"),
            LayerSpec::Sigmoid {} => encoder.text("sigmoid"),
            LayerSpec::MaxPool { size, stride } => {
                encoder.text("max-pool");
                encode_pool(encoder, size, stride);
            }
            LayerSpec::AveragePool { size, stride } => {
                encoder.text("average-pool");
                encode_pool(encoder, size, stride);
            }
            LayerSpec::Dense { outputs } => {
                encoder.text("dense");
                encoder.count(outputs as u64);
            }
        }
    }
}

/// A stride that is not given is the window's size: both ways of writing it are the same layer.
fn encode_pool(encoder: &mut Encoder, size: usize, stride: Option<usize>) {
    encoder.count(size as u64);
    encoder.count(stride.unwrap_or(size) as u64);
}

impl Encode for DataBounds {
    fn encode(&self, encoder: &mut Encoder) {
        let &DataBounds { feature_norm, label, radius } = self;
        encoder.number(feature_norm);
        encoder.number(label);
        encoder.number(radius);
    }
}

impl Encode for OutOfBounds {
    fn encode(&self, encoder: &mut Encoder) {
        encoder.text(match self {
            OutOfBounds::Scale => "scale",
            OutOfBounds::Refuse => "refuse",
        });
    }
}

impl Encode for RecordForm {
    fn encode(&self, encoder: &mut Encoder) {
        let RecordForm {
            label,
            classes,
            categorical,
            drop,
            intercept,
            centre,
            normalise,
            warmup,
            batch,
        } = self;
        encoder.optional(label.as_deref(), Encoder::text);
        encoder.optional(classes.as_deref(), Encoder::texts);
        encoder.optional(categorical.as_deref(), Encoder::texts);
        encoder.texts(drop);
        encoder.flag(*intercept);
        encoder.flag(*centre);
        encoder.flag(*normalise);
        encoder.count(*warmup);
        encoder.count(*batch);
    }
}
