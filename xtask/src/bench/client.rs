//! One run of a load tool as a whole process on its own core.

use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};

use super::CLIENT_CORE;

/// What a run of a load tool came to.
pub struct Run {
    pub requests: u64,
    pub rate_per_second: f64,
    /// User and system time of the whole process, start and end included.
    pub cpu_us_per_request: f64,
}

/// Runs a tool to its end. `requests` reads from what it printed how many requests it made.
pub fn run(
    words: &[String],
    environment: &[(&str, &str)],
    requests: fn(&str) -> Option<u64>,
) -> Result<Run, String> {
    let before = children_cpu_us();
    let began = Instant::now();
    let output = Command::new("taskset")
        .args(["-c", CLIENT_CORE])
        .args(words)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("taskset cannot be started: {error}"))?;
    let wall = began.elapsed().as_secs_f64();
    let cpu_us = children_cpu_us() - before;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "{} ended with {}: {errors}",
            words[0], output.status
        ));
    }
    let requests = requests(&text).filter(|count| *count > 0);
    let requests = requests.ok_or_else(|| format!("{} made no requests:\n{text}", words[0]))?;
    Ok(Run {
        requests,
        rate_per_second: requests as f64 / wall,
        cpu_us_per_request: cpu_us / requests as f64,
    })
}

/// User and system time of all children that have ended.
fn children_cpu_us() -> f64 {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0.0, |usage| {
        let micros =
            |time: nix::sys::time::TimeVal| time.tv_sec() as f64 * 1e6 + time.tv_usec() as f64;
        micros(usage.user_time()) + micros(usage.system_time())
    })
}
