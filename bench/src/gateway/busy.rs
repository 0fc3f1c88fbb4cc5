//! Keeps the core of the load generator and the upstream busy while bare work is measured.
//!
//! The two cores share a cache and the path to memory, and may be hardware threads of one physical
//! core. The same work costs more while the other core is busy, especially if the work allocates a
//! lot. The other core is busy while a gateway is measured, so it must also be busy while bare work
//! is measured.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::CLIENT_CORE;
use crate::programs::Programs;
use crate::server::Server;

/// The load counts as running once the upstream has used this much CPU time, in microseconds.
const UNDER_WAY_US: f64 = 50_000.0;

const START_MAX: Duration = Duration::from_secs(10);

/// A running load generator and upstream on their core. Dropping it ends both.
pub struct Busy {
    load: Child,
    upstream: Server,
}

impl Busy {
    pub fn start(programs: &Programs) -> Result<Self, String> {
        let upstream = Server::upstream_on(CLIENT_CORE, programs, &["ping"])?;
        let load = Command::new("taskset")
            .args(["-c", CLIENT_CORE])
            .arg(&programs.gatebench)
            .args(["load", "--quiet", "-c", "64", "-d", "1h"])
            .arg(format!("http://{}/ping", upstream.address))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("the load cannot be started: {error}"))?;
        let busy = Self { load, upstream };
        let limit = Instant::now() + START_MAX;
        while busy.upstream.cpu_us() < UNDER_WAY_US {
            if Instant::now() > limit {
                return Err("the load that keeps the other core busy did not start".into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // The load generator may have ended already.
        let _ = self.load.kill();
        let _ = self.load.wait();
    }
}
