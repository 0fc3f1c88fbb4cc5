//! Runs a load tool as a process on a separate core.

use std::process::{Command, Output, Stdio};

use nix::sys::resource::{UsageWho, getrusage};

use super::CLIENT_CORE;
use super::tools::{Job, Tool};

/// The result of a valid run of a load tool.
#[derive(Clone, Debug)]
pub struct Run {
    pub requests: u64,
    /// The duration of the load, measured by the tool itself.
    pub seconds: f64,
    /// User and system time of the whole process, including its start and end.
    pub cpu_us: f64,
}

impl Run {
    pub fn rate_per_second(&self) -> f64 {
        self.requests as f64 / self.seconds
    }

    pub fn cpu_us_per_request(&self) -> f64 {
        self.cpu_us / self.requests as f64
    }
}

pub fn run(tool: &Tool, job: &Job<'_>) -> Result<Run, String> {
    let words = (tool.words)(job)?;
    let before = children_cpu_us();
    let output = pinned(CLIENT_CORE, &[], &words, job.seconds)?;
    let cpu_us = children_cpu_us() - before;
    let made = (tool.read)(job, &output)?;
    if made.requests == 0 || made.seconds <= 0.0 {
        return Err("made no requests".into());
    }
    Ok(Run {
        requests: made.requests,
        seconds: made.seconds,
        cpu_us,
    })
}

/// Runs the command `prefix` followed by `words` on these cores and returns its output. `seconds`
/// is the expected duration; a command that takes longer than 20 s plus four times `seconds` is
/// ended.
pub fn pinned(
    cores: &str,
    prefix: &[String],
    words: &[String],
    seconds: u32,
) -> Result<String, String> {
    let limit = 20 + 4 * seconds;
    let output = Command::new("timeout")
        .args(["--foreground", "-k", "1", &limit.to_string()])
        .args(["taskset", "-c", cores])
        .args(prefix)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("timeout (coreutils) cannot be started: {error}"))?;
    printed(&output, limit)
}

fn printed(output: &Output, limit: u32) -> Result<String, String> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    if output.status.code() == Some(124) {
        return Err(format!("did not end within {limit} s"));
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = errors.trim().lines().last().unwrap_or("no error message");
    Err(format!("ended with {}: {last}", output.status))
}

/// Returns the user and system time of all children that this process has waited for, including the
/// children that they waited for in turn.
pub fn children_cpu_us() -> f64 {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0.0, |usage| {
        let micros =
            |time: nix::sys::time::TimeVal| time.tv_sec() as f64 * 1e6 + time.tv_usec() as f64;
        micros(usage.user_time()) + micros(usage.system_time())
    })
}
