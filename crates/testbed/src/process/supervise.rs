//! The supervisor: a small process between gatebench and a program, such as a gateway. It ends the
//! program and everything that the program started, even if gatebench is killed by SIGKILL.
//!
//! ```text
//! gatebench ──stdin pipe──> supervisor (subreaper) ──> gateway ──> workers, orphans, …
//! ```
//! The end of the supervisor's stdin means that gatebench has ended. The kernel's parent-death
//! signal cannot be used, because the kernel sends it when the *thread* that started the child
//! ends.

mod orders;

use std::ffi::{CStr, OsString};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Resource, Signal, WaitOptions, WaitStatus, getrlimit, kill_process,
    pidfd_open, pidfd_send_signal, setrlimit, wait,
};
use rustix::thread::CpuSet;

use crate::container::ContainerMain;
use crate::system::limit::LimitedGroups;
use crate::system::processes;

pub(crate) use orders::{Orders, signal_from_name, signal_name};

/// The process name of supervisors.
pub(crate) const NAME: &CStr = c"gb-supervisor";

/// Signals that are forwarded to the command; a gateway's actions send them.
pub(crate) const FORWARDED: [Signal; 4] = [Signal::HUP, Signal::USR1, Signal::USR2, Signal::WINCH];

/// Signals that ask the supervisor to stop the command; a second signal kills the command.
const STOPPING: [Signal; 3] = [Signal::TERM, Signal::INT, Signal::QUIT];

/// The exit code if the supervisor itself failed.
pub(crate) const FAILED: u8 = 125;

/// The prefix of the error message that a failed supervisor prints on standard error.
pub(crate) const COMPLAINT: &str = "gatebench supervise: ";

/// The exit code if the supervisor killed the command, because it did not stop in time or a second
/// signal requested its end. This code is greater than the code of any signal.
pub(crate) const OUT_OF_PATIENCE: u8 = 254;

/// The exit code that shells and container engines report for a process that SIGKILL ended.
const KILLED: u8 = 128 + 9;

const SWEEP_PAUSE: Duration = Duration::from_millis(1);

/// Runs a command, and stops it on SIGTERM, SIGINT or SIGQUIT, or when stdin ends. A second such
/// event kills it. When the command has ended, its remaining descendants are killed. The arguments
/// are `ORDERS -- COMMAND [ARGUMENT...]`. ORDERS is a JSON object, for example `{"cores": [0, 1],
/// "nofile": 1024, "stop_signal": "TERM"}`.
///
/// Returns the command's exit code; 128 + N if signal N ended the command; 254 if the supervisor
/// killed the command; 125 if the supervisor itself failed.
pub fn supervise(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let orders = Orders::parse(args).map_err(io::Error::other);
    match orders.and_then(|orders| run(&orders)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("{COMPLAINT}{error}");
            ExitCode::from(FAILED)
        }
    }
}

fn run(orders: &Orders) -> io::Result<u8> {
    // Handlers for the signals are registered before the start, so that no signal is lost.
    let mut inbox = Inbox::open()?;
    prepare(orders)?;
    let groups = LimitedGroups::make(&orders.limits)?;
    let main = match &orders.container {
        None => Main::Process(groups.inside(|| spawn(orders))?),
        Some(spec) => Main::Container(ContainerMain::start(
            spec,
            &orders.command,
            &orders.cores,
            orders.nofile.unwrap_or(u64::MAX),
            // The container's process is not a child of the supervisor, so the kernel sends no
            // SIGCHLD at its end.
            inbox.pipe(Signal::CHILD)?,
        )?),
    };
    let mut watch = Watch {
        orders,
        inbox,
        main,
        deadline: None,
        out_of_patience: false,
    };
    let code = watch.until_ended();
    let removed = match &mut watch.main {
        Main::Process(_) => Ok(()),
        Main::Container(container) => container.remove(),
    };
    sweep();
    drop(groups);
    removed.and(code)
}

/// Sets the cores and the descriptor limit, which the command inherits unless it runs in a
/// container, and makes this process the parent of orphaned descendants.
fn prepare(orders: &Orders) -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    rustix::thread::set_name(NAME)?;
    if !orders.cores.is_empty() {
        let mut set = CpuSet::new();
        for &core in orders.cores.iter().filter(|&&core| core < CpuSet::MAX_CPU) {
            set.set(core);
        }
        rustix::thread::sched_setaffinity(None, &set).map_err(|error| {
            io::Error::other(format!("cannot run on cores {:?}: {error}", orders.cores))
        })?;
    }
    if let Some(wanted) = orders.nofile {
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = Some(limit.maximum.map_or(wanted, |hard| wanted.min(hard)));
        setrlimit(Resource::Nofile, limit)?;
    }
    Ok(())
}

fn spawn(orders: &Orders) -> io::Result<Pid> {
    let (program, arguments) = orders
        .command
        .split_first()
        .ok_or_else(|| io::Error::other("no command"))?;
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .spawn()
        .map_err(|error| {
            io::Error::other(format!("cannot start {}: {error}", program.display()))
        })?;
    // The handle is dropped, because `Main::ended` and `sweep` wait for all children and orphans.
    Ok(Pid::from_child(&child))
}

/// The descriptors that announce signals and the end of gatebench.
struct Inbox {
    signals: Vec<(Signal, UnixStream)>,
    /// None after the end of stdin.
    parent: Option<io::Stdin>,
}

impl Inbox {
    fn open() -> io::Result<Self> {
        let mut inbox = Self {
            signals: Vec::new(),
            parent: Some(io::stdin()),
        };
        for signal in FORWARDED.into_iter().chain(STOPPING).chain([Signal::CHILD]) {
            let pipe = inbox.pipe(signal)?;
            signal_hook::low_level::pipe::register(signal.as_raw(), pipe)?;
        }
        Ok(inbox)
    }

    /// Returns a pipe; [`Self::wait`] reports one signal for each byte written to it.
    fn pipe(&mut self, signal: Signal) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        self.signals.push((signal, ours));
        Ok(theirs)
    }

    /// Waits for an event and returns the signals that arrived. The end of gatebench is reported as
    /// SIGTERM.
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<Vec<Signal>> {
        let mut descriptors: Vec<_> = self
            .signals
            .iter()
            .map(|(_, pipe)| PollFd::new(pipe, PollFlags::IN))
            .collect();
        descriptors.extend(
            self.parent
                .as_ref()
                .map(|stdin| PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)),
        );
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        match poll(&mut descriptors, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let stdin = descriptors.last().filter(|_| self.parent.is_some());
        let is_stdin_readable = stdin.is_some_and(|stdin| !stdin.revents().is_empty());
        let mut arrived = Vec::new();
        let mut byte = [0_u8; 1];
        for (signal, pipe) in &self.signals {
            while matches!(rustix::io::read(pipe, &mut byte), Ok(1)) {
                arrived.push(*signal);
            }
        }
        if is_stdin_readable && has_stdin_ended() {
            self.parent = None;
            arrived.push(Signal::TERM);
        }
        Ok(arrived)
    }
}

fn has_stdin_ended() -> bool {
    let mut scratch = [0_u8; 64];
    !matches!(
        rustix::io::read(io::stdin(), &mut scratch),
        Ok(1..) | Err(rustix::io::Errno::INTR)
    )
}

enum Main {
    Process(Pid),
    Container(ContainerMain),
}

impl Main {
    /// Reaps ended children and returns the command's exit code; none while the command runs.
    fn ended(&self) -> io::Result<Option<u8>> {
        match self {
            Self::Container(container) => {
                let code = container.ended()?;
                Ok(code.map(|code| u8::try_from(code).unwrap_or(FAILED)))
            }
            Self::Process(main) => {
                while let Some((pid, status)) = wait(WaitOptions::NOHANG)? {
                    if pid == *main {
                        return Ok(Some(exit_code(status)));
                    }
                }
                Ok(None)
            }
        }
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        match self {
            Self::Process(main) => Ok(kill_process(*main, signal)?),
            Self::Container(container) => container.signal(signal_name(signal)),
        }
    }
}

struct Watch<'a> {
    orders: &'a Orders,
    inbox: Inbox,
    main: Main,
    /// The time at which the command is killed; none unless the command is stopping.
    deadline: Option<Instant>,
    /// True if the supervisor killed the command, because it did not stop in time or a second
    /// signal requested its end.
    out_of_patience: bool,
}

impl Watch<'_> {
    fn until_ended(&mut self) -> io::Result<u8> {
        loop {
            match self.main.ended()? {
                Some(KILLED) if self.out_of_patience => return Ok(OUT_OF_PATIENCE),
                Some(code) => return Ok(code),
                None => {}
            }
            let patience = self
                .deadline
                .map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if patience.is_some_and(|patience| patience.is_zero()) {
                self.main.signal(Signal::KILL)?;
                self.out_of_patience = true;
                self.deadline = None;
            }
            for signal in self.inbox.wait(self.deadline.and(patience))? {
                self.handle(signal)?;
            }
        }
    }

    fn handle(&mut self, signal: Signal) -> io::Result<()> {
        if FORWARDED.contains(&signal) {
            self.main.signal(signal)?;
        } else if STOPPING.contains(&signal) {
            match self.deadline {
                None => {
                    self.main.signal(self.orders.stop_signal)?;
                    self.deadline = Some(Instant::now() + self.orders.stop_timeout);
                }
                Some(_) => self.deadline = Some(Instant::now()),
            }
        }
        Ok(())
    }
}

/// Kills all remaining processes. The orphans of a killed process become children of this
/// subreaper, so repeating this until no child is left reaches every descendant.
fn sweep() {
    loop {
        for child in processes::children(std::process::id()) {
            if let Some(pid) = Pid::from_raw(child.cast_signed()) {
                // An error means that the process has ended in the meantime.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => std::thread::sleep(SWEEP_PAUSE),
            Err(_) => return,
        }
    }
}

fn exit_code(status: WaitStatus) -> u8 {
    let code = status
        .exit_status()
        .or_else(|| status.terminating_signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(FAILED)
}

/// Sends SIGTERM to every supervisor that is a child of this process.
pub(crate) fn end_supervisors() {
    let own = std::process::id();
    for pid in processes::children(own) {
        let Some(raw) = Pid::from_raw(pid.cast_signed()) else {
            continue;
        };
        // The child is checked after its handle was opened, because a process ID can be reused, but
        // a handle cannot.
        let Ok(handle) = pidfd_open(raw, PidfdFlags::empty()) else {
            continue;
        };
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        if name.trim().as_bytes() == NAME.to_bytes() && processes::children(own).contains(&pid) {
            // An error means that the supervisor has ended.
            let _ = pidfd_send_signal(&handle, Signal::TERM);
        }
    }
}
