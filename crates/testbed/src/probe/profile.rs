//! Where the CPU time of processes goes: perf samples their stacks.

use std::fs;
use std::io::{self, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use gatebench_model::{Blame, Culprit};
use inferno::collapse::Collapse;
use inferno::collapse::perf::{Folder, Options};
use rustix::process::{Pid, Signal, kill_process};

use self::samples::{Reading, Samples};

mod samples;

const PERF: &str = "perf";

/// The largest file of samples: perf ends by itself when it is so large, and what was sampled until then is told.
const DATA_MAX: &str = "4G";

/// How often it is looked whether enough was read.
const NAP: Duration = Duration::from_millis(10);

/// Bytes of a stack that are copied with each sample where it is unwound later.
const STACK_COPY: &str = "dwarf,16384";

/// What perf could not do.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// There is no perf.
    #[error("perf was not found")]
    NotFound,
    /// perf cannot be started or read.
    #[error("cannot use perf: {0}")]
    Io(#[from] io::Error),
    /// perf took no sample.
    #[error("perf took no sample: {0}")]
    NoSamples(String),
}

impl Blame for ProfileError {
    fn culprit(&self) -> Culprit {
        Culprit::Environment
    }

    fn remedy(&self) -> String {
        let remedy = match self {
            Self::NotFound => "install it: apt-get install linux-perf",
            Self::Io(_) | Self::NoSamples(_) => {
                "allow sampling: sysctl kernel.perf_event_paranoid=1, or run as root"
            }
        };
        remedy.into()
    }
}

/// What was sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// A line for each stack that was seen: its functions from the outermost on, between semicolons, the first
    /// being the process's name; then the CPU time that its samples stand for, in nanoseconds.
    pub folded: String,
    /// That of all samples.
    pub sampled_ns: u64,
}

/// perf at work. Dropped, it is ended, and its file removed.
#[derive(Debug)]
pub struct Profiler {
    child: Child,
    data: PathBuf,
}

impl Profiler {
    /// Whether there is a perf.
    ///
    /// # Errors
    /// [`ProfileError::NotFound`], or that it does not start.
    pub fn find() -> Result<(), ProfileError> {
        let mut command = Command::new(PERF);
        let command = command.arg("--version").stdin(Stdio::null());
        let output = command.output().map_err(not_started)?;
        if output.status.success() {
            return Ok(());
        }
        // Debian's earlier perf is a script that looks for the one of the running kernel.
        Err(ProfileError::NotFound)
    }

    /// Samples these processes, with their threads of then and later, so often in a second of CPU time. Samples come
    /// from a timer of the kernel: a virtual machine may have no other.
    ///
    /// # Errors
    /// perf does not start.
    pub fn start(
        processes: &[u32],
        samples_per_second: u32,
        is_unwound: bool,
        data: &Path,
    ) -> Result<Self, ProfileError> {
        let processes: Vec<String> = processes.iter().map(u32::to_string).collect();
        let stacks = if is_unwound { STACK_COPY } else { "fp" };
        let child = Command::new(PERF)
            .args(["record", "--quiet", "--no-buildid-cache"])
            .args(["--max-size", DATA_MAX])
            .args(["--event", "cpu-clock", "--call-graph", stacks])
            .args(["--freq", &samples_per_second.to_string()])
            .args(["--pid", &processes.join(",")])
            .arg("--output")
            .arg(data)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // A Ctrl-C is for gatebench, which then ends it.
            .process_group(0)
            .spawn()
            .map_err(not_started)?;
        Ok(Self {
            child,
            data: data.to_owned(),
        })
    }

    /// Ends the sampling and reads what was sampled, which with copies of stacks takes as long again. Where that shall not
    /// be waited for, `is_enough` ends it, which is told how many samples were read: then the profile is of these, the earliest.
    ///
    /// # Errors
    /// perf was refused, or cannot be read.
    pub fn stop(
        mut self,
        is_enough: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<Profile, ProfileError> {
        let said = self.end()?;
        let folded = fold(&self.data, is_enough)?;
        let sampled_ns = folded.lines().filter_map(width_ns).sum();
        if sampled_ns == 0 {
            let why = said.lines().find(|line| !line.trim().is_empty());
            let why = why.unwrap_or("the processes used no CPU time").trim();
            return Err(ProfileError::NoSamples(why.into()));
        }
        Ok(Profile { folded, sampled_ns })
    }

    /// Has perf write what it has, and answers with what it complained of.
    fn end(&mut self) -> Result<String, ProfileError> {
        // It may have ended by itself, and then says why.
        signal(&self.child, Signal::INT);
        let mut said = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let mut bytes = Vec::new();
            stderr.read_to_end(&mut bytes)?;
            said = String::from_utf8_lossy(&bytes).into_owned();
        }
        self.child.wait()?;
        Ok(said)
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        // Both fail where it has ended, as it mostly has.
        let _ = self.child.kill();
        let _ = self.child.wait();
        // The stacks say all; with copies of them it is large.
        let _ = fs::remove_file(&self.data);
    }
}

/// Sends a signal to a child that was not waited for yet, so that its number is nobody else's.
fn signal(child: &Child, signal: Signal) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// The stacks of perf's file, or of its beginning where enough is read before its end; empty where perf has written
/// none.
fn fold(data: &Path, is_enough: &(dyn Fn(u64) -> bool + Sync)) -> Result<String, ProfileError> {
    if !data.exists() {
        return Ok(String::new());
    }
    let mut script = Command::new(PERF)
        .args(["script", "--no-inline", "--input"])
        .arg(data)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(not_started)?;
    let stdout = script.stdout.take();
    let folded = stdout.map_or_else(|| Ok(Vec::new()), |it| collapse(it, &script, is_enough));
    let ended = script.wait();
    let folded = folded?;
    ended?;
    Ok(String::from_utf8_lossy(&folded).into_owned())
}

/// Folds what perf says; perf is killed when enough is read.
fn collapse(
    stdout: ChildStdout,
    script: &Child,
    is_enough: &(dyn Fn(u64) -> bool + Sync),
) -> io::Result<Vec<u8>> {
    let (is_over, reading) = (AtomicBool::new(false), Reading::default());
    let mut folded = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                if is_enough(reading.samples.load(Ordering::Relaxed)) {
                    reading.is_cut.store(true, Ordering::Release);
                    signal(script, Signal::KILL);
                    return;
                }
                thread::sleep(NAP);
            }
        });
        let _over = OnDrop(&is_over);
        let samples = BufReader::new(Samples::of(BufReader::new(stdout), &reading));
        Folder::from(Options::default()).collapse(samples, &mut folded)
    })?;
    Ok(folded)
}

/// Sets a flag, also on a panic.
struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// What the samples of a folded line stand for.
fn width_ns(line: &str) -> Option<u64> {
    line.rsplit_once(' ')?.1.parse().ok()
}

fn not_started(error: io::Error) -> ProfileError {
    match error.kind() {
        io::ErrorKind::NotFound => ProfileError::NotFound,
        _ => ProfileError::Io(error),
    }
}
