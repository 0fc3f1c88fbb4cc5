//! Measuring, also at shares of each gateway's saturation.

use gatebench_model::{Length, Plan, Shares};

use crate::error::RunnerError;

/// The shares of saturation at which gateways are also measured.
///
/// # Errors
/// Gateways that are loaded side by side: the rate of each would be a share of its saturation
/// alone. A load of the profile that has the name of one at a share.
pub(super) fn shares(
    percents: &[u32],
    length: Length,
    plan: &Plan,
) -> Result<Option<Shares>, RunnerError> {
    if percents.is_empty() {
        return Ok(None);
    }
    if let Some(phase) = plan.phases().find(|phase| phase.side_by_side) {
        return Err(RunnerError::words(
            format!(
                "--at measures one gateway at a time, but the load '{}' measures them side by side",
                phase.name
            ),
            "omit --at, or choose another load with --load",
        ));
    }
    let shares = Shares::new(percents.to_vec(), length);
    let is_taken = |name: &String| plan.phases().any(|phase| phase.name == *name);
    let taken = shares.names().find(is_taken);
    if let Some(name) = taken {
        return Err(RunnerError::words(
            format!("--at adds a load named '{name}', but the load profile already has one"),
            "rename that phase in the load profile, omit --at, or choose another load with --load",
        ));
    }
    Ok(Some(shares))
}
