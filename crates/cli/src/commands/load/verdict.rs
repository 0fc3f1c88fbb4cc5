//! The exit code of a load.

use super::results::Results;
use crate::exit::Exit;

/// Returns the exit code. An error response alone is not a failure, because the target may be meant
/// to refuse requests; checks and thresholds state what must hold.
pub fn of(results: &Results<'_>) -> Exit {
    let figures = &results.figures;
    let check_failed = !results.judges_checks && figures.counts().responses_failing_checks > 0;
    if figures.outcome.interrupted {
        Exit::Interrupted
    } else if check_failed || results.judged.iter().any(|it| !it.held) {
        Exit::CheckFailed
    } else if figures.counts().completed == 0 {
        Exit::Inconclusive
    } else {
        Exit::Fine
    }
}
