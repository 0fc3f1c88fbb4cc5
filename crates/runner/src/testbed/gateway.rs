//! A gateway that was started for a trial: on this machine, or on another.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gatebench_model::GatewayFolder;
use gatebench_store::FirstCorrect;
use gatebench_testbed::probe::Scope;
use gatebench_testbed::{AdminCalls, DriverError, Ended, Exit, RenderedFile, Root, Running};

use super::log;
use super::opening::Opening;
use super::remote::RemoteGateway;
use super::sampler::GatewaySampler;

/// Dropping it ends the gateway.
#[derive(Debug)]
pub(crate) enum Gateway {
    Here(Box<Running>),
    There(Box<RemoteGateway>),
}

impl Gateway {
    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        match self {
            Self::Here(running) => running.addr,
            Self::There(remote) => remote.address,
        }
    }

    /// Where it tells of itself, if it does.
    pub(crate) fn metrics(&self) -> Option<SocketAddr> {
        match self {
            Self::Here(running) => running.metrics,
            Self::There(_) => None,
        }
    }

    /// Where its access log goes, where its folder says so and it is on this machine.
    pub(crate) fn access_log(&self, spec: &GatewayFolder, work: &Path) -> Option<PathBuf> {
        match self {
            Self::Here(running) => Some(log::place(spec.access_log.as_ref()?, running, work)),
            Self::There(_) => None,
        }
    }

    /// What the scenario has done through its admin interface.
    pub(crate) fn admin(&self) -> Option<&AdminCalls> {
        match self {
            Self::Here(running) => running.admin.as_ref(),
            Self::There(_) => None,
        }
    }

    /// From its start until it answered.
    pub(crate) fn ready_after(&self) -> Duration {
        match self {
            Self::Here(running) => running.ready_after,
            Self::There(remote) => remote.ready_after,
        }
    }

    /// The first correct response, which `opening` has heard; none on another host, where it is not
    /// looked for. Its time in the trial is that of the clock until the trial is known.
    pub(crate) fn first_correct(&self, opening: &Opening<'_>) -> Option<FirstCorrect> {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        match self {
            Self::Here(running) => Some(FirstCorrect {
                after_ns: nanos(running.ready_after),
                not_before_ns: nanos(running.not_ready_before),
                at_ns: opening.heard_at_ns(),
            }),
            Self::There(_) => None,
        }
    }

    /// The commands that were run, and the files that were rendered.
    pub(crate) fn made_of(&self) -> (&[Vec<String>], &[RenderedFile]) {
        match self {
            Self::Here(running) => (&running.commands, &running.rendered),
            Self::There(remote) => (&remote.commands, &remote.rendered),
        }
    }

    /// How it ended, if it did; an error where nobody can say any more.
    pub(crate) fn exit_status(&mut self) -> Result<Option<Exit>, DriverError> {
        match self {
            Self::Here(running) => Ok(running.exit_status()),
            Self::There(remote) => remote.exit_status(),
        }
    }

    /// Where its standard error goes, where that is on this machine.
    pub(crate) fn stderr_log(&self) -> Option<PathBuf> {
        match self {
            Self::Here(running) => Some(running.stderr_log().to_owned()),
            Self::There(_) => None,
        }
    }

    /// The end of what it wrote to standard error.
    pub(crate) fn stderr_tail(&self) -> String {
        match self {
            Self::Here(running) => running.stderr_tail(),
            Self::There(remote) => remote.stderr_tail(),
        }
    }

    /// Does what its folder names under `actions`.
    pub(crate) fn act(&mut self, action: &str) -> Result<(), DriverError> {
        match self {
            Self::Here(running) => running.act(action),
            Self::There(remote) => remote.act(action),
        }
    }

    /// Ends it; an error where the connection to it is over, which ends it too.
    pub(crate) fn stop(&mut self) -> Result<Ended, DriverError> {
        match self {
            Self::Here(running) => Ok(running.stop()),
            Self::There(remote) => remote.stop(),
        }
    }

    /// What samples its processes.
    pub(crate) fn sampler(&self) -> GatewaySampler {
        match self {
            Self::Here(running) => match running.root() {
                Root::Below(pid) => GatewaySampler::here(pid, Scope::Below),
                Root::Tree(pid) => GatewaySampler::here(pid, Scope::Tree),
            },
            Self::There(remote) => GatewaySampler::There(remote.sampler()),
        }
    }
}
