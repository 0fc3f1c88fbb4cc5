//! Measuring, also at shares of each gateway's saturation.

use gatebench_model::{Plan, Study};

use crate::error::RunnerError;

/// Refuses shares of saturation that do not go together with the plan's loads.
///
/// # Errors
/// Gateways that are loaded side by side: the rate of each would be a share of its saturation
/// alone. A load of the profile that has the name of one at a share.
pub(super) fn refuse_unfit(study: &Study, plan: &Plan) -> Result<(), RunnerError> {
    let Study::Measure(Some(shares)) = study else {
        return Ok(());
    };
    if let Some(phase) = plan.phases().find(|phase| phase.side_by_side) {
        return Err(RunnerError::words(
            format!(
                "--at measures one gateway at a time, but the load '{}' measures them side by side",
                phase.name
            ),
            "omit --at or the suite's `study`, or choose another load with --load",
        ));
    }
    let is_taken = |name: &String| plan.phases().any(|phase| phase.name == *name);
    let taken = shares.names().find(is_taken);
    if let Some(name) = taken {
        return Err(RunnerError::words(
            format!("--at adds a load named '{name}', but the load profile already has one"),
            "rename that phase in the load profile, omit --at, or choose another load with --load",
        ));
    }
    Ok(())
}
