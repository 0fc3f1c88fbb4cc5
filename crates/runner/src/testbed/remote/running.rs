//! A gateway that runs there, and what its processes use.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gatebench_testbed::probe::Sample;
use gatebench_testbed::{
    CERTIFICATE_FILE, DriverError, Ended, Exit, KEY_FILE, RenderedFile, UPSTREAM_KEEPALIVE,
};

use super::host::RemoteHost;
use super::kept::{self, Texts};
use super::protocol::{Ask, OutsidePairs, Start, Stopped, Tried};
use crate::testbed::GatewaySpec;
use crate::testbed::sampler::Outside;

/// A gateway on another host. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct RemoteGateway {
    pub(crate) host: Arc<RemoteHost>,
    pub(crate) address: SocketAddr,
    pub(crate) ready_after: Duration,
    pub(crate) commands: Vec<Vec<String>>,
    pub(crate) rendered: Vec<RenderedFile>,
    /// The trial's folder for it on this machine.
    work: PathBuf,
    has_stopped: bool,
}

impl RemoteGateway {
    /// Has it rendered, checked and started there, in front of the upstream at `target`.
    pub(crate) fn start(
        host: &Arc<RemoteHost>,
        spec: &GatewaySpec<'_>,
        target: SocketAddr,
    ) -> Result<Self, DriverError> {
        host.ask::<()>(&Ask::Reach { address: target })?;
        let gateway = spec.gateway;
        let start = Start {
            folder: gateway.folder.clone(),
            binary: gateway.binary.clone(),
            scenario: spec.scenario.clone(),
            files: certificate(spec.work),
            cores: spec.cores.len(),
            limits: gateway.limits.clone(),
            amounts: gateway.amounts.clone(),
            listen: host.there,
            target,
            keepalive: UPSTREAM_KEEPALIVE.max(spec.connections),
        };
        let is_unwanted = || spec.interrupt.is_raised();
        let tried: Tried = host.ask_unless(&Ask::Start(Box::new(start)), is_unwanted)?;
        keep(spec.work, &tried.kept);
        let started = tried.started.map_err(|told| told.on(host.name()))?;
        let running = Self {
            host: Arc::clone(host),
            address: started.address,
            ready_after: started.ready_after,
            commands: started.commands,
            rendered: started.rendered,
            work: spec.work.to_owned(),
            has_stopped: false,
        };
        host.must_be_reached(running.address)?;
        Ok(running)
    }

    /// How it ended, if it did.
    pub(crate) fn exit_status(&self) -> Result<Option<Exit>, DriverError> {
        self.host.ask(&Ask::Exit)
    }

    /// The end of its standard error; nothing where the connection is over.
    pub(crate) fn stderr_tail(&self) -> String {
        self.host.ask(&Ask::Stderr).unwrap_or_default()
    }

    pub(crate) fn act(&self, action: &str) -> Result<(), DriverError> {
        let action = action.to_owned();
        self.host.ask(&Ask::Act { action })
    }

    /// Ends it, and keeps what it wrote.
    pub(crate) fn stop(&mut self) -> Result<Ended, DriverError> {
        self.has_stopped = true;
        let stopped: Stopped = self.host.ask(&Ask::Stop)?;
        keep(&self.work, &stopped.kept);
        Ok(stopped.ended)
    }

    pub(crate) fn sampler(&self) -> RemoteSampler {
        RemoteSampler {
            host: Arc::clone(&self.host),
            number: self.host.next_sampler(),
            last: Sample::default(),
        }
    }
}

impl Drop for RemoteGateway {
    fn drop(&mut self) {
        if !self.has_stopped {
            // Where the connection is over, it ends by itself.
            let _ = self.stop();
        }
    }
}

/// Rendered files and logs belong to the trial; that they cannot be kept is no reason to lose it.
fn keep(work: &Path, texts: &Texts) {
    let _ = kept::put(work, texts);
}

/// The trial's certificate and key, where it has them.
fn certificate(work: &Path) -> Texts {
    let text = |name: &str| {
        let text = fs::read_to_string(work.join(name)).ok()?;
        Some((name.into(), text))
    };
    [CERTIFICATE_FILE, KEY_FILE]
        .into_iter()
        .filter_map(text)
        .collect()
}

/// Samples the processes there. Times are of that host's clock: only their differences mean anything here.
#[derive(Debug)]
pub(crate) struct RemoteSampler {
    host: Arc<RemoteHost>,
    number: u32,
    last: Sample,
}

impl RemoteSampler {
    /// What it has used so far; where the connection is over, what was known last: the trial ends by that.
    pub(crate) fn sample(&mut self) -> Sample {
        let sampler = self.number;
        if let Ok(sample) = self.host.ask(&Ask::Sample { sampler }) {
            self.last = sample;
        }
        self.last
    }

    pub(crate) fn pss_bytes(&self) -> Option<u64> {
        let sampler = self.number;
        self.host.ask(&Ask::Pss { sampler }).ok().flatten()
    }

    pub(crate) fn outside(&self) -> Outside {
        let sampler = self.number;
        let outside: Result<OutsidePairs, _> = self.host.ask(&Ask::Outside { sampler });
        let (threads, files) = outside.unwrap_or_default();
        Outside::new(threads.into_iter().collect(), files.into_iter().collect())
    }
}
