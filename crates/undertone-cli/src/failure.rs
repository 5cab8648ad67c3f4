//! What ends a command early, and with which exit code.

use std::io::{self, Write};
use std::process::ExitCode;

/// A command that could not do what was asked.
pub(crate) struct Failure(anyhow::Error);

/// A check found something.
pub(crate) const CHECK_FAILED: u8 = 1;
/// Bad input or config.
const BAD_INPUT: u8 = 2;
/// A learner's budget was exhausted.
pub(crate) const BUDGET_EXHAUSTED: u8 = 3;

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(error.into())
    }
}

impl Failure {
    /// Says what is wrong on stderr and gives the exit code.
    pub(crate) fn report(self) -> ExitCode {
        // A reader that went away (`undertone … | head`) is not a fault.
        if self
            .0
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
        {
            return ExitCode::SUCCESS;
        }
        let _ = writeln!(io::stderr(), "error: {:#}", self.0);
        ExitCode::from(BAD_INPUT)
    }
}
