//! Starts the embedded upstream as a separate process, so that its CPU time does not count as the
//! load generator's.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gatebench_model::UpstreamKind;
use serde::Deserialize;

use super::Service;
use crate::error::DriverError;
use crate::gateway::{CERTIFICATE_FILE, KEY_FILE};
use crate::process::{Launcher, NOFILE, PlainStart};
use crate::system::command::wait_until;

/// The time that an upstream may take to start, which is ample because it only binds a port.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(10);

/// The inputs for starting an upstream, except its address.
#[derive(Clone, Debug)]
pub struct UpstreamStart {
    /// The command. `--listen ADDRESS:PORT` is added to it. Once the upstream is listening, it
    /// prints one line, such as `{"listening":"127.0.0.1:43211"}`, on standard output.
    pub command: Vec<OsString>,
    /// The upstream's working folder, which also contains its logs and is created if it does not
    /// exist.
    pub work: PathBuf,
    /// The cores that the upstream runs on; all if empty.
    pub cores: Vec<usize>,
    pub launcher: Launcher,
}

#[derive(Deserialize)]
struct Announcement {
    listening: SocketAddr,
}

impl UpstreamStart {
    /// Returns the inputs for starting an embedded upstream, with a worker for each core.
    pub(crate) fn of(
        kind: UpstreamKind,
        work: PathBuf,
        cores: &[usize],
        launcher: &Launcher,
    ) -> Self {
        let mut command: Vec<OsString> = vec![launcher.program.clone().into()];
        command.extend(["upstream", kind.as_str(), "--json"].map(OsString::from));
        if !cores.is_empty() {
            let cores: Vec<String> = cores.iter().map(usize::to_string).collect();
            command.extend(["--cores".into(), cores.join(",").into()]);
        }
        Self {
            command,
            work,
            cores: cores.to_vec(),
            launcher: launcher.clone(),
        }
    }

    pub(crate) fn with_streams(mut self, streams: usize) -> Self {
        self.command
            .extend(["--streams".into(), streams.to_string().into()]);
        self
    }

    /// Makes the upstream serve over TLS if `has_tls`, with the certificate and the key in its
    /// working folder.
    pub(crate) fn with_tls(mut self, has_tls: bool) -> Self {
        if has_tls {
            let words = ["--tls", "--cert", CERTIFICATE_FILE, "--key", KEY_FILE];
            self.command.extend(words.map(OsString::from));
        }
        self
    }

    /// Starts the upstream and waits until it prints its address. After an error, no process is
    /// left running.
    ///
    /// # Errors
    /// [`DriverError::Upstream`] if the upstream ends, prints another line, or prints nothing in
    /// time; another error if the process cannot be started.
    pub fn start(&self, listen: SocketAddr) -> Result<Service, DriverError> {
        let mut command = self.command.clone();
        command.extend(["--listen".into(), listen.to_string().into()]);
        let start = PlainStart {
            name: "upstream",
            command,
            environment: &BTreeMap::new(),
            work: &self.work,
            cores: &self.cores,
        };
        let mut process = start.start(NOFILE, &self.launcher)?;
        let result = wait_until(Instant::now() + LISTEN_TIMEOUT, || {
            // The exit is checked before the read, so that the last output is not missed.
            let exit = process.exit_status();
            let line = first_line(&process.stdout).map(Ok);
            line.or_else(|| exit.map(Err))
        });
        let message = match result {
            Some(Ok(line)) => match serde_json::from_str(&line) {
                Ok(Announcement { listening: addr }) => return Ok(Service { process, addr }),
                Err(_) => format!("it printed '{line}' instead of its address"),
            },
            Some(Err(exit)) => format!("it ended ({exit})"),
            None => format!("it did not print its address within {LISTEN_TIMEOUT:?}"),
        };
        let stderr = process.stderr_tail();
        Err(DriverError::Upstream { message, stderr })
    }
}

/// Returns the first line of a file; none if the line is not complete yet.
fn first_line(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.split_once('\n').map(|(line, _)| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upstream_gets_a_worker_per_core() {
        let launcher = Launcher {
            program: "gatebench".into(),
            prefix_args: vec!["supervise".into()],
        };
        let start = UpstreamStart::of(UpstreamKind::GoBench, "w".into(), &[0, 2], &launcher);
        assert_eq!(
            start.command.join(" ".as_ref()),
            "gatebench upstream go-bench --json --cores 0,2"
        );
    }
}
