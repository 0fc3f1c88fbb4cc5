//! Finds what a scenario and its load ask for that a gateway cannot do.

use gatebench_model::{Scenario, Variant};

use crate::context::TrialContext;

/// What the gateway has no native means for: policies, and changes while it runs. Of a gateway that
/// runs already it is not known how it would be changed.
pub(super) fn unsupported(context: &TrialContext<'_>) -> Option<Vec<String>> {
    let phases = context.phases().iter();
    let changes = phases.filter_map(|phase| phase.change.as_ref());
    let mut lacking: Vec<String> = match (context.variant, context.gateway) {
        (Variant::Attached { .. }, _) => {
            let failures = context.phases().iter().filter_map(|it| it.failure.as_ref());
            let failures = failures.map(|it| format!("an upstream that is {}", it.how.as_str()));
            let cold = context.is_cold().then(|| "a cold start".to_owned());
            changes
                .map(|it| it.action.clone())
                .chain(failures)
                .chain(cold)
                .collect()
        }
        (_, Some(gateway)) => {
            let actions = &gateway.folder.spec.actions;
            let unknown = changes.filter(|it| !actions.contains_key(&it.action));
            let policies = gateway.supports(context.scenario).err();
            let policies = policies.map(|it| it.policies).unwrap_or_default();
            let afar = gateway.host.is_some().then(|| not_afar(context.scenario));
            let is_profiled_afar = gateway.host.is_some() && context.plan.study.profile().is_some();
            let profile = is_profiled_afar.then(|| "a profile of another host".to_owned());
            let is_cold_afar = gateway.host.is_some() && context.is_cold();
            let cold = is_cold_afar.then(|| "a cold start on another host".to_owned());
            policies
                .into_iter()
                .chain(unknown.map(|it| it.action.clone()))
                .chain(afar.into_iter().flatten())
                .chain(profile)
                .chain(cold)
                .collect()
        }
        (_, None) => return None,
    };
    lacking.dedup();
    (!lacking.is_empty()).then_some(lacking)
}

/// What a scenario asks for that is not done with a gateway on another host.
fn not_afar(scenario: &Scenario) -> Vec<String> {
    let is_several = scenario.targets > 1 || !scenario.more_upstreams.is_empty();
    let targets = is_several.then(|| "several targets from another host".to_owned());
    let redis = scenario.needs_redis();
    let redis = redis.then(|| "a Redis from another host".to_owned());
    let metrics = scenario.metrics.as_ref();
    let metrics = metrics.map(|_| "metrics of another host".to_owned());
    let admin = scenario.admin.as_ref();
    let admin = admin.map(|_| "the admin interface of another host".to_owned());
    let all = targets.into_iter().chain(redis).chain(metrics);
    all.chain(admin).collect()
}
