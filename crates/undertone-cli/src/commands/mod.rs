//! One file for each subcommand.

pub(crate) mod attack;
pub(crate) mod audit;
pub(crate) mod audit_bundle;
pub(crate) mod budget;
pub(crate) mod cert;
pub(crate) mod compare;
pub(crate) mod data;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod new;
pub(crate) mod node;
pub(crate) mod plan;
pub(crate) mod reproduce;
pub(crate) mod simulate;
pub(crate) mod status;
pub(crate) mod up;
pub(crate) mod verify;
