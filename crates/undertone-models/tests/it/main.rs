//! Laws of models and memories, each with a control that must fail.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod forgetting;
mod memories;
mod models;
mod network;
mod network_limits;
mod network_support;
mod network_torch;
mod support;
