//! Watches a gateway that gatebench did not start, in its pod.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gatebench_model::{AttachedPod, Culprit};

use super::carrier::Carrier;
use super::folder;
use super::host::RemoteHost;
use super::protocol::Ask;
use super::running::RemoteSampler;
use crate::error::DriverError;
use crate::interrupt::Interrupt;
use crate::kubernetes::Watcher;
use crate::process::Launcher;

/// The ID of the first process of the gateway's container.
const MAIN_PROCESS: u32 = 1;
/// The interval between checks that the gateway can still be watched.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// A connection to the container that gatebench added to the pod. Dropping it ends the container's
/// process.
#[derive(Debug)]
pub(crate) struct WatchedPod {
    // Fields are dropped in this order, so the connection ends before the container's process.
    host: Arc<RemoteHost>,
    watcher: Watcher,
    /// The time of the last check that the gateway can be watched.
    checked: Mutex<Instant>,
}

impl WatchedPod {
    /// Adds the container, and copies gatebench to it.
    pub(crate) fn connect(
        pod: &AttachedPod,
        launcher: &Launcher,
        interrupt: &Interrupt,
    ) -> Result<Self, DriverError> {
        let watcher = Watcher::start(pod, folder::LOCKS, interrupt)?;
        let carrier = Carrier::Pod {
            name: watcher.pod.clone(),
            kubectl: watcher.kubectl.clone(),
            pod: watcher.pod.clone(),
            container: watcher.container.clone(),
        };
        let host = RemoteHost::over(carrier, &launcher.small())?;
        watch(&host)?;
        Ok(Self {
            host: Arc::new(host),
            watcher,
            checked: Mutex::new(Instant::now()),
        })
    }

    /// Checks, at most once a second, whether the gateway can still be watched, and returns the
    /// error if it cannot. When the gateway's container ends or restarts, the kernel ends all
    /// processes of the added container, because both containers share a PID namespace.
    pub(crate) fn death(&self) -> Option<DriverError> {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if checked.elapsed() < CHECK_EVERY {
            return None;
        }
        *checked = Instant::now();
        let error = watch(&self.host).err()?;
        let (namespace, pod) = (&self.watcher.kubectl.namespace().name, &self.watcher.pod);
        Some(DriverError::Died {
            // The connection may have failed, although the gateway is well.
            culprit: Culprit::Environment,
            message: format!("the gateway's CPU time can no longer be read: {error}"),
            remedy: format!(
                "see whether the gateway restarted: `kubectl -n {namespace} describe pod {pod}`; then repeat the run"
            ),
        })
    }

    pub(crate) fn sampler(&self) -> RemoteSampler {
        RemoteSampler::new(&self.host)
    }
}

fn watch(host: &RemoteHost) -> Result<(), DriverError> {
    host.ask(&Ask::Watch { pid: MAIN_PROCESS })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::net::{IpAddr, Ipv4Addr};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::remote::link::READY;
    use crate::remote::protocol::{Hello, VERSION};

    #[test]
    fn a_lost_remote_end_is_noticed() {
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let hello = Hello {
            version: VERSION.to_owned(),
            here,
            there: here,
            cores: vec![0],
            clock: String::new(),
        };
        let hello = serde_json::to_string(&hello).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("remote-end");
        // A remote end that ends after its first response.
        let text = format!(
            "#!/bin/sh\necho '{READY}{hello}'\nread -r line\n\
             echo '{{\"number\":1,\"message\":{{\"Ok\":null}}}}'\n"
        );
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        let host = RemoteHost::over(Carrier::Here, &program).unwrap();
        assert!(watch(&host).is_ok());
        assert!(watch(&host).is_err());
    }
}
