//! Runs a gateway on another host, and samples its processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::host::RemoteHost;
use super::kept::{self, Texts};
use super::protocol::{Ask, Start, Stopped, Tried};
use crate::error::DriverError;
use crate::gateway::{CERTIFICATE_FILE, GatewayStart, KEY_FILE, Started};
use crate::interrupt::Interrupt;
use crate::probe::{Outside, Sample};
use crate::system::exit::{Ended, Exit};

/// A gateway on another host. Dropping it stops the process.
#[derive(Debug)]
pub(crate) struct RemoteGateway {
    host: Arc<RemoteHost>,
    pub(crate) started: Started,
    /// The folder on this machine that receives the gateway's logs and rendered files.
    work: PathBuf,
    has_stopped: bool,
}

impl RemoteGateway {
    /// Checks that the host can reach the upstreams; renders, checks and starts the gateway there;
    /// and checks that this machine can reach the gateway.
    pub(crate) fn start(
        host: &Arc<RemoteHost>,
        start: &GatewayStart<'_>,
        interrupt: &Interrupt,
    ) -> Result<Self, DriverError> {
        let named = start.more_upstreams.iter().map(|(_, address)| address);
        for address in start.targets.iter().chain(named) {
            host.ask::<()>(&Ask::Reach { address: *address })?;
        }
        let request = Start {
            gateway: start.gateway.clone(),
            scenario: start.scenario.clone(),
            files: certificate(start.work),
            cores: start.cores.len(),
            listen: host.there,
            targets: start.targets.to_vec(),
            more_upstreams: start.more_upstreams.to_vec(),
            connections: start.connections,
        };
        let is_unwanted = || interrupt.is_raised();
        let tried: Tried = host.ask_unless(&Ask::Start(Box::new(request)), is_unwanted)?;
        // A failure to keep logs and rendered files does not end the trial, here or in `stop`.
        let _ = kept::put(start.work, &tried.kept);
        let started = tried.started.map_err(|error| error.on(host.name()))?;
        let gateway = Self {
            host: Arc::clone(host),
            started,
            work: start.work.to_owned(),
            has_stopped: false,
        };
        host.must_be_reached("gateway", gateway.started.address)?;
        Ok(gateway)
    }

    pub(crate) fn exit_status(&self) -> Result<Option<Exit>, DriverError> {
        self.host.ask(&Ask::Exit)
    }

    /// Returns the last lines of the gateway's standard error; empty if the connection is lost.
    pub(crate) fn stderr_tail(&self) -> String {
        self.host.ask(&Ask::Stderr).unwrap_or_default()
    }

    pub(crate) fn act(&self, action: &str) -> Result<(), DriverError> {
        let action = action.to_owned();
        self.host.ask(&Ask::Act { action })
    }

    /// Ends the gateway, and copies its files to this machine.
    pub(crate) fn stop(&mut self) -> Result<Ended, DriverError> {
        self.has_stopped = true;
        let stopped: Stopped = self.host.ask(&Ask::Stop)?;
        let _ = kept::put(&self.work, &stopped.kept);
        Ok(stopped.ended)
    }

    pub(crate) fn sampler(&self) -> RemoteSampler {
        RemoteSampler::new(&self.host)
    }
}

impl Drop for RemoteGateway {
    fn drop(&mut self) {
        if !self.has_stopped {
            // If the connection is lost, the remote end ends the gateway.
            let _ = self.stop();
        }
    }
}

/// Returns the trial's certificate and key, if it has them.
fn certificate(work: &Path) -> Texts {
    let text = |name: &str| Some((name.into(), fs::read_to_string(work.join(name)).ok()?));
    let names = [CERTIFICATE_FILE, KEY_FILE].into_iter();
    names.filter_map(text).collect()
}

/// Samples a gateway's processes on its host. Times are read from the host's clock, so only their
/// differences are meaningful.
#[derive(Debug)]
pub struct RemoteSampler {
    host: Arc<RemoteHost>,
    number: u32,
    last: Sample,
}

impl RemoteSampler {
    pub(super) fn new(host: &Arc<RemoteHost>) -> Self {
        Self {
            number: host.next_sampler(),
            host: Arc::clone(host),
            last: Sample::default(),
        }
    }

    /// Returns the last sample again if the connection is lost.
    pub(crate) fn sample(&mut self) -> Sample {
        let sampler = self.number;
        self.last = self.host.ask(&Ask::Sample { sampler }).unwrap_or(self.last);
        self.last
    }

    pub(crate) fn pss_bytes(&self) -> Option<u64> {
        let sampler = self.number;
        self.host.ask(&Ask::Pss { sampler }).ok().flatten()
    }

    pub(crate) fn outside(&self) -> Outside {
        let sampler = self.number;
        self.host.ask(&Ask::Outside { sampler }).unwrap_or_default()
    }
}
