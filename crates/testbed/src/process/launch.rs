//! Starts a process through the supervisor, and ends it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::supervise::{COMPLAINT, FAILED, OUT_OF_PATIENCE, Orders};
use crate::container::{self, ContainerSpec};
use crate::error::DriverError;
use crate::probe::{Sampler, Scope};
use crate::system::command::wait_until;
use crate::system::exit::{Ended, Exit};
use crate::system::limit;
use crate::system::private::create_private;
use crate::system::processes;

/// The time that the supervisor may take, in addition to the program's stop timeout, before both
/// are killed.
const SUPERVISOR_GRACE: Duration = Duration::from_secs(5);

/// The time that the kernel may take to empty the control groups of killed processes.
const GROUPS_TIMEOUT: Duration = Duration::from_secs(2);

/// The stop timeout of a program that has nothing to save.
const PLAIN_STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The limit on open descriptors of each part of a trial except load generators, unless the
/// machine's hard limit is lower.
pub(crate) const NOFILE: u64 = 65_536;

/// The maximum number of lines of a log, or of a command's output, in an error message.
const TAIL_LINES: usize = 20;

/// The program that supervises the processes that gatebench starts: `gatebench supervise`.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The path of the program. A gateway folder refers to the program as `gatebench`.
    pub program: PathBuf,
    /// The arguments before those of [`crate::supervise`].
    pub prefix_args: Vec<OsString>,
}

/// The name of the small program, which lacks the gateways that are part of gatebench.
const SMALL: &str = "gatebench-agent";

impl Launcher {
    /// Returns the program for places that run none of the gateways that are part of gatebench: the
    /// small program if it is installed next to this program, otherwise this program.
    pub fn small(&self) -> PathBuf {
        let small = self.program.with_file_name(SMALL);
        match small.is_file() {
            true => small,
            false => self.program.clone(),
        }
    }

    /// Returns the running program with its subcommand `supervise`.
    pub fn own() -> io::Result<Self> {
        Ok(Self {
            program: std::env::current_exe()?,
            prefix_args: vec!["supervise".into()],
        })
    }
}

impl Exit {
    /// Converts a supervisor's exit status. Like a shell, the supervisor reports signal N as 128 +
    /// N. It reports [`OUT_OF_PATIENCE`] if it killed the program. All other codes are passed on
    /// unchanged: the program's own, or [`FAILED`].
    fn of_supervisor(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) if code == i32::from(OUT_OF_PATIENCE) => KILLED,
            (Some(code), _) if SIGNALS.contains(&(code - 128)) => Self::Signal(code - 128),
            (Some(code), _) => Self::Code(code),
            (None, signal) => Self::Signal(signal.unwrap_or(0)),
        }
    }
}

const SIGNALS: RangeInclusive<i32> = 1..=64;

const KILLED: Exit = Exit::Signal(Signal::KILL.as_raw());

/// A process under its supervisor. Dropping it stops the process.
#[derive(Debug)]
pub struct Supervised {
    child: Child,
    exit: Option<Exit>,
    /// True if the supervisor killed the process, because it did not stop in time or a second
    /// signal requested its end.
    out_of_patience: bool,
    stop_signal: Signal,
    stop_timeout: Duration,
    /// The control groups of the process. The supervisor removes them, unless the supervisor itself
    /// is killed.
    groups: Vec<PathBuf>,
    /// The container of the process. The supervisor removes it, unless the supervisor itself is
    /// killed.
    container: Option<ContainerSpec>,
    pub stdout: PathBuf,
    pub stderr: PathBuf,
}

impl Supervised {
    /// Starts a command in `folder`. Its output goes to `NAME.stdout.log` and `NAME.stderr.log`
    /// there.
    pub(crate) fn spawn(
        launcher: &Launcher,
        orders: &Orders,
        environment: &BTreeMap<String, String>,
        folder: &Path,
        name: &str,
    ) -> io::Result<Self> {
        let stdout = folder.join(format!("{name}.stdout.log"));
        let stderr = folder.join(format!("{name}.stderr.log"));
        let child = Command::new(&launcher.program)
            .args(&launcher.prefix_args)
            .args(orders.to_args()?)
            .envs(environment)
            .current_dir(folder)
            // The supervisor interprets the end of this pipe as the end of gatebench.
            .stdin(Stdio::piped())
            // Only this user may read the logs, because gateways may log requests with their keys.
            .stdout(create_private(&stdout)?)
            .stderr(create_private(&stderr)?)
            // The supervisor has a separate process group, so that Ctrl-C at the terminal reaches
            // only gatebench.
            .process_group(0)
            .spawn()?;
        Ok(Self {
            groups: limit::folders(&orders.limits, child.id())?,
            container: orders.container.clone(),
            child,
            exit: None,
            out_of_patience: false,
            stop_signal: orders.stop_signal,
            stop_timeout: orders.stop_timeout,
            stdout,
            stderr,
        })
    }

    /// Returns the process ID of the supervisor. All supervised processes are its descendants,
    /// unless they run in a container.
    pub fn supervisor_pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the process ID of the container's first process, which is not a descendant of the
    /// supervisor; none if there is no container, or if it has not started yet.
    fn container_pid(&self) -> Option<u32> {
        Some(self.container.as_ref()?.made().ok()?.pid)
    }

    pub(crate) fn container(&self) -> Option<&ContainerSpec> {
        self.container.as_ref()
    }

    /// Returns the ID of the process that receives forwarded signals, if it is known.
    pub(crate) fn main_pid(&self) -> Option<u32> {
        match &self.container {
            // The first child is the process; adopted orphans follow it.
            None => processes::children(self.supervisor_pid()).first().copied(),
            Some(_) => self.container_pid(),
        }
    }

    /// Returns the root of the supervised processes' tree, and the scope, which excludes the root
    /// if it is the supervisor.
    pub(crate) fn tree(&self) -> (u32, Scope) {
        match &self.container {
            None => (self.supervisor_pid(), Scope::Below),
            // 0, which is not a process ID, means that the container does not exist yet.
            Some(_) => (self.container_pid().unwrap_or(0), Scope::Tree),
        }
    }

    pub fn sampler(&self) -> Sampler {
        let (root, scope) = self.tree();
        Sampler::new(root, scope)
    }

    pub fn is_alive(&mut self) -> bool {
        self.exit_status().is_none()
    }

    pub fn exit_status(&mut self) -> Option<Exit> {
        if self.exit.is_none() {
            // An error means that another part of this program has collected the exit status.
            let killed = ExitStatus::from_raw(Signal::KILL.as_raw());
            if let Some(status) = self.child.try_wait().unwrap_or(Some(killed)) {
                if status.signal().is_some() {
                    self.kill_group();
                }
                self.out_of_patience = status.code() == Some(OUT_OF_PATIENCE.into());
                self.exit = Some(Exit::of_supervisor(status));
            }
        }
        self.exit
    }

    /// Sends a signal to the supervisor, which forwards the signal or acts on it.
    pub(crate) fn signal(&mut self, signal: Signal) -> io::Result<()> {
        match self.exit_status() {
            Some(exit) => Err(io::Error::other(format!("it has ended ({exit})"))),
            None => Ok(kill_process(Pid::from_child(&self.child), signal)?),
        }
    }

    /// Stops the process with its stop signal, and kills it if it does not stop in time.
    pub fn stop(&mut self) -> Ended {
        if let Some(exit) = self.exit_status() {
            return Ended::Crashed(exit);
        }
        // The call fails if the process has just ended, which the wait below reports.
        let _ = self.signal(Signal::TERM);
        let deadline = Instant::now() + self.stop_timeout + SUPERVISOR_GRACE;
        match wait_until(deadline, || self.exit_status()) {
            Some(_) if self.out_of_patience => Ended::Killed,
            // Something else killed the process just before the stop.
            Some(KILLED) if self.stop_signal != Signal::KILL => Ended::Crashed(KILLED),
            Some(_) => Ended::Stopped,
            None => {
                self.kill();
                Ended::Killed
            }
        }
    }

    /// Ends the process without a stop signal: kills the supervisor's process group, and removes
    /// the container.
    pub fn kill(&mut self) {
        self.kill_group();
        self.exit = self.child.wait().ok().map(Exit::of_supervisor);
    }

    /// Returns the last lines of the process's output, with standard error after standard output.
    pub fn output_tail(&self) -> String {
        last_lines(&(text_of(&self.stdout) + &text_of(&self.stderr)))
    }

    pub fn stderr_tail(&self) -> String {
        last_lines(&text_of(&self.stderr))
    }

    /// Kills the process group that the supervisor shares with the processes that it started, and
    /// removes the control groups and the container.
    fn kill_group(&self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let removed = || limit::remove(&self.groups).then_some(());
        wait_until(Instant::now() + GROUPS_TIMEOUT, removed);
        if let Some(container) = &self.container {
            container::remove_of(container, self.supervisor_pid());
        }
    }

    /// Returns the supervisor's own error, for example that the program cannot be started; none if
    /// the supervisor is still running or ended for another reason.
    pub(crate) fn supervisors_complaint(&mut self) -> Option<String> {
        if self.exit_status() != Some(Exit::Code(FAILED.into())) {
            return None;
        }
        let stderr = text_of(&self.stderr);
        let complaint = stderr.lines().find_map(|line| line.strip_prefix(COMPLAINT));
        complaint.map(str::to_owned)
    }
}

/// The inputs for starting a program that has nothing to save: an upstream, Redis, PostgreSQL or a
/// load generator.
#[derive(Clone, Debug)]
pub struct PlainStart<'a> {
    /// The program's name, for logs and errors.
    pub name: &'a str,
    pub command: Vec<OsString>,
    /// Environment variables in addition to those of this process.
    pub environment: &'a BTreeMap<String, String>,
    /// The program's working folder, which also contains its logs and is created if it does not
    /// exist.
    pub work: &'a Path,
    /// The cores that the program runs on; all if empty.
    pub cores: &'a [usize],
}

impl PlainStart<'_> {
    /// Starts the program under a supervisor. `nofile` is the limit on its open descriptors, unless
    /// the machine's hard limit is lower.
    pub(crate) fn start(self, nofile: u64, launcher: &Launcher) -> Result<Supervised, DriverError> {
        let (name, work) = (self.name, self.work);
        fs::create_dir_all(work).map_err(DriverError::at("create", work))?;
        let orders = Orders {
            cores: self.cores.to_vec(),
            nofile: Some(nofile),
            stop_timeout: PLAIN_STOP_TIMEOUT,
            command: self.command,
            ..Orders::default()
        };
        Supervised::spawn(launcher, &orders, self.environment, work, name)
            .map_err(DriverError::io(format!("start {name}")))
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        if self.exit.is_none() {
            self.stop();
        }
    }
}

fn text_of(log: &Path) -> String {
    String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned()
}

/// Returns the last [`TAIL_LINES`] lines of a string, without trailing empty lines.
pub(crate) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_that_stands_for_no_signal_is_that_of_the_program() {
        let exit = |code: i32| Exit::of_supervisor(ExitStatus::from_raw(code << 8));
        assert_eq!(exit(1), Exit::Code(1));
        assert_eq!(exit(128 + 9), Exit::Signal(9));
        assert_eq!(exit(255), Exit::Code(255));
    }
}
