//! A gateway that was started for a trial, on this machine or another host.

use crate::error::DriverError;
use crate::gateway::{LocalGateway, Started};
use crate::probe::{Outside, Sample, Sampler};
use crate::remote::{RemoteGateway, RemoteSampler};
use crate::system::exit::{Ended, Exit};

/// A started gateway. Dropping it stops the process.
#[derive(Debug)]
pub(super) enum PlacedGateway {
    Here(Box<LocalGateway>),
    There(Box<RemoteGateway>),
}

impl PlacedGateway {
    /// Returns `None` for a gateway on another host.
    pub(super) fn here(&self) -> Option<&LocalGateway> {
        match self {
            Self::Here(local) => Some(local),
            Self::There(_) => None,
        }
    }

    pub(super) fn here_mut(&mut self) -> Option<&mut LocalGateway> {
        match self {
            Self::Here(local) => Some(local),
            Self::There(_) => None,
        }
    }

    pub(super) fn started(&self) -> &Started {
        match self {
            Self::Here(local) => &local.started,
            Self::There(remote) => &remote.started,
        }
    }

    /// Returns the gateway's exit status, if the gateway has ended; an error if the connection is
    /// lost.
    pub(super) fn exit_status(&mut self) -> Result<Option<Exit>, DriverError> {
        match self {
            Self::Here(local) => Ok(local.process.exit_status()),
            Self::There(remote) => remote.exit_status(),
        }
    }

    pub(super) fn stderr_tail(&self) -> String {
        match self {
            Self::Here(local) => local.process.stderr_tail(),
            Self::There(remote) => remote.stderr_tail(),
        }
    }

    pub(super) fn act(&mut self, action: &str) -> Result<(), DriverError> {
        match self {
            Self::Here(local) => local.act(action),
            Self::There(remote) => remote.act(action),
        }
    }

    /// Ends the gateway. Returns an error if the connection is lost, which also ends the gateway.
    pub(super) fn stop(&mut self) -> Result<Ended, DriverError> {
        match self {
            Self::Here(local) => Ok(local.process.stop()),
            Self::There(remote) => remote.stop(),
        }
    }

    pub(super) fn sampler(&self) -> GatewaySampler {
        match self {
            Self::Here(local) => GatewaySampler::Here(Box::new(local.process.sampler())),
            Self::There(remote) => GatewaySampler::There(remote.sampler()),
        }
    }
}

/// A sampler of a gateway's processes, on this machine or another host.
#[derive(Debug)]
pub enum GatewaySampler {
    Here(Box<Sampler>),
    There(RemoteSampler),
}

impl GatewaySampler {
    /// Returns `None` for a gateway on another host.
    pub fn local(&self) -> Option<&Sampler> {
        match self {
            Self::Here(sampler) => Some(sampler),
            Self::There(_) => None,
        }
    }

    pub fn sample(&mut self) -> Sample {
        match self {
            Self::Here(sampler) => sampler.sample(),
            Self::There(sampler) => sampler.sample(),
        }
    }

    /// Returns the proportional set size in bytes. The kernel walks every page to compute it, so do
    /// not call this during a measurement.
    pub fn pss_bytes(&self) -> Option<u64> {
        match self {
            Self::Here(sampler) => sampler.pss_bytes(),
            Self::There(sampler) => sampler.pss_bytes(),
        }
    }

    /// Returns the CPU time of each thread and the size of each file that the gateway writes. Do
    /// not call this during a measurement, because it is slow.
    pub fn outside(&self) -> Outside {
        match self {
            Self::Here(sampler) => sampler.outside(),
            Self::There(sampler) => sampler.outside(),
        }
    }
}
