//! Watches a gateway that gatebench did not start, in its pod.

use std::sync::Arc;

use gatebench_model::AttachedPod;

use super::carrier::Carrier;
use super::host::RemoteHost;
use super::protocol::Ask;
use super::running::RemoteSampler;
use crate::error::DriverError;
use crate::interrupt::Interrupt;
use crate::kubernetes::Watcher;
use crate::process::Launcher;

/// The ID of the first process of the gateway's container.
const MAIN_PROCESS: u32 = 1;

/// A connection to the container that gatebench added to the pod. Dropping it ends the container's
/// process.
#[derive(Debug)]
pub(crate) struct WatchedPod {
    // Fields are dropped in this order, so the connection ends before the container's process.
    host: Arc<RemoteHost>,
    _watcher: Watcher,
}

impl WatchedPod {
    /// Adds the container, and copies gatebench to it.
    pub(crate) fn connect(
        pod: &AttachedPod,
        launcher: &Launcher,
        interrupt: &Interrupt,
    ) -> Result<Self, DriverError> {
        let watcher = Watcher::start(pod, interrupt)?;
        let carrier = Carrier::Pod {
            name: watcher.pod.clone(),
            kubectl: watcher.kubectl.clone(),
            pod: watcher.pod.clone(),
            container: watcher.container.clone(),
        };
        let host = RemoteHost::over(carrier, &launcher.small())?;
        host.ask::<()>(&Ask::Watch { pid: MAIN_PROCESS })?;
        Ok(Self {
            host: Arc::new(host),
            _watcher: watcher,
        })
    }

    pub(crate) fn sampler(&self) -> RemoteSampler {
        RemoteSampler::new(&self.host)
    }
}
