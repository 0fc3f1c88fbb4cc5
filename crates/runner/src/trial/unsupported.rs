//! Finds the requirements of a scenario and its load that a gateway cannot meet.

use std::collections::BTreeSet;

use gatebench_model::Variant;
use gatebench_model::load::FailingPart;

use crate::context::TrialContext;

/// Returns the policies, changes and other requirements of the trial that the gateway does not
/// support; `None` if it supports everything, or if there is no gateway. An attached gateway
/// supports no changes, failures or cold starts, because gatebench did not start the gateway.
pub(super) fn unsupported(context: &TrialContext<'_>) -> Option<Vec<String>> {
    let phases = context.phases().iter();
    let changes = phases.filter_map(|phase| phase.change.as_ref());
    let mut lacking: Vec<String> = Vec::new();
    match (context.variant, context.gateway) {
        (Variant::Attached { .. }, _) => {
            lacking.extend(changes.map(|it| it.action.clone()));
            let failures = context.phases().iter().filter_map(|it| it.failure.as_ref());
            let part = |part| match part {
                FailingPart::Target => "an upstream",
                FailingPart::ControlPlane => "a control plane",
            };
            let failures = failures.map(|it| (part(it.part), it.how.as_str()));
            lacking.extend(failures.map(|(part, how)| format!("{part} that is {how}")));
            lacking.extend(context.is_cold().then(|| "a cold start".to_owned()));
        }
        (_, Some(gateway)) => {
            let policies = gateway.supports(context.scenario).err();
            lacking.extend(policies.map(|it| it.policies).unwrap_or_default());
            let unknown = changes.filter(|it| !gateway.folder.spec.has(&it.action));
            lacking.extend(unknown.map(|it| it.action.clone()));
            if gateway.binary.host.is_some() {
                lacking.extend(unsupported_on_another_host(context).map(str::to_owned));
            }
        }
        (_, None) => return None,
    }
    let mut seen = BTreeSet::new();
    lacking.retain(|it| seen.insert(it.clone()));
    (!lacking.is_empty()).then_some(lacking)
}

fn unsupported_on_another_host(context: &TrialContext<'_>) -> impl Iterator<Item = &'static str> {
    let scenario = context.scenario;
    let spec = context.gateway.map(|it| &it.folder.spec);
    let needs_postgres = spec.is_some_and(|it| it.needs_postgres(scenario));
    let needs = [
        (scenario.metrics.is_some(), "metrics across hosts"),
        (scenario.admin.is_some(), "the admin interface across hosts"),
        (scenario.control_plane, "a control plane across hosts"),
        (needs_postgres, "PostgreSQL across hosts"),
        (
            context.plan.study.profile().is_some(),
            "a profile across hosts",
        ),
        (context.is_cold(), "a cold start across hosts"),
    ];
    let needed = needs.into_iter().filter(|(is_needed, _)| *is_needed);
    needed.map(|(_, need)| need)
}
