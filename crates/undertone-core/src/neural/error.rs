//! Why a neural network cannot be built.

use super::{LayerSpec, Shape};
use thiserror::Error;

/// Why a neural network cannot be built.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum NeuralSpecError {
    /// A number of the spec is outside its range.
    #[error("{setting} = {value}: must be {range}")]
    Setting {
        /// Which number.
        setting: &'static str,
        /// Its value.
        value: usize,
        /// What it may be.
        range: &'static str,
    },
    /// A number of one layer is outside its range.
    #[error("layer {position} ({layer}): {setting} = {value}: must be {range}")]
    LayerSetting {
        /// The place of the layer, from 1.
        position: usize,
        /// The layer.
        layer: LayerSpec,
        /// Which number.
        setting: &'static str,
        /// Its value.
        value: usize,
        /// What it may be.
        range: &'static str,
    },
    /// A window of a layer is larger than what it gets, with its padding.
    #[error(
        "layer {position} ({layer}): its window of {window} does not fit into an input of {input}"
    )]
    Window {
        /// The place of the layer, from 1.
        position: usize,
        /// The layer.
        layer: LayerSpec,
        /// Rows and columns of the window.
        window: usize,
        /// What the layer gets.
        input: Shape,
    },
    /// The neural network has no layers.
    #[error("layers: must not be empty; the last one gives a logit for each class")]
    NoLayers,
    /// The last layer does not give one logit for each class.
    #[error(
        "layer {position} ({layer}) is the last and gives {output}, that is {found} values; the logits of {classes} classes are needed"
    )]
    Logits {
        /// The place of the layer, from 1.
        position: usize,
        /// The layer.
        layer: LayerSpec,
        /// What it gives.
        output: Shape,
        /// How many values these are.
        found: usize,
        /// How many classes there are.
        classes: usize,
    },
    /// The neural network has more parameters or values than can be indexed.
    #[error("layer {position} ({layer}): more than {limit} parameters or values")]
    TooLarge {
        /// The place of the layer, from 1.
        position: usize,
        /// The layer.
        layer: LayerSpec,
        /// The largest number.
        limit: usize,
    },
}
