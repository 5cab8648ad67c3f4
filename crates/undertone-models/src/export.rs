//! Export of the public model as a safetensors file.

use crate::model_metadata::accounts_metadata;
use safetensors::tensor::{Dtype, TensorView};
use std::collections::HashMap;
use std::ops::Range;
use undertone_core::PublicModel;
use undertone_core::neural::{NeuralSpec, Operation};
use undertone_core::privacy::ModelAccounts;

/// Why a model cannot be exported.
pub type ExportError = safetensors::SafeTensorError;

/// The public model as safetensors. It is an average of releases, so publishing it costs no privacy.
///
/// The layers of a neural network are separate tensors, with PyTorch's names and shapes; other models are one tensor.
/// What records have paid for it is added to the metadata, with ε at `delta`.
///
/// # Errors
/// When the format cannot represent the model.
///
/// # Panics
/// When δ is not inside (0, 1): configs are checked before.
pub fn model_file(
    model: &PublicModel,
    neural: Option<&NeuralSpec>,
    accounts: &ModelAccounts,
    delta: f64,
    mut metadata: HashMap<String, String>,
) -> Result<Vec<u8>, ExportError> {
    metadata.extend(accounts_metadata(accounts, delta));
    let bytes: Vec<u8> = model.values().iter().flat_map(|value| value.to_le_bytes()).collect();
    let tensors = tensors(model.values().len(), neural)
        .into_iter()
        .map(|Tensor { name, shape, range }| {
            let part = &bytes[range.start * 8..range.end * 8];
            Ok((name, TensorView::new(Dtype::F64, shape, part)?))
        })
        .collect::<Result<Vec<_>, ExportError>>()?;
    safetensors::serialize(tensors, Some(metadata))
}

/// A part of the flat parameters.
struct Tensor {
    name: String,
    shape: Vec<usize>,
    range: Range<usize>,
}

fn tensors(parameters: usize, neural: Option<&NeuralSpec>) -> Vec<Tensor> {
    let whole = || Tensor { name: "theta".into(), shape: vec![parameters], range: 0..parameters };
    let Some((layers, _)) = neural.and_then(|spec| spec.layout().ok()) else {
        return vec![whole()];
    };
    let mut found = Vec::new();
    for (place, layer) in layers.iter().enumerate() {
        let shape = match layer.operation {
            Operation::Conv { kernel, .. } => {
                vec![layer.biases, layer.input.channels, kernel, kernel]
            }
            Operation::Dense => vec![layer.biases, layer.fan_in()],
            Operation::Relu
            | Operation::Tanh
            | Operation::Sigmoid
            | Operation::MaxPool { .. }
            | Operation::AveragePool { .. } => continue,
        };
        let (name, range) = (format!("{place}.weight"), layer.weight_range());
        found.push(Tensor { name, shape, range });
        let (name, range) = (format!("{place}.bias"), layer.bias_range());
        found.push(Tensor { name, shape: vec![layer.biases], range });
    }
    found
}
