//! Runs short commands that must end by themselves, such as version queries and actions.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

use super::processes;

/// The maximum number of bytes that are kept of standard output and, separately, of standard error.
pub(crate) const OUTPUT_BYTES_MAX: usize = 64 * 1024;

const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The time that descendants of a command may still write after the command has ended.
const AFTERMATH: Duration = Duration::from_millis(500);

/// The time to wait for the end of the outputs after processes that held them open were killed.
const KILLED_WITHIN: Duration = Duration::from_millis(300);

/// The size of the buffer for reading an output: the default capacity of a pipe in Linux.
const PIECE_BYTES: usize = 64 * 1024;

/// The maximum number of times that the buffer is filled in a row. The limit makes reading end even
/// if the command never stops writing.
const PIECES_MAX: usize = 16;

pub(crate) struct Finished {
    pub status: ExitStatus,
    /// Standard output, then standard error.
    pub output: String,
}

/// Runs a command to completion. A command that runs longer than `timeout` is killed, and the error
/// is [`io::ErrorKind::TimedOut`]. In either case, the remaining processes of its group are killed,
/// as are processes outside the group that hold its output open.
pub(crate) fn run(command: &mut Command, timeout: Duration) -> io::Result<Finished> {
    let mut group = Group::start(command)?;
    let deadline = Instant::now() + timeout;
    let ended = wait_until(deadline, || group.has_ended().transpose());
    ended.transpose()?.ok_or_else(|| no_end(timeout))?;
    wait_until(Instant::now() + AFTERMATH, || group.falls_silent());
    let status = group.end()?;
    Ok(Finished {
        status,
        output: group.outputs.iter().map(Output::text).collect(),
    })
}

pub(crate) fn no_end(timeout: Duration) -> io::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        format!("still running after {timeout:?}"),
    )
}

/// A command in a separate process group. Dropping it kills the group.
struct Group {
    child: Child,
    outputs: [Output; 2],
    /// The command's exit status; none until the group has been killed.
    status: Option<ExitStatus>,
}

impl Group {
    fn start(command: &mut Command) -> io::Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let outputs = [
            child.stdout.take().map(OwnedFd::from),
            child.stderr.take().map(OwnedFd::from),
        ];
        let kept = Vec::new;
        let group = Self {
            child,
            outputs: outputs.map(|pipe| Output { pipe, kept: kept() }),
            status: None,
        };
        let mut pipes = group.outputs.iter().filter_map(|it| it.pipe.as_ref());
        pipes.try_for_each(|pipe| ioctl_fionbio(pipe, true))?;
        Ok(group)
    }

    /// Reports whether the command has ended. Its ID and that of its group are not reused until
    /// `end` waits for it.
    fn has_ended(&mut self) -> io::Result<Option<()>> {
        self.falls_silent();
        let child = WaitId::Pid(Pid::from_child(&self.child));
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(child, options)?.map(drop))
    }

    /// Reads the outputs, and reports whether both have ended. No process can then write to them.
    fn falls_silent(&mut self) -> Option<()> {
        self.outputs.iter_mut().for_each(Output::read);
        let is_silent = self.outputs.iter().all(|it| it.pipe.is_none());
        is_silent.then_some(())
    }

    /// Kills the rest of the group, and processes outside it that hold an output open. Returns the
    /// command's exit status.
    fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        // An error means that the group contains no process that may be killed.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let status = self.child.wait()?;
        self.status = Some(status);
        let silent = wait_until(Instant::now() + KILLED_WITHIN, || self.falls_silent());
        if silent.is_none() {
            self.outputs.iter().for_each(Output::kill_holders);
            wait_until(Instant::now() + KILLED_WITHIN, || self.falls_silent());
        }
        Ok(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Callers that need the result have already called `end`.
        let _ = self.end();
    }
}

/// A command's standard output or standard error. It is read while the command runs, so that the
/// writer does not block.
struct Output {
    /// None once the output has ended or cannot be read.
    pipe: Option<OwnedFd>,
    kept: Vec<u8>,
}

impl Output {
    fn read(&mut self) {
        let mut piece = vec![0; PIECE_BYTES];
        for _ in 0..PIECES_MAX {
            let Some(pipe) = &self.pipe else {
                return;
            };
            match rustix::io::read(pipe, &mut piece[..]) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    let room = OUTPUT_BYTES_MAX.saturating_sub(self.kept.len());
                    self.kept.extend_from_slice(&piece[..count.min(room)]);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // Text that was read before an error is still shown.
                Err(_) => self.pipe = None,
            }
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.kept).into_owned()
    }

    fn kill_holders(&self) {
        let holders = self.pipe.as_ref().map(processes::holders_of_pipe);
        for pid in holders.into_iter().flatten() {
            if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
                // The process may have ended by itself in the meantime.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// Calls `check` repeatedly until it returns a result or the deadline has passed.
pub(crate) fn wait_until<T>(deadline: Instant, mut check: impl FnMut() -> Option<T>) -> Option<T> {
    loop {
        let result = check();
        if result.is_some() || Instant::now() >= deadline {
            return result;
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Formats a command so that it can be pasted into a shell.
pub(crate) fn display(words: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+".contains(c);
    let quoted = words.iter().map(|word| match word.as_str() {
        plain if !plain.is_empty() && plain.chars().all(is_plain) => word.clone(),
        word => format!("'{}'", word.replace('\'', r"'\''")),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_and_status_are_kept() {
        let finished = run(
            Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]),
            Duration::from_secs(10),
        );
        let finished = finished.unwrap();
        assert_eq!(
            (finished.status.code(), finished.output.as_str()),
            (Some(3), "out\nerr\n")
        );
    }

    #[test]
    fn a_command_that_does_not_end_is_killed() {
        let error = run(
            Command::new("sh").args(["-c", "sleep 60 & wait"]),
            Duration::from_millis(50),
        )
        .err()
        .unwrap();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    /// Runs a script that writes a process ID into the file that `$0` names. Returns the output,
    /// and whether that process has ended.
    fn left_by(script: &str) -> (String, bool) {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("pid");
        let begun = Instant::now();
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(&file);
        let finished = run(&mut command, Duration::from_secs(60)).unwrap();
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "the call waited for the child"
        );
        let pid = std::fs::read_to_string(file).unwrap();
        let pid: u32 = pid.trim().parse().unwrap();
        let gone = || processes::started(pid).is_none().then_some(());
        let gone = wait_until(Instant::now() + Duration::from_secs(10), gone);
        (finished.output, gone.is_some())
    }

    #[test]
    fn a_child_that_holds_the_output_open_is_killed() {
        let left = left_by("sleep 100 & echo $! >\"$0\"; echo 1.2");
        assert_eq!(left, ("1.2\n".into(), true));
    }

    #[test]
    fn a_child_in_a_separate_session_is_killed_as_well() {
        let left = left_by(
            "setsid sh -c 'echo $$ >\"$0\"; exec sleep 100' \"$0\" & \
             while [ ! -s \"$0\" ]; do sleep 0.01; done; echo 1.2",
        );
        assert_eq!(left, ("1.2\n".into(), true));
    }

    #[test]
    fn a_command_with_endless_output_is_killed_and_the_beginning_is_kept() {
        let begun = Instant::now();
        let error = run(&mut Command::new("yes"), Duration::from_millis(100)).err();
        assert_eq!(error.unwrap().kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() < Duration::from_secs(20));
        let head = run(
            Command::new("sh").args(["-c", "yes | head -c 1000000"]),
            Duration::from_secs(20),
        );
        assert_eq!(head.unwrap().output.len(), OUTPUT_BYTES_MAX);
    }

    #[test]
    fn a_displayed_command_can_be_pasted() {
        assert_eq!(
            display(&["sh".into(), "-c".into(), "echo 'a'".into()]),
            r"sh -c 'echo '\''a'\'''"
        );
    }
}
