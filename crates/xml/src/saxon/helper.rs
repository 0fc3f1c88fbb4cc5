//! One helper process, and what is said to it.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::Bounds;

const PROGRAM: &str = include_str!("helper.py");

/// How long it may take to begin.
const START_MAX: Duration = Duration::from_secs(20);

/// What a helper may take on the clock, in terms of the processor time it may take: others want it too.
const WALL: u32 = 5;

const ORDER_BYTES: usize = 13;
const ANSWER_BYTES: usize = 5;

/// Why there is no result.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Saxon's words.
    Refused(String),
    /// The process has ended, or does not answer any more.
    Gone,
}

/// A process that runs stylesheets. It ends when it is dropped, and by itself when the gateway ends.
#[derive(Debug)]
pub(super) struct Helper {
    child: Child,
    line: UnixStream,
    order: Vec<u8>,
}

impl Helper {
    /// Starts one with the Python package in `folder`.
    pub fn start(folder: &Path, bounds: &Bounds) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("python3 cannot be started: {error}");
        let (line, end) = UnixStream::pair().map_err(failed)?;
        let output = end.try_clone().map_err(failed)?;
        let child = Command::new("python3")
            .args(["-E", "-s", "-c", PROGRAM])
            .arg(folder)
            .arg(bounds.time.as_secs_f64().to_string())
            .arg(bounds.memory_bytes.to_string())
            .stdin(Stdio::from(OwnedFd::from(end)))
            .stdout(Stdio::from(OwnedFd::from(output)))
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let mut helper = Self {
            child,
            line,
            order: Vec::new(),
        };
        let timeout = |it: &Self, time| it.line.set_read_timeout(Some(time)).map_err(failed);
        timeout(&helper, START_MAX)?;
        if helper.answer().is_err() {
            return Err(format!(
                "python3 cannot load saxonche from {}",
                folder.display()
            ));
        }
        timeout(&helper, WALL * bounds.time)?;
        helper
            .line
            .set_write_timeout(Some(WALL * bounds.time))
            .map_err(failed)?;
        Ok(helper)
    }

    /// Compiles a stylesheet under a number; `order` is what helper.py expects.
    pub fn compile(&mut self, number: u64, order: &str) -> Result<(), Trouble> {
        self.ask(b'c', number, order.as_bytes()).map(drop)
    }

    /// The result of a stylesheet that was compiled here.
    pub fn transform(&mut self, number: u64, input: &[u8]) -> Result<Vec<u8>, Trouble> {
        self.ask(b't', number, input)
    }

    /// Lets it forget a stylesheet.
    pub fn forget(&mut self, number: u64) -> Result<(), Trouble> {
        self.ask(b'f', number, b"").map(drop)
    }

    fn ask(&mut self, kind: u8, number: u64, text: &[u8]) -> Result<Vec<u8>, Trouble> {
        let length = u32::try_from(text.len())
            .map_err(|_| Trouble::Refused("The document is larger than 4 GiB".to_owned()))?;
        self.order.clear();
        self.order.reserve(ORDER_BYTES + text.len());
        self.order.push(kind);
        self.order.extend(number.to_le_bytes());
        self.order.extend(length.to_le_bytes());
        self.order.extend(text);
        if self.line.write_all(&self.order).is_err() {
            return Err(Trouble::Gone);
        }
        self.answer()
    }

    fn answer(&mut self) -> Result<Vec<u8>, Trouble> {
        // Most answers are there whole with the first read.
        let mut data = vec![0; 4096];
        let mut count = 0;
        while count < ANSWER_BYTES {
            count += self.read(&mut data[count..])?;
        }
        let is_refused = data[0] != 0;
        let length = u32::from_le_bytes([data[1], data[2], data[3], data[4]]) as usize;
        let whole = ANSWER_BYTES + length;
        if data.len() < whole {
            data.resize(whole, 0);
        }
        while count < whole {
            count += self.read(&mut data[count..whole])?;
        }
        data.truncate(whole);
        data.drain(..ANSWER_BYTES);
        if is_refused {
            return Err(Trouble::Refused(
                String::from_utf8_lossy(&data).into_owned(),
            ));
        }
        Ok(data)
    }

    fn read(&mut self, into: &mut [u8]) -> Result<usize, Trouble> {
        loop {
            match self.line.read(into) {
                Ok(0) => return Err(Trouble::Gone),
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Trouble::Gone),
            }
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
