//! A helper process and the connection to it. The process ends when the connection closes.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use super::engine::{Engine, Folder};
use super::{Bounds, Made, StartError, wire};

const PROGRAM: &str = include_str!("helper.py");

const START_MAX: Duration = Duration::from_secs(20);

/// A process that runs stylesheets. The process ends when this value is dropped or the gateway
/// ends.
#[derive(Debug)]
pub(super) struct Helper {
    child: Child,
    line: UnixStream,
    received: Vec<u8>,
    /// The address where the helper accepts further connections.
    pub engine: Arc<Engine>,
}

impl Helper {
    pub fn start(package: &Path, folder: &Folder, bounds: &Bounds) -> Result<Self, StartError> {
        let failed = StartError::Python;
        let (engine, doors) = Engine::make(folder).map_err(StartError::Socket)?;
        let (line, end) = UnixStream::pair().map_err(failed)?;
        let child = Command::new("python3")
            .args(["-E", "-s", "-c", PROGRAM])
            .arg(package)
            .arg(bounds.time.as_secs_f64().to_string())
            .arg(bounds.memory_bytes.to_string())
            .stdin(Stdio::from(OwnedFd::from(doors)))
            .stdout(Stdio::from(OwnedFd::from(end)))
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let mut helper = Self {
            child,
            line,
            received: Vec::new(),
            engine: Arc::new(engine),
        };
        helper.be_patient(START_MAX).map_err(failed)?;
        if !matches!(helper.response(), Some(Ok(_))) {
            return Err(StartError::Package(package.to_owned()));
        }
        // When an order arrives, the process may still be working for another connection.
        helper.be_patient(2 * bounds.patience()).map_err(failed)?;
        Ok(helper)
    }

    fn be_patient(&self, time: Duration) -> io::Result<()> {
        self.line.set_read_timeout(Some(time))?;
        self.line.set_write_timeout(Some(time))
    }

    /// Sends an order and waits for its result. Returns `None` if the process has ended or does not
    /// respond.
    pub fn ask(&mut self, order: &[u8]) -> Option<Made> {
        self.line.write_all(order).ok()?;
        self.response()
    }

    fn response(&mut self) -> Option<Made> {
        loop {
            let mut rest = self.received.as_slice();
            if let Some(made) = wire::next_response(&mut rest) {
                let left = rest.len();
                self.received.drain(..self.received.len() - left);
                return Some(made);
            }
            let mut piece = [0; 4096];
            match self.line.read(&mut piece) {
                Ok(0) => return None,
                Ok(count) => self.received.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
