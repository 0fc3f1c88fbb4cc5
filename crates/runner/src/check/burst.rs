//! Sends a short burst of concurrent requests, because a gateway that responds correctly to one
//! request at a time may still mix up the responses to several clients.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gatebench_engine::{Control, ErrorKind, Group, Load, Outcome};
use gatebench_model::load::Closed;
use gatebench_model::{Check, Order, ParityCase, Policy, Request, Scenario, Shape, When};
use gatebench_report::format::counted;
use gatebench_store::ParityCaseRecord;
use gatebench_testbed::{DriverError, Interrupt, Running};

use crate::abort::{Abort, Failure};
use crate::parity::proof;
use crate::phase::target;

const NAME: &str = "concurrent requests get the right responses";
/// The tag of the nonces, which differs from the tags of the cases.
const TAG: u16 = 2;
const CONNECTIONS: u32 = 32;
const REQUESTS: u64 = 640;
/// The maximum size of a body in bytes. The burst tests concurrency, not bandwidth.
const BYTES_MAX: u64 = 64 << 10;
/// The time limit for sending all [`REQUESTS`].
const BURST: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(10);

/// Sends the repeatable cases of a scenario in turn, over concurrent keep-alive connections.
/// Returns `None` if no case is repeatable.
pub(super) fn burst(
    scenario: &Scenario,
    running: &Running,
    interrupt: &Interrupt,
) -> Result<Option<ParityCaseRecord>, Abort> {
    let requests = repeatable(scenario);
    if requests.is_empty() {
        return Ok(None);
    }
    let target = target(running.target(), scenario.transport.http2_streams)
        .map_err(|error| Failure::from(&DriverError::from(error)))?;
    let group = Group {
        name: NAME.into(),
        target,
        requests,
        order: Order::InTurn,
        shape: Shape::Closed(Closed {
            requests_max: Some(REQUESTS),
            ..Closed::new(CONNECTIONS)
        }),
        timeout: TIMEOUT,
    };
    let load = Load {
        groups: vec![group],
        data: Arc::default(),
        warm_up: Duration::ZERO,
        measure: BURST,
        drain: TIMEOUT,
        cores: Vec::new(),
        spin: false,
        backend: None,
        trace_tag: Some(TAG),
        shares_clock: true,
        part: None,
        seed: u64::from(TAG),
    };
    let outcome = gatebench_engine::run(&load, &Control::new(1), |_, _| {});
    interrupt.check()?;
    let wrong = outcome.map_or_else(|error| Some(error.to_string()), |it| wrong(&it));
    let failure = wrong.map(|wrong| {
        [
            format!("{REQUESTS} requests of the cases above over {CONNECTIONS} connections"),
            "each response belongs to its request and passes the checks of its case".into(),
            wrong,
        ]
    });
    Ok(Some(proof(NAME, true, failure)))
}

/// Returns the requests of the repeatable cases: those that are also tested after a load, have
/// small bodies, and contain no placeholders. A case whose request has a body but does not reach
/// the upstream is not repeatable. Returns no requests if a rate limit makes responses depend on
/// the number of requests.
fn repeatable(scenario: &Scenario) -> Vec<Request> {
    let mut policies = scenario.routes.iter().flat_map(|route| &route.policies);
    if policies.any(|it| matches!(it, Policy::RateLimit(_) | Policy::RedisRateLimit(_))) {
        return Vec::new();
    }
    let is_repeatable = |case: &&ParityCase| {
        // A gateway may close the connection instead of reading the body of a request that it
        // refuses.
        let is_read = case.reaches_upstream || case.request.body.is_none();
        is_read && case.when == When::Both && is_small(&case.request) && !is_template(&case.request)
    };
    let cases = scenario.parity.iter().filter(is_repeatable);
    cases.map(|case| case.request.clone()).collect()
}

/// Reports whether the request's body, and each body size that a check requires, is at most
/// [`BYTES_MAX`].
fn is_small(request: &Request) -> bool {
    let body = request.body.as_ref().map_or(0, |body| body.bytes().len()) as u64;
    let mut checks = request.checks.iter();
    let is_large = |check: &Check| matches!(check, Check::BodyBytes(bytes) if *bytes > BYTES_MAX);
    body <= BYTES_MAX && !checks.any(is_large)
}

/// Reports whether a load would replace parts of a request that a case sends literally.
fn is_template(request: &Request) -> bool {
    let body = request.body.as_ref().map_or(&[][..], |body| body.bytes());
    let headers = request.headers.values().map(String::as_bytes);
    let mut parts = headers.chain([request.path.as_bytes(), body]);
    parts.any(|part| part.windows(2).any(|pair| pair == b"{{"))
}

/// Describes the wrong and missing responses; `None` if at least one request was completed, and no
/// response was wrong or missing.
fn wrong(outcome: &Outcome) -> Option<String> {
    let counts = &outcome.counts;
    let mut lines = Vec::new();
    if counts.foreign > 0 {
        let responses = counted(counts.foreign, "response");
        lines.push(format!("{responses} that belonged to another request"));
    }
    if counts.responses_failing_checks > 0 {
        let mut failed = BTreeMap::<&str, u64>::new();
        for (check, count) in outcome.checks.iter().zip(&counts.checks_failed) {
            *failed.entry(check).or_default() += count;
        }
        let failed = failed.iter().filter(|(_, count)| **count > 0);
        let failed = failed.map(|(check, count)| format!("{check}: {count}"));
        let responses = counted(counts.responses_failing_checks, "response");
        let failed = Vec::from_iter(failed).join("; ");
        lines.push(format!("{responses} that failed checks ({failed})"));
    }
    for (kind, count) in ErrorKind::ALL.iter().zip(counts.errors) {
        if count > 0 {
            let requests = counted(count, "request");
            lines.push(format!("{requests} without a response ({})", kind.as_str()));
        }
    }
    if counts.completed == 0 && lines.is_empty() {
        lines.push(format!("no response within {BURST:?}"));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}
