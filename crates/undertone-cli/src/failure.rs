//! Why a command ends early, and its exit code.

use std::io::{self, Write};
use std::process::ExitCode;

/// Why a command failed.
pub(crate) struct Failure(anyhow::Error);

/// A check found something.
pub(crate) const FOUND_SOMETHING: u8 = 1;
/// Bad input or config.
const BAD_INPUT: u8 = 2;
/// A learner's budget was exhausted.
pub(crate) const BUDGET_EXHAUSTED: u8 = 3;

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(error.into())
    }
}

/// Ends a command whose exit code was known before anything was printed.
///
/// A closed pipe (`undertone audit … | head`) must not turn a finding into a success.
pub(crate) fn finish(code: ExitCode, printed: io::Result<()>) -> Result<ExitCode, Failure> {
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        Ok(()) | Err(_) => Ok(code),
    }
}

impl Failure {
    /// Prints the error on stderr and returns the exit code.
    pub(crate) fn report(self) -> ExitCode {
        // A closed pipe (`undertone … | head`) is not a fault.
        if self
            .0
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
        {
            return ExitCode::SUCCESS;
        }
        // Many messages already contain the message of their cause.
        let mut text = self.0.to_string();
        for cause in self.0.chain().skip(1).map(ToString::to_string) {
            if !text.contains(&cause) {
                text = format!("{text}: {cause}");
            }
        }
        let _ = writeln!(io::stderr(), "error: {text}");
        ExitCode::from(BAD_INPUT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_went_away_changes_no_exit_code_and_other_errors_do() {
        let code = || ExitCode::from(FOUND_SOMETHING);
        let ended = |printed| finish(code(), printed).map(|code| format!("{code:?}")).ok();
        let found = Some(format!("{:?}", code()));
        assert_eq!(ended(Ok(())), found);
        assert_eq!(ended(Err(io::ErrorKind::BrokenPipe.into())), found);
        assert_eq!(ended(Err(io::ErrorKind::StorageFull.into())), None);
    }
}
