//! The parts of a trial, and the inputs for starting them.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use gatebench_model::{Placement, Scenario, Variant};

use crate::gateway::{FoundGateway, Opening};

/// The default IP address of parts on this machine.
pub(super) const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A group of a trial's processes that are started in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The upstreams, Redis and PostgreSQL.
    Upstream,
    Gateway,
}

/// A trial's scenario, gateway and placement, from which its parts are started.
#[derive(Clone, Copy)]
pub struct TrialParts<'a> {
    pub scenario: &'a Scenario,
    pub variant: &'a Variant,
    /// The gateway of the variant; `None` for the direct variant and for an attached gateway.
    pub gateway: Option<&'a FoundGateway>,
    /// The trial's folder, with a subfolder for the files and logs of each part.
    pub folder: &'a Path,
    pub placement: &'a Placement,
    /// The number of streams whose nonces the ledgers of the upstreams remember.
    pub streams: usize,
    /// The maximum number of upstream connections that a load may need.
    pub connections: u32,
    /// The sampling rate of the gateway's own profiler, in samples per second, if the gateway has
    /// one; `None` if the gateways' own profilers are off.
    pub profile: Option<u32>,
    /// The request that determines when the gateway is ready; `None` for the request in the
    /// gateway's folder.
    pub opening: Option<Opening<'a>>,
}

impl TrialParts<'_> {
    pub(super) fn gateway_work(&self) -> PathBuf {
        self.folder.join("gateway")
    }

    pub(super) fn gateway_cores(&self) -> &[usize] {
        let setup = self.variant.setup();
        setup.map_or(&[], |setup| setup.gateway_cores(self.placement))
    }
}
