//! Starting a process through the supervisor, and ending it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::supervise::{COMPLAINT, FAILED, OUT_OF_PATIENCE, Orders};
use crate::container::{self, ContainerSpec};
use crate::error::DriverError;
use crate::system::command::wait_until;
use crate::system::exit::{Ended, Exit};
use crate::system::limit;
use crate::system::private::create_private;
use crate::system::processes;

/// Beyond the gateway's own stop timeout, how long the supervisor may take before it is killed too.
const SUPERVISOR_GRACE: Duration = Duration::from_secs(5);

/// How long the kernel may take to empty the control groups of what was killed.
const GROUPS_TIMEOUT: Duration = Duration::from_secs(2);

/// How a program is stopped that holds nothing worth saving.
const PLAIN_STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// How much of a log an error shows.
const TAIL_LINES: usize = 20;

/// The program that supervises what is started: `gatebench supervise`.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The program; it is also what a folder's binary name `gatebench` stands for.
    pub program: PathBuf,
    /// Its arguments before those of [`crate::supervise`].
    pub prefix_args: Vec<OsString>,
}

impl Launcher {
    /// The running program itself with its subcommand `supervise`.
    pub fn own() -> io::Result<Self> {
        Ok(Self {
            program: std::env::current_exe()?,
            prefix_args: vec!["supervise".into()],
        })
    }
}

impl Exit {
    /// The supervisor reports a signal as 128 + N, as shells do.
    fn of_supervisor(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) if code == i32::from(OUT_OF_PATIENCE) => KILLED,
            (Some(code), _) if code > 128 => Self::Signal(code - 128),
            (Some(code), _) => Self::Code(code),
            (None, signal) => Self::Signal(signal.unwrap_or(0)),
        }
    }
}

/// The end by a signal that cannot be ignored.
const KILLED: Exit = Exit::Signal(Signal::KILL.as_raw());

/// Where the processes of something that was started are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// Everything below this process, without itself.
    Below(u32),
    /// This process and everything below it.
    Tree(u32),
}

impl Root {
    /// The process at the root.
    pub fn pid(self) -> u32 {
        match self {
            Self::Below(pid) | Self::Tree(pid) => pid,
        }
    }
}

/// A process under its supervisor. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Supervised {
    child: Child,
    exit: Option<Exit>,
    /// Whether the supervisor killed it for not stopping in time.
    out_of_patience: bool,
    stop_signal: Signal,
    stop_timeout: Duration,
    /// Its control groups, which its supervisor removes unless it is killed.
    groups: Vec<PathBuf>,
    /// The container it runs in, which its supervisor removes unless it is killed.
    container: Option<ContainerSpec>,
    pub stdout: PathBuf,
    pub stderr: PathBuf,
}

impl Supervised {
    /// Starts a command in `folder`, with its output going to `NAME.stdout.log` and `NAME.stderr.log` there.
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
            .args(orders.to_args())
            .envs(environment)
            .current_dir(folder)
            // Held open until the end: the supervisor reads its end as ours.
            .stdin(Stdio::piped())
            // Gateways log requests, with their keys.
            .stdout(create_private(&stdout)?)
            .stderr(create_private(&stderr)?)
            // A group of its own, so that Ctrl-C at the terminal reaches gatebench alone.
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

    /// The supervisor, root of the process tree.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The first process of what it supervises, where that is no descendant of the supervisor: in a
    /// container.
    pub(crate) fn container_pid(&self) -> Option<u32> {
        Some(self.container.as_ref()?.made().ok()?.pid)
    }

    /// The container that it runs in; none where it runs on the machine itself.
    pub(crate) fn container(&self) -> Option<&ContainerSpec> {
        self.container.as_ref()
    }

    /// The process that signals are handed on to; none where it has ended.
    pub(crate) fn main_pid(&self) -> Option<u32> {
        match &self.container {
            // The first that it started: orphans come after it.
            None => processes::children(self.pid()).first().copied(),
            Some(_) => self.container_pid(),
        }
    }

    /// The root of the processes that it supervises and their descendants.
    pub(crate) fn root(&self) -> Root {
        match &self.container {
            None => Root::Below(self.pid()),
            // 0 is nobody: the container is not there yet.
            Some(_) => Root::Tree(self.container_pid().unwrap_or(0)),
        }
    }

    /// How it ended, if it did.
    pub(crate) fn exit(&mut self) -> Option<Exit> {
        if self.exit.is_none() {
            // An error here means that the process is gone without a trace.
            let status = self
                .child
                .try_wait()
                .unwrap_or_else(|_| Some(ExitStatus::from_raw(Signal::KILL.as_raw())));
            if let Some(status) = status {
                if status.signal().is_some() {
                    self.kill_group();
                }
                self.out_of_patience = status.code() == Some(OUT_OF_PATIENCE.into());
                self.exit = Some(Exit::of_supervisor(status));
            }
        }
        self.exit
    }

    /// Sends a signal to the supervisor, which hands it on or acts on it.
    pub(crate) fn signal(&mut self, signal: Signal) -> io::Result<()> {
        match self.exit() {
            Some(exit) => Err(io::Error::other(format!("it has ended ({exit})"))),
            None => Ok(kill_process(Pid::from_child(&self.child), signal)?),
        }
    }

    /// Asks it to stop and sees to it that it does.
    pub(crate) fn stop(&mut self) -> Ended {
        if let Some(exit) = self.exit() {
            return Ended::Crashed(exit);
        }
        // Failing means that it just ended; the wait tells.
        let _ = self.signal(Signal::TERM);
        let deadline = Instant::now() + self.stop_timeout + SUPERVISOR_GRACE;
        match wait_until(deadline, || self.exit()) {
            Some(_) if self.out_of_patience => Ended::Killed,
            // Somebody else killed it, just before it was asked.
            Some(KILLED) if self.stop_signal != Signal::KILL => Ended::Crashed(KILLED),
            Some(_) => Ended::Stopped,
            None => {
                self.kill();
                Ended::Killed
            }
        }
    }

    /// Kills it and everything it started, without asking.
    pub(crate) fn kill(&mut self) {
        self.kill_group();
        self.exit = self.child.wait().ok().map(Exit::of_supervisor);
    }

    /// The end of all it wrote: standard output, then standard error.
    pub(crate) fn output_tail(&self) -> String {
        last_lines(&(text_of(&self.stdout) + &text_of(&self.stderr)))
    }

    /// The end of what it wrote to stderr.
    pub(crate) fn stderr_tail(&self) -> String {
        last_lines(&text_of(&self.stderr))
    }

    /// The supervisor and what it starts share a process group: the way to reach them without it.
    fn kill_group(&self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let removed = || limit::remove(&self.groups).then_some(());
        wait_until(Instant::now() + GROUPS_TIMEOUT, removed);
        if let Some(container) = &self.container {
            container::remove_of(container, self.pid());
        }
    }

    /// Why the supervisor could not start it, where that is why it ended.
    pub(crate) fn supervisors_complaint(&mut self) -> Option<String> {
        if self.exit() != Some(Exit::Code(FAILED.into())) {
            return None;
        }
        let stderr = text_of(&self.stderr);
        let complaint = stderr.lines().find_map(|line| line.strip_prefix(COMPLAINT));
        complaint.map(str::to_owned)
    }
}

/// A program that holds nothing worth saving, and how it is started.
pub(crate) struct Plain<'a> {
    /// Its name, for its logs and in errors.
    pub name: &'a str,
    pub command: Vec<OsString>,
    pub environment: &'a BTreeMap<String, String>,
    /// Its working folder; made where it does not exist.
    pub work: &'a Path,
    pub cores: &'a [usize],
    /// Open descriptors it may have, as far as the machine's hard limit allows.
    pub nofile: u64,
    pub launcher: &'a Launcher,
}

impl Plain<'_> {
    /// Starts it under a supervisor.
    pub(crate) fn start(self) -> Result<Supervised, DriverError> {
        fs::create_dir_all(self.work)
            .map_err(DriverError::io(format!("making {}", self.work.display())))?;
        let orders = Orders {
            cores: self.cores.to_vec(),
            nofile: Some(self.nofile),
            limits: Vec::new(),
            container: None,
            stop_signal: Signal::TERM,
            stop_timeout: PLAIN_STOP_TIMEOUT,
            command: self.command,
        };
        Supervised::spawn(
            self.launcher,
            &orders,
            self.environment,
            self.work,
            self.name,
        )
        .map_err(DriverError::io(format!("starting {}", self.name)))
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
    fs::read(log)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

/// The last lines of a text, without the empty ones at its end.
pub(crate) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}
