//! Sends a request to a newly started gateway, to detect its first correct response.

use std::cell::Cell;

use gatebench_model::Request;
use gatebench_net::clock;
use gatebench_net::trace::Nonce;
use gatebench_testbed::{Interrupt, Wire};

use crate::http_probe::send;

/// The statuses that are correct if a request has no checks.
const SUCCESS: std::ops::Range<u16> = 200..300;

/// Detects the first response that passes the checks of the load's first request.
#[derive(Debug)]
pub(crate) struct Opening<'a> {
    request: &'a Request,
    tag: u16,
    interrupt: &'a Interrupt,
    sequence: Cell<u64>,
    /// The time on `CLOCK_MONOTONIC` at which the last attempt ended, in nanoseconds.
    responded_at_ns: Cell<u64>,
}

impl<'a> Opening<'a> {
    pub(crate) fn new(request: &'a Request, tag: u16, interrupt: &'a Interrupt) -> Self {
        Self {
            request,
            tag,
            interrupt,
            sequence: Cell::new(0),
            responded_at_ns: Cell::new(0),
        }
    }

    /// Sends the request on a new connection. Returns the reason why the response is not correct;
    /// `None` if it is correct.
    pub(crate) fn ask(&self, wire: &Wire) -> Option<String> {
        let nonce = Nonce::new(self.tag, 0, self.sequence.get());
        self.sequence.set(self.sequence.get() + 1);
        let response = send(wire, self.request, Some(nonce), self.interrupt);
        self.responded_at_ns.set(clock::now_ns());
        let response = match response {
            Ok(response) => response,
            Err(error) => return Some(error.to_string()),
        };
        let (checks, status) = (&self.request.checks, response.status);
        let expected = response.failed_checks(checks).join(" and ");
        let is_wrong = checks.is_empty() && !SUCCESS.contains(&status);
        match expected.is_empty() {
            true => is_wrong.then(|| format!("status {status}")),
            false => Some(format!("status {status}, expected: {expected}")),
        }
    }

    pub(crate) fn responded_at_ns(&self) -> u64 {
        self.responded_at_ns.get()
    }
}

#[cfg(test)]
mod tests {
    use gatebench_model::Check;

    use super::*;
    use crate::http_probe::tests::server;

    fn result(status: &str, checks: Vec<Check>) -> Option<String> {
        let response = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok").leak();
        let (address, server) = server(vec![response.as_bytes()]);
        let mut request = Request::new("GET", "/");
        request.checks = checks;
        let interrupt = Interrupt::new();
        let opening = Opening::new(&request, 1, &interrupt);
        let before_ns = clock::now_ns();
        let result = opening.ask(&Wire::plain(address));
        assert!((before_ns..=clock::now_ns()).contains(&opening.responded_at_ns()));
        server.join().unwrap();
        result
    }

    #[test]
    fn a_response_that_passes_all_checks_is_correct() {
        let checks = || vec![Check::Status(200), Check::BodyEquals("ok".into())];
        assert_eq!(result("200 OK", checks()), None);
        let early = result("404 Not Found", checks()).unwrap();
        assert!(early.starts_with("status 404, expected: "), "{early}");
        let wrong = vec![Check::BodyEquals("no".into())];
        let wrong = result("200 OK", wrong).unwrap();
        assert_eq!(wrong, "status 200, expected: body is 'no'");
    }

    #[test]
    fn without_checks_a_success_is_correct() {
        assert_eq!(result("202 Accepted", Vec::new()), None);
        let error = result("503 Service Unavailable", Vec::new()).unwrap();
        assert_eq!(error, "status 503");
    }
}
