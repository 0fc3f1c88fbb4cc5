//! A request in flight, and the part of its response that has been received.

use gatebench_net::trace::{Nonce, TIMES_HEADER, Times};

use crate::check::Checks;
use crate::gzip;
use crate::kept_body::{Allowance, BODY_MAX_BYTES, KeptBody};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    /// The index of the route among the routes of the load.
    pub(crate) route: usize,
    pub(crate) intended_ns: u64,
    pub(crate) sent_ns: u64,
    pub(crate) nonce: Nonce,
    pub(crate) status: u16,
    pub(crate) times: Option<Times>,
    /// The time at which the first byte of the response arrived; `u64::MAX` until then.
    pub(crate) first_byte_ns: u64,
}

impl Exchange {
    pub(crate) fn new(route: usize, intended_ns: u64, sent_ns: u64, nonce: Nonce) -> Self {
        Self {
            route,
            intended_ns,
            sent_ns,
            nonce,
            status: 0,
            times: None,
            first_byte_ns: u64::MAX,
        }
    }

    pub(crate) fn response_ns(&self, now: u64) -> u64 {
        now.saturating_sub(self.intended_ns)
    }
}

/// An exchange, and the part of its response that its checks need.
pub(crate) struct Response {
    pub(crate) exchange: Exchange,
    /// The numbers of the checks that the response has failed.
    pub(crate) failed_checks: Vec<usize>,
    body: KeptBody,
    /// The length of the body as received, even if the body was not kept.
    body_bytes: u64,
    is_gzip: bool,
}

impl Response {
    pub(crate) fn new(allowance: Allowance) -> Self {
        Self {
            exchange: Exchange::new(0, 0, 0, Nonce(0)),
            failed_checks: Vec::new(),
            body: KeptBody::new(allowance),
            body_bytes: 0,
            is_gzip: false,
        }
    }

    pub(crate) fn begin(&mut self, exchange: Exchange) {
        self.exchange = exchange;
        self.failed_checks.clear();
        self.body.clear();
        self.body_bytes = 0;
        self.is_gzip = false;
    }

    /// `field` returns the value of the first field with the given name.
    pub(crate) fn head<'h>(
        &mut self,
        status: u16,
        field: impl Fn(&str) -> Option<&'h [u8]>,
        checks: &Checks,
        traced: bool,
    ) {
        self.exchange.status = status;
        if traced {
            self.exchange.times = field(TIMES_HEADER).and_then(Times::parse);
        }
        if checks.need_body() {
            let encoding = field("content-encoding");
            self.is_gzip = encoding.is_some_and(|it| it.eq_ignore_ascii_case(b"gzip"));
        }
        checks.head(status, field, |number| self.failed_checks.push(number));
    }

    pub(crate) fn body(&mut self, bytes: &[u8], checks: &Checks) {
        self.body_bytes += bytes.len() as u64;
        if checks.need_body() {
            self.body.push(bytes);
        }
    }

    pub(crate) fn end(&mut self, checks: &Checks) {
        let mut failed = |number| self.failed_checks.push(number);
        checks.length(self.body_bytes, &mut failed);
        match self.body.whole() {
            None => checks.fail_body(failed),
            Some(body) if self.is_gzip => {
                checks.body(&gzip::decoded(body, BODY_MAX_BYTES), failed);
            }
            Some(body) => checks.body(body, failed),
        }
        self.body.clear();
    }
}
