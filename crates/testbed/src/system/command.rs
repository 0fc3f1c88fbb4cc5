//! Short commands that must end by themselves: a version, a check of a configuration, an action.

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

/// The largest output that is kept, enough for an error message.
pub(crate) const OUTPUT_BYTES_MAX: u64 = 64 * 1024;

/// The interval at which the exit is checked and output is read.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// How long descendants of a command may write after the command has ended.
const AFTERMATH: Duration = Duration::from_millis(500);

/// How long outputs may stay open after all processes that hold them were killed.
const KILLED_WITHIN: Duration = Duration::from_millis(300);

/// The capacity of a pipe.
const PIECE_BYTES: usize = 64 * 1024;

/// The number of pieces that are read at a time, so that reading ends even if the command never
/// stops writing.
const PIECES_MAX: usize = 16;

/// The result of a short command.
pub(crate) struct Finished {
    pub status: ExitStatus,
    /// Standard output, then standard error.
    pub output: String,
}

/// Runs a command to its end. After `timeout` it is killed, and the error is
/// [`io::ErrorKind::TimedOut`]. In either case its process group is ended, and so are other
/// processes that hold its output open.
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

/// The error for a command that does not end.
pub(crate) fn no_end(timeout: Duration) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("no end after {timeout:?}"))
}

/// A command in a separate process group. Dropping it ends the group.
struct Group {
    child: Child,
    outputs: [Output; 2],
    /// True after the end of the group.
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
        let pipes = [
            child.stdout.take().map(OwnedFd::from),
            child.stderr.take().map(OwnedFd::from),
        ];
        let group = Self {
            child,
            outputs: pipes.map(Output::of),
            status: None,
        };
        let mut pipes = group.outputs.iter().filter_map(|it| it.pipe.as_ref());
        pipes.try_for_each(|pipe| ioctl_fionbio(pipe, true))?;
        Ok(group)
    }

    /// Reports whether the command has ended. No other process gets its number, or that of its
    /// group, until it is waited for.
    fn has_ended(&mut self) -> io::Result<Option<()>> {
        self.falls_silent();
        let child = WaitId::Pid(Pid::from_child(&self.child));
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(child, options)?.map(drop))
    }

    /// Reads the output, and reports whether it has ended, so that no process can write any more.
    fn falls_silent(&mut self) -> Option<()> {
        self.outputs.iter_mut().for_each(Output::read);
        let is_silent = self.outputs.iter().all(|it| it.pipe.is_none());
        is_silent.then_some(())
    }

    /// Kills the rest of the group, and processes outside it that hold an output open.
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
        // Callers that need the result have called `end` before.
        let _ = self.end();
    }
}

/// One of the two outputs, which is read as it arrives, so that the writer does not block.
struct Output {
    /// None once the output has ended.
    pipe: Option<OwnedFd>,
    kept: Vec<u8>,
}

impl Output {
    fn of(pipe: Option<OwnedFd>) -> Self {
        Self {
            pipe,
            kept: Vec::new(),
        }
    }

    fn read(&mut self) {
        let mut piece = vec![0; PIECE_BYTES];
        for _ in 0..PIECES_MAX {
            let Some(pipe) = &self.pipe else {
                return;
            };
            match rustix::io::read(pipe, &mut piece[..]) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    let room = (OUTPUT_BYTES_MAX as usize).saturating_sub(self.kept.len());
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

    /// Kills the processes that hold the other end open.
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

/// Calls `ask` repeatedly until it returns a result or the deadline has passed.
pub(crate) fn wait_until<T>(deadline: Instant, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    loop {
        let response = ask();
        if response.is_some() || Instant::now() >= deadline {
            return response;
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Formats a command for a shell.
pub(crate) fn display(words: &[String]) -> String {
    let plain = |word: &str| {
        !word.is_empty()
            && word
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_./:=,@+".contains(c))
    };
    let quoted = words.iter().map(|word| {
        if plain(word) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
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
    fn a_command_that_does_not_end_is_ended() {
        let error = run(
            Command::new("sh").args(["-c", "sleep 60 & wait"]),
            Duration::from_millis(50),
        )
        .err()
        .unwrap();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    /// Runs a script that writes a process ID into the file given as its first argument. Returns
    /// the result, and whether that process has ended.
    fn left_by(script: &str) -> (String, bool) {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("pid");
        let begun = Instant::now();
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(&file);
        let finished = run(&mut command, Duration::from_secs(60)).unwrap();
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "it waited for the child"
        );
        let pid = std::fs::read_to_string(file).unwrap();
        let pid: u32 = pid.trim().parse().unwrap();
        let gone = || processes::started(pid).is_none().then_some(());
        let gone = wait_until(Instant::now() + Duration::from_secs(10), gone);
        (finished.output, gone.is_some())
    }

    #[test]
    fn a_child_that_holds_the_output_open_is_ended() {
        let left = left_by("sleep 100 & echo $! >\"$0\"; echo 1.2");
        assert_eq!(left, ("1.2\n".into(), true));
    }

    #[test]
    fn a_child_in_a_session_of_its_own_is_ended_as_well() {
        let left = left_by(
            "setsid sh -c 'echo $$ >\"$0\"; exec sleep 100' \"$0\" & \
             while [ ! -s \"$0\" ]; do sleep 0.01; done; echo 1.2",
        );
        assert_eq!(left, ("1.2\n".into(), true));
    }

    #[test]
    fn of_an_endless_output_the_beginning_is_kept_and_the_command_is_ended() {
        let begun = Instant::now();
        let error = run(&mut Command::new("yes"), Duration::from_millis(100)).err();
        assert_eq!(error.unwrap().kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() < Duration::from_secs(20));
        let head = run(
            Command::new("sh").args(["-c", "yes | head -c 1000000"]),
            Duration::from_secs(20),
        );
        assert_eq!(head.unwrap().output.len() as u64, OUTPUT_BYTES_MAX);
    }

    #[test]
    fn a_command_is_shown_so_that_it_can_be_pasted() {
        assert_eq!(
            display(&["sh".into(), "-c".into(), "echo 'a'".into()]),
            r"sh -c 'echo '\''a'\'''"
        );
    }
}
