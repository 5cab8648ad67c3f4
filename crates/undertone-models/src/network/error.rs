//! Why a network, its parameters or a batch cannot be used.

use super::{LayerSpec, Shape};
use thiserror::Error;

/// Why a network, its parameters or a batch cannot be used.
///
/// Holds sizes and positions only, never a value of a record or a parameter.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum NetworkError {
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
    /// The network has no layers.
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
    /// The network has more parameters or values than can be indexed.
    #[error("layer {position} ({layer}): more than {limit} parameters or values")]
    TooLarge {
        /// The place of the layer, from 1.
        position: usize,
        /// The layer.
        layer: LayerSpec,
        /// The largest number.
        limit: usize,
    },
    /// A vector has the wrong length.
    #[error("{what}: {found} numbers, expected {expected}")]
    Length {
        /// Which vector.
        what: &'static str,
        /// Its length.
        found: usize,
        /// What it should be.
        expected: usize,
    },
    /// A record's label is no class.
    #[error("record {position}: its label is none of the {classes} classes")]
    Label {
        /// The record's place in the batch, from 0.
        position: usize,
        /// How many classes there are.
        classes: usize,
    },
    /// A batch is too large for the bound on rounding to hold.
    #[error("{records} records in one clipped sum: at most {limit}; add up several sums")]
    BatchTooLarge {
        /// Its records.
        records: usize,
        /// The largest number.
        limit: usize,
    },
    /// A clipping bound that is not a number it can be.
    #[error("clip bound {bound}: must be from {least} to {most}")]
    ClipBound {
        /// The bound.
        bound: f64,
        /// The smallest one.
        least: f64,
        /// The largest one.
        most: f64,
    },
}
