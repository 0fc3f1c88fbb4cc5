//! Measuring starts, and loads that begin cold in any study.

use gatebench_model::{LoadProfile, Plan, Study};

use crate::error::RunnerError;

/// Refuses loads with which no start would be measured.
///
/// # Errors
/// The study measures starts, and a load does not begin cold. A load begins cold and has a phase
/// that is side by side: its gateways would wait for each other before the first phase.
pub(super) fn refuse_unfit(study: &Study, plan: &Plan) -> Result<(), RunnerError> {
    let mut loads = plan.scenarios.iter().map(|it| plan.load_of(&it.scenario));
    if matches!(study, Study::ColdStart(_)) && !loads.clone().all(|load| load.cold) {
        return Err(RunnerError::words(
            "the study cold-start needs a load that begins cold",
            "omit --load, or set cold: true in the load profile",
        ));
    }
    let is_met = |load: &&LoadProfile| load.cold && load.phases.iter().any(|it| it.side_by_side);
    let Some(load) = loads.find(is_met) else {
        return Ok(());
    };
    Err(RunnerError::words(
        format!(
            "the load profile '{}' begins cold, but has a phase with `side_by_side`, \
             for which gateways wait for each other",
            load.profile
        ),
        "remove cold: true or `side_by_side` from the load profile, or choose another with --load",
    ))
}
