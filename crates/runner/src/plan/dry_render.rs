//! Renders every gateway of a plan for every scenario, before anything starts.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use gatebench_model::Variant;
use gatebench_testbed::{GatewayStart, Launcher, Ports, UPSTREAM_KEEPALIVE};

use super::selection::Prepared;
use crate::error::RunnerError;

/// Stands for the upstream's port; an unusual one, so that a configuration that names it means it.
const UPSTREAM_PORT: u16 = 48_612;

/// Stands for the port of Redis.
const REDIS_PORT: u16 = 48_613;

/// Renders what the plan needs, with ports and folders that stand for those of the trials.
///
/// # Errors
/// Every mistake in the templates, each once.
pub(crate) fn dry_render(prepared: &Prepared, launcher: &Launcher) -> Result<(), RunnerError> {
    let mut mistakes: Vec<RunnerError> = Vec::new();
    for (label, gateway) in &prepared.gateways {
        let setup = prepared.plan.variant(label).and_then(Variant::setup);
        let placement = &prepared.plan.placement;
        let cores = setup.map_or(&placement.gateway[..], |it| it.gateway_cores(placement));
        for scenario in &prepared.plan.scenarios {
            if gateway.supports(scenario).is_err() {
                continue;
            }
            let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let scenario = &scenario.clone().with_redis(at(REDIS_PORT));
            let more: Vec<_> = scenario
                .more_upstreams
                .keys()
                .map(|name| (name.clone(), at(UPSTREAM_PORT)))
                .collect();
            let start = GatewayStart {
                folder: &gateway.folder,
                binary: &gateway.binary,
                scenario,
                work: Path::new("/trial/gateway"),
                cores,
                limits: &gateway.limits,
                amounts: &gateway.amounts,
                listen: Ipv4Addr::LOCALHOST.into(),
                targets: &[at(UPSTREAM_PORT)],
                more_upstreams: &more,
                keepalive: UPSTREAM_KEEPALIVE,
                access_log: scenario.access_log,
                ports: Ports::default(),
                launcher,
            };
            if let Err(error) = start.rehearse() {
                let error = RunnerError::from(error);
                if !mistakes.iter().any(|known| known.told() == error.told()) {
                    mistakes.push(error);
                }
            }
        }
    }
    RunnerError::unless_none(mistakes)
}
