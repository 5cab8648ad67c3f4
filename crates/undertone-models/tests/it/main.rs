//! Laws of models and memories, each with a control that must fail.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod forgetting;
mod memories;
mod models;
mod neural;
mod neural_limits;
mod neural_support;
mod neural_torch;
mod persons;
mod spread;
mod support;
