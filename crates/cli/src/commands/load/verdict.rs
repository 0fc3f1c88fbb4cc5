//! The exit code of a load.

use gatebench_model::Bound;

use super::results::Results;
use crate::exit::Exit;

/// Returns the exit code. An error response alone is not a failure, because the target may be meant
/// to refuse requests; checks and thresholds state what must hold.
pub fn of<'a>(results: &Results<'_>, mut bounds: impl Iterator<Item = &'a Bound>) -> Exit {
    let figures = &results.figures;
    let judges_checks = bounds.any(Bound::is_about_checks);
    let check_failed = !judges_checks && figures.counts().responses_failing_checks > 0;
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
