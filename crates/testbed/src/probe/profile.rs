//! Finds the functions that processes spend CPU time in, from stacks that perf or a gateway's own
//! profiler sampled.

use std::fs;
use std::io::{self, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use gatebench_model::{Blame, Culprit};
use inferno::collapse::Collapse;
use inferno::collapse::perf::{Folder, Options};
use rustix::process::{Pid, Signal, kill_process};

use self::samples::{Reading, Samples};

mod own;
mod samples;

pub use own::OwnProfiler;

const PERF: &str = "perf";

/// The maximum size of the sample file. perf exits at this size; the samples in the file are then
/// reported.
const DATA_MAX: &str = "4G";

/// The interval between calls of `is_enough`.
const NAP: Duration = Duration::from_millis(10);

/// The value of perf's `--call-graph` that copies the top 16,384 bytes of the stack into each
/// sample, to be unwound later.
const STACK_COPY: &str = "dwarf,16384";

/// A failure of perf or of a gateway's own profiler.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("perf was not found")]
    NotFound,
    /// perf cannot be started, or the output of perf or of the gateway's own profiler cannot be
    /// read.
    #[error("cannot sample the stacks: {0}")]
    Io(#[from] io::Error),
    #[error("perf took no samples: {0}")]
    NoSamples(String),
    #[error("the gateway's own profiler wrote no samples to {}*", .0.display())]
    NoOwnSamples(PathBuf),
}

impl Blame for ProfileError {
    fn culprit(&self) -> Culprit {
        Culprit::Environment
    }

    fn remedy(&self) -> String {
        let remedy = match self {
            Self::NotFound => "install perf: apt-get install linux-perf",
            Self::Io(_) | Self::NoSamples(_) => {
                "unless the message names another cause, allow sampling: run as root, or run \
                 `sysctl kernel.perf_event_paranoid=1`; for a container, also use --security-opt \
                 seccomp=unconfined --cap-add PERFMON"
            }
            Self::NoOwnSamples(_) => {
                "read the gateway's log in the trial's folder, or sample with perf: --stacks dwarf"
            }
        };
        remedy.into()
    }
}

/// The stacks that were sampled, with their CPU time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// A line for each distinct stack: the name of the process or gateway, and the functions from
    /// the outermost inward, separated by semicolons; then the CPU time of its samples, in
    /// nanoseconds.
    pub folded: String,
    pub sampled_ns: u64,
}

/// A running perf process. Dropping it ends perf and removes its file.
#[derive(Debug)]
pub struct Profiler {
    child: Child,
    data: PathBuf,
}

impl Profiler {
    /// Checks that perf is installed and that the kernel lets it sample, by sampling perf itself.
    ///
    /// # Errors
    /// perf is not installed, perf does not start, or the kernel does not let it sample.
    pub fn find() -> Result<(), ProfileError> {
        let version = ["--version"];
        if !output(&version)?.status.success() {
            // In earlier releases of Debian, perf is a script that fails unless the perf for the
            // running kernel is installed.
            return Err(ProfileError::NotFound);
        }
        let record = ["record", "--quiet", "--event", "cpu-clock", "--output", "-"];
        let tried = output(&[&record[..], &["--", PERF], &version].concat())?;
        if tried.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&tried.stderr);
        let refusal = first_line(&said).unwrap_or("it failed without a message");
        Err(ProfileError::NoSamples(refusal.into()))
    }

    /// Samples these processes, including their future threads, at this rate per second of CPU
    /// time. A kernel timer triggers the samples, because a virtual machine may have no other
    /// source. If `is_unwound`, perf copies a part of each stack into the file `data`, to be
    /// unwound later; otherwise, it follows frame pointers.
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
            // Ctrl-C must reach only gatebench, which then ends perf.
            .process_group(0)
            .spawn()
            .map_err(not_started)?;
        Ok(Self {
            child,
            data: data.to_owned(),
        })
    }

    /// Ends the sampling and reads the samples. Reading stack copies is slow, because perf unwinds
    /// each of them. `is_enough` receives the number of samples read so far. Reading ends when it
    /// returns true, and the profile then contains only these earliest samples.
    ///
    /// # Errors
    /// [`ProfileError::NoSamples`] if the kernel rejected perf or the processes used no CPU time;
    /// [`ProfileError::Io`] if perf's output cannot be read.
    pub fn stop(
        mut self,
        is_enough: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<Profile, ProfileError> {
        let said = self.end()?;
        let folded = fold(&self.data, is_enough)?;
        let sampled_ns = folded.lines().filter_map(width_ns).sum();
        if sampled_ns == 0 {
            let why = first_line(&said).unwrap_or("the processes used no CPU time");
            return Err(ProfileError::NoSamples(why.into()));
        }
        Ok(Profile { folded, sampled_ns })
    }

    /// Makes perf write its data, and returns the text that it printed to standard error.
    fn end(&mut self) -> Result<String, ProfileError> {
        // If perf has already ended, the signal has no effect, and perf has printed the reason.
        signal(&self.child, Signal::INT);
        let mut bytes = Vec::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_end(&mut bytes)?;
        }
        self.child.wait()?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        // Neither call has an effect if perf has already ended, which is the usual case.
        let _ = self.child.kill();
        let _ = self.child.wait();
        // The file is no longer needed, and is large if it contains copies of stacks.
        let _ = fs::remove_file(&self.data);
    }
}

/// Sends a signal to a child that has not been waited for, so its process ID cannot have been
/// reused.
fn signal(child: &Child, signal: Signal) {
    let _ = kill_process(Pid::from_child(child), signal);
}

/// Returns the stacks in perf's file, or in its beginning if `is_enough` ended the reading; empty
/// if perf wrote none.
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

/// Folds the samples that perf prints, and kills perf when enough samples are read.
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

struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Returns the CPU time at the end of a folded line, in nanoseconds.
fn width_ns(line: &str) -> Option<u64> {
    line.rsplit_once(' ')?.1.parse().ok()
}

fn output(words: &[&str]) -> Result<Output, ProfileError> {
    let mut perf = Command::new(PERF);
    perf.args(words).stdin(Stdio::null());
    perf.output().map_err(not_started)
}

fn first_line(said: &str) -> Option<&str> {
    said.lines().map(str::trim).find(|line| !line.is_empty())
}

fn not_started(error: io::Error) -> ProfileError {
    match error.kind() {
        io::ErrorKind::NotFound => ProfileError::NotFound,
        _ => ProfileError::Io(error),
    }
}
