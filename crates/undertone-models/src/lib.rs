//! Losses, models and gradient memories for Undertone.
//!
//! A [`Model`] knows everything about one [`Record`]. A [`RecordChecker`] makes a [`BoundedRecord`] of it, once; a
//! [`memory`] averages over the history of a stream of these, at a cost per round that need not grow with it.
//! [`features`] holds fixed public transforms of a record, such as wavelet scattering, and [`neural`] small neural networks, with gradients that are clipped record by record. A [`Setup`] is what
//! follows from an agreement before any record is seen.

mod any_model;
mod bounded_record;
mod compensated;
mod declared;
mod export;
pub mod features;
mod history;
pub mod memory;
pub mod model;
mod model_metadata;
mod monomials;
pub mod neural;
mod neural_model;
mod packed_symmetric;
pub mod record;
mod record_bounds;
mod record_checker;
mod record_error;
mod row;
mod scalar_loss;
mod setup;
mod setup_error;
mod softmax;
mod vector;

pub use any_model::{AnyModel, Prediction};
pub use bounded_record::{BoundedRecord, save_records, visit_bounded_records};
pub use declared::{DeclaredFault, DeclaredLoss};
pub use export::{ExportError, model_file};
pub use memory::AnyMemory;
pub use model::Model;
pub use model_metadata::{
    AccountsError, accounts_from_json, accounts_json, accounts_metadata, accounts_sentence,
    read_accounts,
};
pub use neural_model::NeuralModel;
pub use record::{Features, Record, visit_records};
pub use record_checker::RecordChecker;
pub use record_error::RecordError;
pub use setup::{Setup, memory_error};
pub use setup_error::SetupError;
pub use undertone_core::PublicRandom;
pub use undertone_simd::Half;
