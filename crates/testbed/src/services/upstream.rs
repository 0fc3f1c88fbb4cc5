//! The embedded upstream as a process of its own, so that its cost is not the engine's.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::error::DriverError;
use crate::process::{Launcher, Plain, Supervised};
use crate::system::command::wait_until;
use crate::system::exit::{Ended, Exit};

/// A native program that only binds a port.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(10);

/// Open descriptors it may have, as far as the machine's hard limit allows.
const NOFILE: u64 = 65_536;

/// Everything needed to start an upstream.
#[derive(Clone, Debug)]
pub struct UpstreamStart<'a> {
    /// The command; once it listens it prints one line, `{"listening":"127.0.0.1:43211"}`, on standard output.
    pub command: Vec<OsString>,
    /// Its working folder, where its logs go; made where it does not exist.
    pub work: &'a Path,
    /// Cores it runs on.
    pub cores: &'a [usize],
    /// The supervising program.
    pub launcher: &'a Launcher,
}

/// An upstream that listens. Dropping it ends it.
#[derive(Debug)]
pub struct UpstreamProcess {
    process: Supervised,
    /// Where it listens.
    pub addr: SocketAddr,
}

#[derive(Deserialize)]
struct Announcement {
    listening: SocketAddr,
}

impl UpstreamStart<'_> {
    /// Starts it and waits until it says where it listens. On an error nothing is left running.
    ///
    /// # Errors
    /// [`DriverError::Upstream`] where it ends, says something else, or nothing in time.
    pub fn start(self) -> Result<UpstreamProcess, DriverError> {
        let mut process = Plain {
            name: "upstream",
            command: self.command,
            environment: &BTreeMap::new(),
            work: self.work,
            cores: self.cores,
            nofile: NOFILE,
            launcher: self.launcher,
        }
        .start()?;
        let heard = wait_until(Instant::now() + LISTEN_TIMEOUT, || {
            // Asked before reading, so that what it said at its end is still heard.
            let exit = process.exit();
            first_line(&process.stdout)
                .map(Ok)
                .or_else(|| exit.map(Err))
        });
        let addr = match heard {
            Some(Ok(line)) => serde_json::from_str::<Announcement>(&line)
                .map(|announcement| announcement.listening)
                .map_err(|_| format!("it printed '{line}' instead of where it listens")),
            Some(Err(exit)) => Err(format!("it ended ({exit})")),
            None => Err(format!(
                "it did not say where it listens within {LISTEN_TIMEOUT:?}"
            )),
        };
        match addr {
            Ok(addr) => Ok(UpstreamProcess { process, addr }),
            Err(message) => Err(DriverError::Upstream {
                message,
                stderr: process.stderr_tail(),
            }),
        }
    }
}

/// The first line of a file, once it is complete.
fn first_line(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.split_once('\n').map(|(line, _)| line.to_owned())
}

impl UpstreamProcess {
    /// The supervisor: the upstream is everything *below* this process.
    pub fn supervisor_pid(&self) -> u32 {
        self.process.pid()
    }

    /// Whether it still runs.
    pub fn is_alive(&mut self) -> bool {
        self.process.exit().is_none()
    }

    /// How it ended, if it did.
    pub fn exit_status(&mut self) -> Option<Exit> {
        self.process.exit()
    }

    /// The end of what it wrote to standard error.
    pub fn stderr_tail(&self) -> String {
        self.process.stderr_tail()
    }

    /// Kills it at once, as a crash would.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Ends it.
    pub fn stop(&mut self) -> Ended {
        self.process.stop()
    }
}
