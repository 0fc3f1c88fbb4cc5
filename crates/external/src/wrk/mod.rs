//! Translates jobs for wrk, which sends closed loads over HTTP/1.1.

mod output;
mod script;

use std::time::Duration;

use crate::job::{Job, Limits, ONLY_OURS, Order, OrderFile, Refusal};

pub use output::UNCHECKED_RESPONSES;
pub(crate) use output::parse;

const SCRIPT_FILE: &str = "scenario.lua";

/// Returns the arguments for wrk, and a script that contains the requests or runs the user's
/// script.
pub(crate) fn translate(job: &Job<'_>) -> Result<Order, Refusal> {
    let closed = job.plain_closed("wrk")?;
    let mut limits = Limits::default();
    let script = match job.script {
        Some(own) => {
            limits.express("the scenario's requests and checks: the script has its own");
            limits.measure("checks and status classes: wrk does not count them when a user's script makes the requests");
            script::around(own)
        }
        None => script::of(job, &mut limits)?,
    };
    let length = job.length();
    let seconds = whole_seconds(length);
    if Duration::from_secs(seconds) != length {
        limits.express(format!(
            "a duration of {length:?}: wrk accepts only whole seconds, so it runs for {seconds} s"
        ));
    }
    let timeout = whole_seconds(job.phase.timeout.0);
    if Duration::from_secs(timeout) != job.phase.timeout.0 {
        limits.express(format!(
            "a request timeout of {}: wrk accepts only whole seconds, so it waits {timeout} s",
            job.phase.timeout
        ));
    }
    limits.express("the wait for the last responses: wrk drops requests in flight at the end");
    limits.measure(
        "uncorrected latency: wrk adds synthetic samples for each request that took more than twice the average time",
    );
    limits.measure(ONLY_OURS);
    limits.measure("bytes sent, and the number of requests without a response");
    let connections = closed.connections;
    let threads = threads(job.threads_for(connections), connections);
    if (threads as usize) < job.threads {
        limits.express(format!(
            "{} threads: wrk opens the same number of connections in each, so the {connections} connections run on {threads}",
            job.threads
        ));
    }
    let options = format!(
        "--threads {threads} --connections {connections} --duration {seconds}s --timeout {timeout}s \
         --script {SCRIPT_FILE}"
    );
    let arguments = options.split(' ').chain([job.url]).map(String::from);
    Ok(Order {
        arguments: arguments.collect(),
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

/// Returns the largest number of threads up to `most` that can share the connections evenly. wrk
/// opens the same number of connections in each thread and drops the rest.
fn threads(most: u32, connections: u32) -> u32 {
    let mut numbers = (1..=most).rev();
    let even = numbers.find(|threads| connections.is_multiple_of(*threads));
    even.unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_all_connections_evenly() {
        for (most, connections, expected) in
            [(4, 64, 4), (4, 6, 3), (4, 7, 1), (4, 2, 2), (0, 2, 1)]
        {
            assert_eq!(threads(most, connections), expected);
        }
    }

    #[test]
    fn seconds_are_whole_and_at_least_one() {
        for (ms, seconds) in [(300, 1), (3_000, 3), (3_001, 4), (0, 1)] {
            assert_eq!(whole_seconds(Duration::from_millis(ms)), seconds);
        }
    }
}
