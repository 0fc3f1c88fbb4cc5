//! Ends a started gateway, and describes its end.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::time::Instant;

use gatebench_model::gateway::Stop;

use super::death;
use super::placed::PlacedGateway;
use crate::error::DriverError;
use crate::probe::OwnProfiler;
use crate::system::exit::Ended;

/// A gateway, with everything that is needed to end it and to describe its end.
#[derive(Debug)]
pub(super) struct StartedGateway {
    pub(super) label: String,
    pub(super) gateway: PlacedGateway,
    pub(super) stop: Stop,
    pub(super) stderr_log: PathBuf,
    /// `None` if the gateway's folder names no access log, or if the gateway runs on another host.
    pub(super) access_log: Option<PathBuf>,
    /// The gateway's own profiler, if it runs in this trial and the gateway is on this machine.
    pub(super) profiler: Option<OwnProfiler>,
}

/// A description of how a gateway ended.
#[derive(Debug)]
pub struct Shutdown {
    /// A description for the record, such as `on SIGTERM after 12 ms`.
    pub words: String,
    /// A warning, if the gateway was killed, or if stopping it failed.
    pub warning: Option<String>,
    /// The error, if the gateway ended before it was stopped.
    pub crashed: Option<DriverError>,
    /// The number of lines in the gateway's access log, if the log's path is known and the log can
    /// be read.
    pub access_log_lines: Option<u64>,
    /// The number of lines in the log of the gateway's standard error; 0 if it cannot be read.
    pub stderr_lines: u64,
}

impl StartedGateway {
    pub(super) fn stop(mut self) -> Shutdown {
        let Stop { signal, timeout } = &self.stop;
        let begun = Instant::now();
        let ended = self.gateway.stop();
        let took_ms = begun.elapsed().as_millis();
        let (mut warning, mut crashed) = (None, None);
        let words = match ended {
            Ok(Ended::Stopped) => format!("on SIG{signal} after {took_ms} ms"),
            Ok(Ended::Killed) => {
                warning = Some(format!(
                    "the gateway did not end on SIG{signal} within {:?} and was killed; \
                     if it needs more time, raise stop.timeout in its gateway.yaml",
                    timeout.0
                ));
                format!("killed after {took_ms} ms")
            }
            Ok(Ended::Crashed(exit)) => {
                crashed = Some(death::of_gateway(&self.label, exit, ""));
                format!("by itself: {}", death::exit_words(exit))
            }
            Err(error) => {
                warning = Some(error.to_string());
                format!("unknown: {error}")
            }
        };
        Shutdown {
            words,
            warning,
            crashed,
            access_log_lines: self.access_log.and_then(|path| lines(&path).ok()),
            stderr_lines: lines(&self.stderr_log).unwrap_or(0),
        }
    }
}

/// Counts the complete lines of a file without loading it into memory; 0 if it does not exist.
fn lines(path: &Path) -> io::Result<u64> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        file => file?,
    };
    let mut reader = BufReader::new(file);
    let mut count = 0;
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(count);
        }
        count += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let length = bytes.len();
        reader.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_and_a_missing_file_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        assert_eq!(lines(&path).unwrap(), 0);
        std::fs::write(&path, "one\n".repeat(5_000) + "half").unwrap();
        assert_eq!(lines(&path).unwrap(), 5_000);
    }
}
