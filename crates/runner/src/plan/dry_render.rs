//! Renders every gateway of a plan for every scenario, before anything starts.

use gatebench_model::Variant;

use super::selection::Prepared;
use crate::error::RunnerError;

/// Renders the templates for every gateway and scenario, with placeholders for ports and folders.
///
/// # Errors
/// All mistakes in the templates, without duplicates.
pub(crate) fn dry_render(prepared: &Prepared) -> Result<(), RunnerError> {
    let mut mistakes: Vec<RunnerError> = Vec::new();
    for (label, gateway) in &prepared.gateways {
        let setup = prepared.plan.variant(label).and_then(Variant::setup);
        let placement = &prepared.plan.placement;
        let cores = setup.map_or(&placement.gateway[..], |it| it.gateway_cores(placement));
        for scenario in &prepared.plan.scenarios {
            if gateway.supports(scenario).is_err() {
                continue;
            }
            let rendered = prepared.testbed.rehearse(gateway, scenario, cores);
            if let Err(error) = rendered {
                let error = RunnerError::from(error);
                if !mistakes
                    .iter()
                    .any(|known| known.one_line() == error.one_line())
                {
                    mistakes.push(error);
                }
            }
        }
    }
    RunnerError::unless_none(mistakes)
}
