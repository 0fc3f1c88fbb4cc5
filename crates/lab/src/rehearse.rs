//! Every gateway of a plan rendered for every scenario, before anything starts.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use gatebench_drivers::{GatewayStart, Launcher, Ports, UPSTREAM_KEEPALIVE};

use crate::error::LabError;
use crate::prepare::Prepared;

/// Renders what the plan needs, with ports and folders that stand for those of the trials.
///
/// # Errors
/// Every mistake in the templates, each once.
pub(crate) fn rehearse(prepared: &Prepared, launcher: &Launcher) -> Result<(), LabError> {
    let mut mistakes: Vec<LabError> = Vec::new();
    for gateway in prepared.gateways.values() {
        for scenario in &prepared.plan.scenarios {
            if gateway.folder.supports(scenario).is_err() {
                continue;
            }
            let start = GatewayStart {
                folder: &gateway.folder,
                binary: &gateway.binary,
                scenario,
                work: Path::new("/trial/gateway"),
                cores: &prepared.plan.placement.gateway,
                targets: &[SocketAddr::from((Ipv4Addr::LOCALHOST, 2))],
                keepalive: UPSTREAM_KEEPALIVE,
                access_log: false,
                ports: Ports::default(),
                launcher,
            };
            if let Err(error) = start.rehearse() {
                let error = LabError::from(error);
                if !mistakes.iter().any(|known| known.told() == error.told()) {
                    mistakes.push(error);
                }
            }
        }
    }
    LabError::unless_none(mistakes)
}
