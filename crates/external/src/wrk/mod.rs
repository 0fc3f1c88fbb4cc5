//! wrk: closed loads over HTTP/1.1.

mod output;
mod script;

use std::time::Duration;

use crate::job::{Job, Limits, Order, OrderFile, Refusal};

pub use output::UNCHECKED_RESPONSES;
pub(crate) use output::parse;

/// The name of the script for wrk.
const SCRIPT_FILE: &str = "scenario.lua";

/// Returns the arguments and files of wrk: the requests as a script, the other settings as
/// arguments.
pub(crate) fn translate(job: &Job<'_>) -> Result<Order, Refusal> {
    let closed = job.plain_closed("wrk")?;
    let mut limits = Limits::default();
    let script = match job.script {
        Some(own) => {
            limits.express("the scenario's requests and checks: the script has its own");
            limits.measure("checks and status classes: wrk does not count for a script");
            script::around(own)
        }
        None => script::of(job, &mut limits)?,
    };
    let seconds = whole_seconds(job.length());
    if Duration::from_secs(seconds) != job.length() {
        limits.express(format!(
            "{:?}: wrk measures whole seconds, so it became {seconds} s",
            job.length()
        ));
    }
    let timeout = whole_seconds(job.phase.timeout.0);
    limits.express("the wait for the last responses: wrk drops requests in flight at the end");
    limits.measure(
        "latency as measured: wrk adds synthetic values for each response that took longer than usual",
    );
    limits
        .measure("response times by status class, lateness, added latency, and results per second");
    limits.measure("bytes sent, and the number of requests without a response");
    let connections = closed.connections;
    let threads = threads(job.threads, connections);
    if (threads as usize) < job.threads {
        limits.express(format!(
            "{} threads: wrk opens the same number of connections in each, so {connections} run on {threads}",
            job.threads
        ));
    }
    let arguments = [
        "--threads".into(),
        threads.to_string(),
        "--connections".into(),
        connections.to_string(),
        "--duration".into(),
        format!("{seconds}s"),
        "--timeout".into(),
        format!("{timeout}s"),
        "--script".into(),
        SCRIPT_FILE.into(),
        job.url.into(),
    ];
    Ok(Order {
        arguments: arguments.to_vec(),
        files: vec![OrderFile {
            name: SCRIPT_FILE,
            bytes: script.into_bytes(),
        }],
        environment: job.environment(),
        takes: Duration::from_secs(seconds),
        limits,
    })
}

fn whole_seconds(length: Duration) -> u64 {
    (length.as_secs() + u64::from(length.subsec_nanos() > 0)).max(1)
}

/// Returns the largest number of threads that can share the connections evenly, because wrk opens
/// the same number of connections in each and drops the rest.
fn threads(most: usize, connections: u32) -> u32 {
    let most = u32::try_from(most)
        .unwrap_or(u32::MAX)
        .clamp(1, connections.max(1));
    (1..=most)
        .rev()
        .find(|threads| connections.is_multiple_of(*threads))
        .unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_connection_is_forgotten() {
        assert_eq!(threads(4, 64), 4);
        assert_eq!(threads(4, 6), 3);
        assert_eq!(threads(4, 7), 1);
        assert_eq!(threads(4, 2), 2);
        assert_eq!(threads(0, 2), 1);
    }

    #[test]
    fn seconds_are_whole_and_at_least_one() {
        assert_eq!(whole_seconds(Duration::from_millis(300)), 1);
        assert_eq!(whole_seconds(Duration::from_secs(3)), 3);
        assert_eq!(whole_seconds(Duration::from_millis(3_001)), 4);
        assert_eq!(whole_seconds(Duration::ZERO), 1);
    }
}
