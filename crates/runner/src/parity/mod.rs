//! Tests the behavior of a gateway: the cases of its scenario before and after a load, the
//! distribution of requests among targets, the forwarding of incomplete messages, and the time
//! until a change takes effect.
//!
//! This module must not depend on trials or phases: a [`Place`] contains the addresses.

pub(crate) mod buffering;
mod load_balancing;
pub(crate) mod propagation;

use std::collections::BTreeMap;
use std::io;
use std::thread;
use std::time::Duration;

use gatebench_model::{ParityCase, Request, Route, Scenario, When};
use gatebench_net::trace::Nonce;
use gatebench_net::workers::joined;
use gatebench_store::{ParityCaseRecord, ParityRecord};
use gatebench_testbed::{Interrupt, Wire};
use gatebench_upstream::Snapshot;

use crate::abort::Abort;
use crate::http_probe::{RESPONSE_TIMEOUT, Response, exchange, render, send, shorten};
use crate::ledger;
use crate::numbers::count;

/// The maximum number of characters that are kept of each message of a failed case.
const SHOWN_CHARS: usize = 2_000;
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// The number of threads that send requests to routes. Sequential requests to thousands of routes
/// would take too long.
const ASKERS: usize = 8;
/// Statuses from a gateway that lacks the route, or has no connection to the upstream.
const NO_ROUTE: [u16; 4] = [404, 502, 503, 504];

pub(crate) struct Place<'a> {
    pub(crate) target: Wire,
    /// The targets of the upstream with their ledgers, followed by the scenario's additional
    /// upstreams; empty for the user's own upstream. In that case, only the upstream's times in a
    /// response show that the request reached the upstream.
    pub(crate) upstream: Vec<Wire>,
    /// The tag of the nonces.
    pub(crate) tag: u16,
    /// True for the proof after the load.
    pub(crate) is_after: bool,
    /// True if the user configured the gateway. The gateway may then have other routes, so cases
    /// that are on none of the scenario's routes are skipped.
    pub(crate) is_attached: bool,
    pub(crate) interrupt: &'a Interrupt,
}

/// `failure` contains what was sent, expected and received.
pub(crate) fn proof(
    name: impl Into<String>,
    reached_upstream: bool,
    failure: Option<[String; 3]>,
) -> ParityCaseRecord {
    let passed = failure.is_none();
    let [sent, expected, received] = failure.unwrap_or_default();
    ParityCaseRecord {
        name: name.into(),
        passed,
        reached_upstream,
        sent,
        received,
        expected,
    }
}

/// Runs the scenario's cases against a gateway, and counts the routes that respond to one request
/// each. `samples` are the load's requests. The proof stops at the first case without a response,
/// because every further case would wait for the timeout if the gateway hangs.
///
/// A route responds if a request on it reaches the upstream, or if the gateway itself responds with
/// a status other than 404, 502, 503 or 504. A refusal by a policy shows that the route exists.
pub(crate) fn prove(
    scenario: &Scenario,
    samples: &[Request],
    place: &Place<'_>,
) -> Result<ParityRecord, Abort> {
    let due = scenario
        .parity
        .iter()
        .filter(|case| !place.is_after || case.when == When::Both)
        .filter(|case| !place.is_attached || scenario.route_of(&case.request.path).is_some());
    let mut prover = Prover::new(place)?;
    let mut record = ParityRecord {
        routes_expected: count(scenario.routes.len()),
        ..ParityRecord::default()
    };
    for case in due {
        let (proof, answered) = prover.prove(case)?;
        record.cases.push(proof);
        if !answered {
            return Ok(record);
        }
    }
    if scenario.transport.http2_streams.is_some() {
        record.cases.push(agreed_on_http2(&place.target));
    }
    // After the load, the gateway may still avoid some targets for a while.
    if !place.is_after {
        record
            .cases
            .extend(load_balancing::prove(scenario, samples, place)?);
    }
    record.routes_answering = prover.routes_answering(&one_for_each_route(scenario, samples))?;
    Ok(record)
}

/// Returns one request for each route: a known request on the route, or otherwise a GET of its
/// path.
fn one_for_each_route(scenario: &Scenario, samples: &[Request]) -> Vec<Request> {
    let known = requests_of_routes(scenario, samples);
    let request = |route: &Route| match known.get(route.name.as_str()) {
        Some(request) => (*request).clone(),
        None => Request::new("GET", &route.path),
    };
    scenario.routes.iter().map(request).collect()
}

/// Returns the first request on each route, preferring the load's requests to the requests of the
/// cases. The route of each request is looked up, not the requests of each route, because there may
/// be thousands of routes.
fn requests_of_routes<'a>(
    scenario: &'a Scenario,
    samples: &'a [Request],
) -> BTreeMap<&'a str, &'a Request> {
    let cases = scenario.parity.iter().map(|case| &case.request);
    let mut first = BTreeMap::new();
    for request in samples.iter().chain(cases) {
        if let Some(route) = scenario.route_of(&request.path) {
            first.entry(route.name.as_str()).or_insert(request);
        }
    }
    first
}

/// Checks HTTP/2 separately, because the load uses HTTP/2 and the cases use HTTP/1.1.
fn agreed_on_http2(target: &Wire) -> ParityCaseRecord {
    let agreed = target.agrees_on_http2(HANDSHAKE_TIMEOUT);
    let received = match agreed {
        Ok(true) => None,
        Ok(false) => Some("no protocol is negotiated".into()),
        Err(error) => Some(error.to_string()),
    };
    let sent = || "a TLS handshake that offers h2".into();
    let failure = received.map(|received| [sent(), "h2 is negotiated".into(), received]);
    proof("HTTP/2 is negotiated by ALPN", false, failure)
}

/// Sends each of `requests` to the upstream, directly or through the null gateway. There are no
/// policies to prove, but the responses must pass the checks of their requests.
pub(crate) fn prove_direct(requests: &[Request], place: &Place<'_>) -> Result<ParityRecord, Abort> {
    let mut prover = Prover::new(place)?;
    let mut record = ParityRecord::default();
    for request in requests {
        let name = format!(
            "the upstream itself responds to {} {}",
            request.method, request.path
        );
        let case = ParityCase {
            name,
            request: request.clone(),
            reaches_upstream: true,
            upstream_body_bytes: None,
            when: When::Both,
        };
        let (proof, answered) = prover.prove(&case)?;
        record.cases.push(proof);
        if !answered {
            break;
        }
    }
    Ok(record)
}

/// Describes the first failure; `None` if nothing failed.
pub(crate) fn failure(record: &ParityRecord) -> Option<String> {
    if let Some(case) = record.cases.iter().find(|case| !case.passed) {
        return Some(format!(
            "the parity case '{}' fails\nsent:\n{}\nexpected:\n{}\nreceived:\n{}",
            case.name,
            indented(&case.sent),
            indented(&case.expected),
            indented(&case.received)
        ));
    }
    let (answering, expected) = (record.routes_answering, record.routes_expected);
    (answering < expected).then(|| format!("only {answering} of {expected} routes respond"))
}

fn indented(text: &str) -> String {
    text.trim_end()
        .lines()
        .map(|line| format!("  {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

struct Prover<'a> {
    place: &'a Place<'a>,
    sequence: u64,
    ledger: Option<Snapshot>,
    /// The number of requests that, according to their responses, have reached the upstream since
    /// the ledger was read.
    known: u64,
}

impl<'a> Prover<'a> {
    fn new(place: &'a Place<'a>) -> Result<Self, Abort> {
        Ok(Self {
            place,
            sequence: 0,
            ledger: ledger::read(&place.upstream, place.interrupt)?,
            known: 0,
        })
    }

    /// Runs a case. Returns its record, and whether there was a response.
    fn prove(&mut self, case: &ParityCase) -> Result<(ParityCaseRecord, bool), Abort> {
        let before = self.body_bytes_seen(case)?;
        let (mut sent, mut response, mut reached) = self.ask(&case.request)?;
        if reached && !case.reaches_upstream && self.place.is_after {
            // The ledger may have counted a late request of the load, so the request is sent again.
            (sent, response, reached) = self.ask(&case.request)?;
        }
        let mut expected = match &response {
            Ok(response) => response.failed_checks(&case.request.checks),
            Err(_) => vec!["a complete response".into()],
        };
        if response.is_ok() && reached != case.reaches_upstream {
            let not = if case.reaches_upstream { "" } else { "not " };
            expected.push(format!("the request does {not}reach the upstream"));
        }
        let seen = self.body_bytes_seen(case)?.zip(before);
        let seen = seen.map(|(after, before)| after.saturating_sub(before));
        if let Some((seen, wanted)) = seen.zip(case.upstream_body_bytes)
            && seen != wanted
        {
            expected.push(format!(
                "the upstream receives a body of {wanted} bytes, not {seen}"
            ));
        }
        let failure = (!expected.is_empty()).then(|| {
            let sent = shorten(&String::from_utf8_lossy(&sent), SHOWN_CHARS);
            [sent, expected.join("\n"), received(&response)]
        });
        let record = proof(&case.name, reached, failure);
        Ok((record, response.is_ok()))
    }

    /// Returns the number of routes that respond to these requests, one for each route. [`ASKERS`]
    /// threads send the requests; those without proof that they reached the upstream are then
    /// repeated sequentially.
    fn routes_answering(&mut self, requests: &[Request]) -> Result<u32, Abort> {
        let first = self.sequence;
        self.sequence += requests.len() as u64;
        let part = requests.len().div_ceil(ASKERS).max(1);
        let came_back: Vec<bool> = thread::scope(|scope| {
            let parts = requests.chunks(part).zip((first..).step_by(part));
            let asking: Vec<_> = parts
                .map(|(part, from)| {
                    let place = self.place;
                    scope.spawn(move || {
                        let numbered = part.iter().zip(from..);
                        let asked = numbered.map(|(request, number)| {
                            !place.interrupt.is_raised() && comes_back(place, request, number)
                        });
                        asked.collect::<Vec<bool>>()
                    })
                })
                .collect();
            asking.into_iter().flat_map(joined).collect()
        });
        let mut answering = came_back.iter().filter(|came| **came).count();
        self.known += answering as u64;
        let others = requests.iter().zip(&came_back).filter(|(_, came)| !**came);
        for (request, _) in others {
            let (_, response, reached) = self.ask(request)?;
            let responses = || response.is_ok_and(|it| !NO_ROUTE.contains(&it.status));
            answering += usize::from(reached || responses());
        }
        Ok(count(answering))
    }

    /// Sends a request with a new nonce. Returns the bytes sent, the response, and whether the
    /// request reached the upstream.
    fn ask(&mut self, request: &Request) -> Result<(Vec<u8>, io::Result<Response>, bool), Abort> {
        let nonce = Nonce::new(self.place.tag, 0, self.sequence);
        self.sequence += 1;
        let host = self.place.target.address.to_string();
        let sent = render(request, &host, Some(nonce));
        let response = exchange(
            &self.place.target,
            &sent,
            request.method == "HEAD",
            self.place.interrupt,
        );
        self.place.interrupt.check()?;
        let came_back = response
            .as_ref()
            .is_ok_and(|response| response.times.is_some_and(|times| times.nonce == nonce));
        let reached = if came_back {
            // Not reading the ledger saves time with thousands of routes.
            self.known += 1;
            true
        } else {
            self.reached_unseen()?
        };
        Ok((sent, response, reached))
    }

    /// Returns the total size of the request bodies that the upstream has received, if the case
    /// checks it and the upstream has a ledger.
    fn body_bytes_seen(&self, case: &ParityCase) -> Result<Option<u64>, Abort> {
        if case.upstream_body_bytes.is_none() {
            return Ok(None);
        }
        let ledger = ledger::read(&self.place.upstream, self.place.interrupt)?;
        Ok(ledger.map(|ledger| ledger.body_bytes))
    }

    /// Reports whether more requests reached the upstream than the responses show.
    fn reached_unseen(&mut self) -> Result<bool, Abort> {
        let after = ledger::read(&self.place.upstream, self.place.interrupt)?;
        let Some((before, after)) = self.ledger.as_mut().zip(after) else {
            return Ok(false);
        };
        let seen = ledger::nonces_seen(before, &after) > self.known;
        *before = after;
        self.known = 0;
        Ok(seen)
    }
}

/// Sends a request, and reports whether the response shows that the request reached the upstream.
fn comes_back(place: &Place<'_>, request: &Request, number: u64) -> bool {
    let nonce = Nonce::new(place.tag, 0, number);
    let response = send(&place.target, request, Some(nonce), place.interrupt);
    response.is_ok_and(|it| it.times.is_some_and(|times| times.nonce == nonce))
}

fn received(response: &io::Result<Response>) -> String {
    match response {
        Ok(response) => response.text(SHOWN_CHARS),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            format!("no complete response within {RESPONSE_TIMEOUT:?}")
        }
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the connection was closed without a response".into()
        }
        Err(error) => format!("no response: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_the_load_take_precedence_over_those_of_cases() {
        let text = "{scenario: s, title: t, upstream: ping, \
                    routes: [{repeat: 3, name: 'r{{ index }}', path: '/r{{ index }}'}], \
                    requests: [{path: /r2/ping}], \
                    parity: [{name: a, request: {path: /r2}, reaches_upstream: true}, \
                             {name: b, request: {path: /r3/x}, reaches_upstream: true}]}";
        let scenario: Scenario = gatebench_config::parse("s.yaml", text).unwrap();
        let known = requests_of_routes(&scenario, &scenario.requests);
        let paths: Vec<_> = known
            .iter()
            .map(|(name, it)| (*name, it.path.as_str()))
            .collect();
        assert_eq!(paths, [("r2", "/r2/ping"), ("r3", "/r3/x")]);
    }

    #[test]
    fn a_failure_shows_both_sides() {
        let case = ParityCaseRecord {
            name: "no key is refused".into(),
            sent: "GET / HTTP/1.1\n\n".into(),
            expected: "status is 401".into(),
            received: "HTTP/1.1 200 OK\n\n".into(),
            ..ParityCaseRecord::default()
        };
        let mut record = ParityRecord {
            cases: vec![case],
            ..ParityRecord::default()
        };
        let expected = "the parity case 'no key is refused' fails\nsent:\n  GET / HTTP/1.1\nexpected:\n  status is 401\n\
                        received:\n  HTTP/1.1 200 OK";
        assert_eq!(failure(&record).as_deref(), Some(expected));
        record.cases[0].passed = true;
        assert_eq!(failure(&record), None);
        record.routes_expected = 2;
        assert_eq!(
            failure(&record).as_deref(),
            Some("only 0 of 2 routes respond")
        );
    }
}
