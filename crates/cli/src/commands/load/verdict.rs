//! The exit code of a load.

use gatebench_model::Bound;

use super::results::Results;
use crate::exit::Exit;

/// What the shell hears. An error is no failure by itself: the target may be meant to refuse. What must
/// not be is said with checks and thresholds.
pub fn of<'a>(results: &Results<'_>, mut bounds: impl Iterator<Item = &'a Bound>) -> Exit {
    let figures = &results.figures;
    let judges_checks = bounds.any(Bound::is_about_checks);
    let check_failed = !judges_checks && figures.counts().answers_failing_checks > 0;
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
