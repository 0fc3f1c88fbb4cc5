//! Runs a load tool and reads its figures.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::case::{Job, WARM_UP_SECONDS};
use crate::CLIENT_CORE;
use crate::programs::Programs;

/// The quantiles that a tool prints of the response times or of the lateness, in nanoseconds;
/// `None` for a quantile that it does not print.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p99: Option<f64>,
    pub p99_9: Option<f64>,
    pub max: Option<f64>,
}

/// The figures that gatebench prints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    pub times: Times,
    pub lateness: Times,
    /// Requests with a response.
    pub completed: u64,
    /// The number of errors of all kinds.
    pub failed: u64,
    /// Arrivals that were never sent.
    pub dropped: u64,
    /// The largest number of arrivals that waited for a connection at the same time.
    pub queued_max: u64,
    /// The share of the time during which the engine was ready to run but had no core.
    pub waited_share: f64,
}

impl Said {
    pub fn sent(&self) -> u64 {
        self.completed + self.failed
    }
}

/// Runs `gatebench load` for a job and returns its figures. Flags that the job does not set keep
/// their defaults.
pub fn gatebench(programs: &Programs, url: &str, job: &Job) -> Result<Said, String> {
    // The exit code is ignored, because the output shows failed requests and dropped arrivals.
    read_gatebench(&output(&mut at_rate(programs, url, job))?)
}

fn at_rate(programs: &Programs, url: &str, job: &Job) -> Command {
    let mut command = Command::new(&programs.gatebench);
    command.args(["load", "--json", "--rate", &job.rate_per_second.to_string()]);
    command.args(["-d", &format!("{}s", job.seconds)]);
    if job.warm_up_seconds != WARM_UP_SECONDS {
        command.args(["--warm-up", &format!("{}s", job.warm_up_seconds)]);
    }
    if let Some(connections) = job.connections {
        command.args(["-c", &connections.to_string()]);
    }
    command.arg(url);
    command
}

/// Sends requests on one connection without a pause, and returns the median response time in
/// nanoseconds.
pub fn gatebench_closed(programs: &Programs, url: &str, seconds: u64) -> Result<f64, String> {
    let mut command = Command::new(&programs.gatebench);
    command.args([
        "load",
        "--json",
        "-c",
        "1",
        "-d",
        &format!("{seconds}s"),
        url,
    ]);
    let said = read_gatebench(&output(&mut command)?)?;
    said.times
        .p50
        .ok_or_else(|| "gatebench printed no median".into())
}

fn read_gatebench(text: &str) -> Result<Said, String> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| format!("gatebench load printed no JSON ({error}): {text}"))?;
    let kinds = value["errors"]
        .as_object()
        .ok_or("gatebench load printed no errors")?;
    let errors = kinds.values().filter_map(Value::as_u64).sum();
    let count = |name: &str| {
        let number = value[name].as_u64();
        number.ok_or_else(|| format!("gatebench load printed no '{name}': {text}"))
    };
    Ok(Said {
        times: times(&value["response_time_ns"]),
        lateness: times(&value["lateness_ns"]),
        completed: count("completed")?,
        failed: errors,
        dropped: count("dropped")?,
        queued_max: count("queued_max")?,
        waited_share: value["engine"]["run_queue_wait_share"]
            .as_f64()
            .unwrap_or(0.0),
    })
}

fn times(value: &Value) -> Times {
    let of = |name: &str| value[name].as_f64();
    Times {
        p50: of("p50"),
        p90: of("p90"),
        p99: of("p99"),
        p99_9: of("p99_9"),
        max: of("max"),
    }
}

/// Runs a program on the core of the load tools and returns its output, regardless of its exit
/// code. It is an error if the program prints nothing.
pub fn output(command: &mut Command) -> Result<String, String> {
    let mut pinned = Command::new("taskset");
    pinned.args(["-c", CLIENT_CORE]).arg(command.get_program());
    pinned.args(command.get_args());
    let output = pinned
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("taskset cannot be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if text.trim().is_empty() {
        let program = command.get_program().display();
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "{program} printed nothing; {}: {errors}",
            output.status
        ));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_output_is_read() {
        let text = r#"{"completed": 990, "errors": {"reset": 9, "timeout": 1}, "dropped": 3, "queued_max": 4,
            "response_time_ns": {"p50": 1000, "p99_9": null}, "lateness_ns": {"p99": 20},
            "engine": {"run_queue_wait_share": 0.25}}"#;
        let said = read_gatebench(text).unwrap();
        assert_eq!((said.completed, said.failed, said.dropped), (990, 10, 3));
        assert_eq!((said.queued_max, said.waited_share), (4, 0.25));
        assert_eq!((said.times.p50, said.times.p99_9), (Some(1_000.0), None));
        assert_eq!((said.lateness.p99, said.sent()), (Some(20.0), 1_000));
        assert!(read_gatebench("{}").is_err() && read_gatebench("usage").is_err());
    }
}
