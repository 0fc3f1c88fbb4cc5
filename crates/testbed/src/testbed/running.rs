//! Observes, changes and ends the running parts of a trial.

use std::path::Path;
use std::sync::Arc;

use gatebench_model::Culprit;

use super::death;
use super::parts::TrialParts;
use super::placed::{GatewaySampler, PlacedGateway};
use super::shutdown::{Shutdown, StartedGateway};
use super::upstreams::Upstreams;
use crate::error::DriverError;
use crate::gateway::{Attached, FoundGateway, LocalGateway, Started};
use crate::interrupt::{Interrupt, Urgency};
use crate::probe::{OwnProfiler, Sampler, Scope};
use crate::remote::WatchedPod;
use crate::wire::Wire;

/// The value of `access_log` in `gateway.yaml` that means standard output.
const STDOUT: &str = "stdout";

/// The running parts of a trial. Dropping them ends the gateway first, then the upstreams, Redis
/// and PostgreSQL, because the fields are dropped in this order.
#[derive(Debug)]
pub struct Running {
    front: Front,
    upstreams: Upstreams,
    target: Wire,
}

/// The target of the load.
#[derive(Debug)]
enum Front {
    Upstream,
    Gateway(StartedGateway),
    /// A gateway that the user started, with its label and, if they are known, the root of its
    /// process tree and its pod.
    Attached {
        label: String,
        pid: Option<u32>,
        watched: Option<Arc<WatchedPod>>,
    },
}

impl Running {
    pub(super) fn direct(upstreams: Upstreams) -> Self {
        Self {
            front: Front::Upstream,
            // Without a gateway there is exactly one target, and it is running.
            target: upstreams.up().remove(0),
            upstreams,
        }
    }

    pub(super) fn attached(
        label: &str,
        attached: Attached,
        watched: Option<Arc<WatchedPod>>,
    ) -> Self {
        Self {
            front: Front::Attached {
                label: label.to_owned(),
                pid: attached.pid,
                watched,
            },
            target: Wire::plain(attached.addr),
            upstreams: Upstreams::default(),
        }
    }

    pub(super) fn with_gateway(
        trial: &TrialParts<'_>,
        found: &FoundGateway,
        gateway: PlacedGateway,
        target: Wire,
        upstreams: Upstreams,
    ) -> Self {
        let (spec, work) = (&found.folder.spec, trial.gateway_work());
        let access_log = spec.access_log.as_ref().zip(gateway.here());
        let access_log = access_log.map(|(said, local)| match said.as_str() {
            STDOUT => local.process.stdout.clone(),
            file => work.join(file),
        });
        let profile = spec.profile.as_ref().filter(|_| trial.profile.is_some());
        let profile = profile.filter(|_| gateway.here().is_some());
        Self {
            front: Front::Gateway(StartedGateway {
                label: trial.variant.label().to_owned(),
                gateway,
                stop: spec.stop.clone(),
                stderr_log: work.join("gateway.stderr.log"),
                access_log,
                profiler: profile.map(|file| OwnProfiler {
                    name: spec.gateway.clone(),
                    prefix: work.join(file),
                }),
            }),
            upstreams,
            target,
        }
    }

    fn gateway(&self) -> Option<&PlacedGateway> {
        match &self.front {
            Front::Gateway(started) => Some(&started.gateway),
            _ => None,
        }
    }

    /// Returns the target of the load: the gateway, or the upstream if there is none.
    pub fn target(&self) -> &Wire {
        &self.target
    }

    /// Returns the targets of all upstreams that are not deliberately down; empty if gatebench
    /// started no upstream.
    pub fn upstream(&self) -> Vec<Wire> {
        self.upstreams.up()
    }

    /// Returns the result of the gateway's start, if gatebench started a gateway.
    pub fn started(&self) -> Option<&Started> {
        self.gateway().map(PlacedGateway::started)
    }

    /// Runs an action of the gateway's folder. Does nothing if gatebench started no gateway.
    ///
    /// # Errors
    /// There is no such action, or it failed.
    pub fn change(&mut self, action: &str) -> Result<(), DriverError> {
        match &mut self.front {
            Front::Gateway(started) => started.gateway.act(action),
            _ => Ok(()),
        }
    }

    /// Returns a sampler of the gateway's processes, if they are known.
    pub fn gateway_sampler(&self) -> Option<GatewaySampler> {
        match &self.front {
            Front::Upstream => None,
            Front::Gateway(started) => Some(started.gateway.sampler()),
            Front::Attached {
                watched: Some(pod), ..
            } => Some(GatewaySampler::There(pod.sampler())),
            Front::Attached { pid, .. } => {
                let sampler = Sampler::new((*pid)?, Scope::Tree);
                Some(GatewaySampler::Here(Box::new(sampler)))
            }
        }
    }

    /// Returns the gateway's own profiler, if one runs in this trial and the gateway is on this
    /// machine.
    pub fn own_profiler(&self) -> Option<&OwnProfiler> {
        match &self.front {
            Front::Gateway(started) => started.profiler.as_ref(),
            _ => None,
        }
    }

    /// Returns the process ID of the upstream's supervisor. Returns `None` unless gatebench started
    /// exactly one target and it runs on this machine.
    pub fn upstream_root(&self) -> Option<u32> {
        self.upstreams.only_root()
    }

    /// Returns the last lines of the gateway's standard error; empty if gatebench started no
    /// gateway.
    pub fn gateway_stderr(&self) -> String {
        let tail = self.gateway().map(PlacedGateway::stderr_tail);
        tail.unwrap_or_default()
    }

    /// Returns the error for a part that has died, or for a lost connection to a part's host.
    pub fn death(&mut self) -> Option<DriverError> {
        let upstreams = &mut self.upstreams;
        let front = self.front.death();
        front
            .or_else(|| upstreams.ended_server().map(death::of_server))
            .or_else(|| upstreams.death())
    }

    pub fn kill_first_target(&mut self) {
        self.upstreams.kill_first();
    }

    /// Restarts the first target of the upstream at its address.
    pub fn start_first_target_again(&mut self) -> Result<(), DriverError> {
        self.upstreams.start_first_again()
    }

    /// Kills the gateway's control plane, if it has one on this machine.
    pub fn kill_control_plane(&mut self) {
        if let Some(local) = self.local_gateway() {
            local.kill_control_plane();
        }
    }

    /// Restarts the gateway's control plane at its address, if it has one on this machine.
    pub fn start_control_plane_again(&mut self) -> Result<(), DriverError> {
        let local = self.local_gateway();
        local.map_or(Ok(()), LocalGateway::start_control_plane_again)
    }

    fn local_gateway(&mut self) -> Option<&mut LocalGateway> {
        match &mut self.front {
            Front::Gateway(started) => started.gateway.here_mut(),
            _ => None,
        }
    }

    /// Ends everything, the gateway first; an urgent interrupt kills the gateway. Returns how the
    /// gateway ended, if gatebench started one.
    pub fn stop(self, interrupt: &Interrupt) -> Option<Shutdown> {
        interrupt.cuts_short(Urgency::Now, || {
            // The upstreams end after the gateway, at the end of this function.
            let _upstreams = self.upstreams;
            match self.front {
                Front::Gateway(started) => Some(started.stop()),
                _ => None,
            }
        })
    }
}

impl Front {
    fn death(&mut self) -> Option<DriverError> {
        match self {
            Self::Upstream => None,
            Self::Gateway(started) => match started.gateway.exit_status() {
                Ok(None) => started.gateway.here_mut()?.control_plane_death(),
                Ok(Some(exit)) => {
                    let stderr = started.gateway.stderr_tail();
                    Some(death::of_gateway(&started.label, exit, &stderr))
                }
                Err(error) => Some(error),
            },
            Self::Attached {
                label,
                pid,
                watched,
            } => {
                let ended = |pid: &u32| !Path::new("/proc").join(pid.to_string()).exists();
                let ended = pid.filter(ended).map(|pid| DriverError::Died {
                    culprit: Culprit::Gateway(label.clone()),
                    message: format!("process {pid} has ended"),
                    remedy: "start the gateway again and repeat the run".into(),
                });
                ended.or_else(|| watched.as_ref()?.death())
            }
        }
    }
}
