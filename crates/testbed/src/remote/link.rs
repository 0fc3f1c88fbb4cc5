//! The connection: a child `ssh`, and lines to and from the program at its other end.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::complaint;
use super::script::script;
use crate::error::DriverError;
use crate::process::Launcher;
use crate::system::command::wait_until;
use crate::system::digest::sha256_of_file;

/// How lines begin that are meant for us: shells greet.
pub const READY: &str = "gatebench-remote: ";
/// After [`READY`]: the program is wanted.
pub(super) const SEND: &str = "send";

/// How often the other end is told that this one is alive, by an empty line.
pub const LIFE_SIGN: Duration = Duration::from_secs(5);

/// For the shell of the host, and for the program to say that it is there.
const GREETING_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the other end may take to end what it runs.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(15);
/// More complaints than this say nothing more.
const STDERR_BYTES_MAX: u64 = 64 * 1024;

/// What `ssh` is told besides the user's own configuration: never to ask, to notice a dead host within
/// 15 s, and to do nothing else over this connection.
const OPTIONS: [&str; 7] = [
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "ClearAllForwardings=yes",
    "ControlMaster=no",
    "RequestTTY=no",
];

/// A program of ours that answers at the other end. Dropping it ends the connection and what runs there.
#[derive(Debug)]
pub struct Link {
    host: String,
    ssh: Child,
    stdin: Option<Arc<Mutex<ChildStdin>>>,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
}

impl Link {
    /// Connects, sends the program of `launcher` where the host does not have it, runs it there with these
    /// words, and gives what it says first after [`READY`].
    ///
    /// # Errors
    /// [`DriverError::Remote`] with what `ssh` or the host said.
    pub fn open(
        host: &str,
        launcher: &Launcher,
        words: &[&str],
    ) -> Result<(Self, String), DriverError> {
        let unreadable = || {
            let place = launcher.program.display();
            DriverError::io(format!("reading {place}"))
        };
        let sha256 = sha256_of_file(&launcher.program).map_err(unreadable())?;
        let mut program = File::open(&launcher.program).map_err(unreadable())?;
        let length_bytes = program.metadata().map_err(unreadable())?.len();
        let mut link = Self::connect(host, &script(&sha256, length_bytes, words))?;
        let deadline = Instant::now() + GREETING_TIMEOUT;
        let mut greeting = link.greeting(deadline)?;
        if greeting == SEND {
            // One that ends early says why.
            let _ = link.send(&mut program);
            greeting = link.greeting(Instant::now() + GREETING_TIMEOUT)?;
        }
        if let Some(stdin) = &link.stdin {
            keep_alive(Arc::downgrade(stdin));
        }
        Ok((link, greeting))
    }

    fn connect(host: &str, script: &str) -> Result<Self, DriverError> {
        let mut command = Command::new("ssh");
        for option in OPTIONS {
            command.args(["-o", option]);
        }
        let mut ssh = command
            .args(["-T", "--", host, script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C at the terminal reaches gatebench alone, which then ends what runs there in order.
            .process_group(0)
            .spawn()
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => DriverError::Remote {
                    culprit: gatebench_model::Culprit::Environment,
                    message: "there is no program `ssh` on PATH".into(),
                    remedy: "install it; on Debian: apt-get install openssh-client".into(),
                    is_missing: false,
                },
                _ => DriverError::io("starting ssh")(error),
            })?;
        let stdin = ssh.stdin.take().map(Mutex::new).map(Arc::new);
        let (told, lines) = mpsc::channel();
        if let Some(stdout) = ssh.stdout.take() {
            thread::spawn(move || {
                let lines = BufReader::new(stdout).lines().map_while(Result::ok);
                for line in lines {
                    if told.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        let stderr = ssh.stderr.take().map(|stderr| {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                // What was read until an error is still worth showing.
                let _ = stderr.take(STDERR_BYTES_MAX).read_to_end(&mut bytes);
                String::from_utf8_lossy(&bytes).into_owned()
            })
        });
        Ok(Self {
            host: host.to_owned(),
            ssh,
            stdin,
            lines,
            stderr,
        })
    }

    /// The next line that is meant for us, without its mark.
    fn greeting(&mut self, deadline: Instant) -> Result<String, DriverError> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    if let Some(greeting) = line.strip_prefix(READY) {
                        return Ok(greeting.to_owned());
                    }
                }
                Err(_) => {
                    let what = format!("gatebench cannot be run on {}", self.host);
                    return Err(self.over(&what));
                }
            }
        }
    }

    fn send(&self, program: &mut File) -> io::Result<()> {
        let Some(stdin) = &self.stdin else {
            return Ok(());
        };
        let mut stdin = stdin.lock().unwrap_or_else(PoisonError::into_inner);
        io::copy(program, &mut *stdin)?;
        stdin.flush()
    }

    /// Sends a line.
    ///
    /// # Errors
    /// The connection is over.
    pub fn say(&mut self, line: &str) -> Result<(), DriverError> {
        let said = self.stdin.as_ref().map(|stdin| {
            let mut stdin = stdin.lock().unwrap_or_else(PoisonError::into_inner);
            stdin.write_all(format!("{line}\n").as_bytes())
        });
        match said {
            Some(Ok(())) => Ok(()),
            _ => Err(self.broken()),
        }
    }

    /// The next line that comes; none within this time.
    ///
    /// # Errors
    /// The connection is over.
    pub fn hear(&mut self, timeout: Duration) -> Result<Option<String>, DriverError> {
        match self.lines.recv_timeout(timeout) {
            Ok(line) => Ok(Some(line)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(self.broken()),
        }
    }

    fn broken(&mut self) -> DriverError {
        let what = format!("the connection to {} broke", self.host);
        match self.over(&what) {
            DriverError::Remote {
                culprit, message, ..
            } => DriverError::Remote {
                culprit,
                message,
                remedy: format!(
                    "check that {} and the network to it are up; its processes end by themselves, and \
                     `gatebench run --resume DIR` measures the missing trials",
                    self.host
                ),
                is_missing: false,
            },
            other => other,
        }
    }

    /// Ends the connection; what was complained of.
    fn over(&mut self, what: &str) -> DriverError {
        self.hang_up(Duration::from_secs(1));
        let stderr = self.stderr.take().and_then(|reader| reader.join().ok());
        complaint::of(&self.host, what, &stderr.unwrap_or_default())
    }

    fn hang_up(&mut self, patience: Duration) {
        self.stdin = None;
        let ended = || self.ssh.try_wait().transpose();
        if wait_until(Instant::now() + patience, ended).is_none() {
            // The other end hears of it by the end of its standard input.
            let _ = self.ssh.kill();
            let _ = self.ssh.wait();
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.hang_up(GOODBYE_TIMEOUT);
    }
}

/// Says again and again that this end is alive, as long as there is a connection.
fn keep_alive(stdin: Weak<Mutex<ChildStdin>>) {
    thread::spawn(move || {
        loop {
            thread::sleep(LIFE_SIGN);
            let Some(stdin) = stdin.upgrade() else {
                return;
            };
            let mut stdin = stdin.lock().unwrap_or_else(PoisonError::into_inner);
            if stdin.write_all(b"\n").is_err() {
                return;
            }
        }
    });
}
