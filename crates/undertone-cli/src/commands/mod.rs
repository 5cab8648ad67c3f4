//! One file for each subcommand.

pub(crate) mod audit;
pub(crate) mod budget;
pub(crate) mod new;
pub(crate) mod simulate;
