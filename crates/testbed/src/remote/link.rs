//! Connects to a remote end through a child process. The child is `ssh` or `kubectl exec`, which
//! copies the program to the host and then forwards lines in both directions. If the other end is
//! on this machine, the child is the program itself.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::carrier::Carrier;
use crate::error::{DriverError, RemoteError};
use crate::system::command::wait_until;
use crate::system::digest::sha256_of_file;

/// The interval between heartbeats, such as the empty lines that show the host that this end is
/// alive.
pub(super) const LIFE_SIGN: Duration = Duration::from_secs(5);

/// The time that the host's shell and the program may take to report that they are ready.
const GREETING_TIMEOUT: Duration = Duration::from_secs(60);
/// The time that the program on the host may take to end its processes.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(15);
/// The maximum number of bytes of error messages that are kept.
const STDERR_BYTES_MAX: u64 = 64 * 1024;

/// A running gatebench on the host. Dropping it ends the connection and, except in a pod, all
/// processes that this gatebench started.
#[derive(Debug)]
pub(super) struct Link {
    carrier: Carrier,
    child: Child,
    stdin: Option<Arc<Mutex<ChildStdin>>>,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
}

impl Link {
    /// Connects, sends the program if the host lacks it, and runs it there with these arguments.
    /// Returns the rest of the program's first line that begins with [`READY`].
    pub(super) fn open(
        carrier: Carrier,
        program: &Path,
        words: &[&str],
    ) -> Result<(Self, String), DriverError> {
        let (file, script) = match carrier {
            Carrier::Here => (None, script_here(words)),
            _ => {
                let read = read(program).map_err(DriverError::at("read", program))?;
                (Some(read.0), script(&read.1, read.2, words))
            }
        };
        let mut link = Self::connect(carrier, program, &script)?;
        let mut greeting = link.greeting()?;
        if let (SEND, Some(mut file)) = (greeting.as_str(), file) {
            // A failed write is ignored, because a child that ends early prints the reason.
            let _ = link.send(&mut file);
            // A carrier may repeat the line that requests the program.
            while greeting == SEND {
                greeting = link.greeting()?;
            }
        }
        if let Some(stdin) = &link.stdin {
            keep_alive(Arc::downgrade(stdin));
        }
        Ok((link, greeting))
    }

    /// Starts the child. Ctrl-C at the terminal must not reach the child, because gatebench still
    /// needs the connection to stop the processes on the host gracefully.
    fn connect(carrier: Carrier, program: &Path, script: &str) -> Result<Self, DriverError> {
        let mut child = carrier
            .command(program, script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| carrier.not_started(error))?;
        let stdin = child.stdin.take().map(Mutex::new).map(Arc::new);
        let (sender, lines) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            thread::spawn(move || {
                whole_lines(BufReader::new(stdout), |line| sender.send(line).is_ok());
            });
        }
        let stderr = child.stderr.take().map(|stderr| {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                // Text that was read before an error is still shown.
                let _ = stderr.take(STDERR_BYTES_MAX).read_to_end(&mut bytes);
                String::from_utf8_lossy(&bytes).into_owned()
            })
        });
        Ok(Self {
            carrier,
            child,
            stdin,
            lines,
            stderr,
        })
    }

    /// Returns the next line that begins with [`READY`], without this prefix.
    fn greeting(&mut self) -> Result<String, DriverError> {
        let deadline = Instant::now() + GREETING_TIMEOUT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                let what = format!("gatebench cannot be run on {}", self.carrier.name());
                return Err(self.over(&what).into());
            };
            if let Some(greeting) = line.strip_prefix(READY) {
                return Ok(greeting.to_owned());
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

    pub(super) fn say(&mut self, line: &str) -> Result<(), DriverError> {
        let said = self.stdin.as_ref().map(|stdin| {
            let mut stdin = stdin.lock().unwrap_or_else(PoisonError::into_inner);
            stdin.write_all(format!("{line}\n").as_bytes())
        });
        match said {
            Some(Ok(())) => Ok(()),
            _ => Err(self.broken()),
        }
    }

    /// Returns the next line; none if no line arrives within this time.
    pub(super) fn hear(&mut self, timeout: Duration) -> Result<Option<String>, DriverError> {
        match self.lines.recv_timeout(timeout) {
            // A carrier may repeat the greeting.
            Ok(line) if line.starts_with(READY) => Ok(None),
            Ok(line) => Ok(Some(line)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(self.broken()),
        }
    }

    /// Ends a connection that has gone silent, without waiting for the other end. The program there
    /// stops when its standard input ends.
    pub(super) fn abandon(&mut self) {
        self.hang_up(Duration::ZERO);
    }

    fn broken(&mut self) -> DriverError {
        let ended = self.child.try_wait().ok().flatten();
        let ended = ended.filter(|_| self.carrier.passes_on_exit_codes());
        let how = ended.map_or(String::new(), |status| format!(" ({status})"));
        let error = self.over(&format!(
            "the connection to {} broke{how}",
            self.carrier.name()
        ));
        let remedy = self.carrier.broken_remedy();
        DriverError::Remote(RemoteError { remedy, ..error })
    }

    /// Ends the connection and returns an error with the child's error messages.
    fn over(&mut self, what: &str) -> RemoteError {
        self.hang_up(Duration::from_secs(1));
        let stderr = self.stderr.take().and_then(|reader| reader.join().ok());
        self.carrier.complaint(what, &stderr.unwrap_or_default())
    }

    fn hang_up(&mut self, patience: Duration) {
        self.stdin = None;
        let ended = || self.child.try_wait().transpose();
        if wait_until(Instant::now() + patience, ended).is_none() {
            // The program on the host stops at the end of its standard input.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.hang_up(GOODBYE_TIMEOUT);
    }
}

/// Opens the program that may have to be sent. Also returns its digest and its length in bytes.
fn read(program: &Path) -> io::Result<(File, String, u64)> {
    let file = File::open(program)?;
    let length_bytes = file.metadata()?.len();
    Ok((file, sha256_of_file(program)?, length_bytes))
}

/// Passes on the lines until the input ends or `take` returns false. Text after the last newline is
/// dropped, because the line was cut off when the connection broke.
fn whole_lines(mut input: impl BufRead, mut take: impl FnMut(String) -> bool) {
    let mut line = String::new();
    while matches!(input.read_line(&mut line), Ok(1..)) && line.ends_with('\n') {
        line.pop();
        if !take(std::mem::take(&mut line)) {
            return;
        }
    }
}

/// Sends an empty line every [`LIFE_SIGN`] until the connection ends.
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

/// The prefix of the lines that begin a connection. The host's shell may print other lines before
/// them.
pub(super) const READY: &str = "gatebench-remote: ";
/// The text after [`READY`] that announces the lines of a holder.
pub(super) const LINE: &str = "line";
/// The text after [`READY`] that requests the program.
const SEND: &str = "send";

/// Returns the script that runs the program on this machine. The program is the script's `$0`.
fn script_here(words: &[&str]) -> String {
    format!("exec \"$0\" {}", words.join(" "))
}

/// Returns the script that the child runs on the host. The program is stored in the user's cache
/// under its digest, so it is sent to a host only once. It is renamed into place, so a partial
/// program never runs. The steps are one line without single quotes, because any user's shell must
/// pass them unchanged to `sh`.
fn script(sha256: &str, length_bytes: u64, words: &[&str]) -> String {
    let words = words.join(" ");
    let steps = [
        "set -e",
        "f=\"${XDG_CACHE_HOME:-$HOME/.cache}/gatebench\"",
        &format!("p=\"$f/gatebench-{sha256}\""),
        "if [ -x \"$p\" ]; then :",
        "else mkdir -p \"$f\"",
        "n=\"$p.$$\"",
        "trap \"rm -f \\\"$n\\\"\" EXIT",
        &format!("echo \"{READY}{SEND}\""),
        &format!("head -c {length_bytes} > \"$n\""),
        &format!("[ \"$(wc -c < \"$n\")\" -eq {length_bytes} ]"),
        "chmod 700 \"$n\"",
        "mv \"$n\" \"$p\"",
        "trap - EXIT",
        "fi",
        &format!("exec \"$p\" {words}"),
    ];
    format!("exec sh -c '{}'", steps.join("; ").replace("else;", "else"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::process::{Command, Output, Stdio};

    use super::*;

    fn run(cache: &Path, program: &str, sent: &str) -> Output {
        let length = program.len() as u64;
        let mut shell = Command::new("sh")
            .args(["-c", &script("abc", length, &["one", "two"])])
            .env("XDG_CACHE_HOME", cache)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = shell.stdin.take().unwrap();
        // The write may fail if the host already has the program, because nothing reads it.
        let _ = stdin.write_all(sent.as_bytes());
        drop(stdin);
        shell.wait_with_output().unwrap()
    }

    #[test]
    fn half_a_line_is_not_passed_on() {
        let mut lines = Vec::new();
        whole_lines(&b"one\n\nthree\nhal"[..], |line| {
            lines.push(line);
            true
        });
        assert_eq!(lines, ["one", "", "three"]);
    }

    #[test]
    fn a_program_is_received_once_and_executed() {
        let cache = tempfile::tempdir().unwrap();
        let program = "#!/bin/sh\necho \"ran $*\"\n";
        let first = run(cache.path(), program, program);
        let said = String::from_utf8(first.stdout).unwrap();
        assert_eq!(said, format!("{READY}{SEND}\nran one two\n"));
        let again = run(cache.path(), program, "");
        assert_eq!(again.stdout, b"ran one two\n");
    }

    #[test]
    fn a_full_disk_is_reported_and_nothing_is_kept() {
        let full = "mount -t tmpfs -o size=64k none \"$XDG_CACHE_HOME\" || exit 77; (eval \"$0\"); \
                    code=$?; ls -A \"$XDG_CACHE_HOME/gatebench\"; exit $code";
        let cache = tempfile::tempdir().unwrap();
        let mut shell = Command::new("unshare")
            .args(["--map-root-user", "--mount", "sh", "-c", full])
            .arg(script("abc", 1 << 20, &[]))
            .env("XDG_CACHE_HOME", cache.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The write fails because the shell ends before it has read the whole program.
        let _ = shell.stdin.take().unwrap().write_all(&vec![b'x'; 1 << 20]);
        let output = shell.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("No space left on device"), "{stderr}");
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert_eq!(stdout, format!("{READY}{SEND}\n"), "a file is left");
        assert!(!output.status.success());
    }

    #[test]
    fn a_partial_program_is_not_kept() {
        let cache = tempfile::tempdir().unwrap();
        let half = run(cache.path(), "#!/bin/sh\necho whole\n", "#!/bin/sh\n");
        assert!(!half.status.success());
        let kept = fs::read_dir(cache.path().join("gatebench")).unwrap();
        assert_eq!(kept.count(), 0);
    }
}
