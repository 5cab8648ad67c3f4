//! Why a neural network cannot be built.

use super::{LayerSpec, Shape};
use thiserror::Error;

/// Why a neural network cannot be built.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum NeuralSpecError {
    /// A setting of the spec is outside its range.
    #[error("{setting} = {value}: must be {range}")]
    Setting {
        /// The name of the setting.
        setting: &'static str,
        /// Its value.
        value: usize,
        /// The values allowed.
        range: &'static str,
    },
    /// A setting of one layer is outside its range.
    #[error("layer {position} ({layer}): {setting} = {value}: must be {range}")]
    LayerSetting {
        /// The position of the layer, from 1.
        position: usize,
        /// The layer.
        layer: LayerSpec,
        /// The name of the setting.
        setting: &'static str,
        /// Its value.
        value: usize,
        /// The values allowed.
        range: &'static str,
    },
    /// A window of a layer is larger than its padded input.
    #[error(
        "layer {position} ({layer}): its window of {window} does not fit into an input of {input}"
    )]
    Window {
        /// The position of the layer, from 1.
        position: usize,
        /// The layer.
        layer: LayerSpec,
        /// Rows and columns of the window.
        window: usize,
        /// The input of the layer.
        input: Shape,
    },
    /// The neural network has no layers.
    #[error("layers: must not be empty; the last one must output a logit for each class")]
    NoLayers,
    /// The last layer does not output one logit for each class.
    #[error(
        "layer {position} ({layer}) is the last and outputs {output}, which is {found} values; it must output {classes} logits, one for each class"
    )]
    Logits {
        /// The position of the layer, from 1.
        position: usize,
        /// The layer.
        layer: LayerSpec,
        /// Its output.
        output: Shape,
        /// The number of output values.
        found: usize,
        /// How many classes there are.
        classes: usize,
    },
    /// The neural network has more parameters or values than can be indexed.
    #[error("layer {position} ({layer}): more than {limit} parameters or values")]
    TooLarge {
        /// The position of the layer, from 1.
        position: usize,
        /// The layer.
        layer: LayerSpec,
        /// The largest number allowed.
        limit: usize,
    },
}
