//! A request under way, and what has come of its answer.

use gatebench_net::trace::{Nonce, TIMES_HEADER, Times};
use gatebench_net::{http1, http2};

use crate::check::Checks;
use crate::gzip;

/// A body longer than this is not kept for its checks, which then fail: with each answer under way the
/// engine holds no more than this, whatever a server sends.
const BODY_KEPT_MAX_BYTES: usize = 16 * 1024 * 1024;

/// A request under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    /// Number of the route in the load's list.
    pub(crate) route: usize,
    pub(crate) intended_ns: u64,
    pub(crate) sent_ns: u64,
    pub(crate) nonce: Nonce,
    pub(crate) status: u16,
    pub(crate) times: Option<Times>,
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
        }
    }
}

/// The head of an answer, of whichever protocol.
pub(crate) trait Head {
    fn status(&self) -> u16;
    fn field(&self, name: &str) -> Option<&[u8]>;
}

impl Head for http1::Head<'_> {
    fn status(&self) -> u16 {
        self.status()
    }

    fn field(&self, name: &str) -> Option<&[u8]> {
        self.field(name)
    }
}

impl Head for http2::Head<'_> {
    fn status(&self) -> u16 {
        self.status()
    }

    fn field(&self, name: &str) -> Option<&[u8]> {
        self.field(name)
    }
}

/// An exchange and as much of its answer as its checks need.
pub(crate) struct Answer {
    pub(crate) exchange: Exchange,
    /// Numbers of the checks that the answer has failed.
    pub(crate) failed_checks: Vec<usize>,
    body: Vec<u8>,
    /// Whether more has come than is kept.
    is_too_long: bool,
    is_gzip: bool,
}

/// What an answer's memory is cut back to before the next.
const BODY_SPARED_BYTES: usize = 64 * 1024;

impl Answer {
    pub(crate) fn new() -> Self {
        Self {
            exchange: Exchange::new(0, 0, 0, Nonce(0)),
            failed_checks: Vec::new(),
            body: Vec::new(),
            is_too_long: false,
            is_gzip: false,
        }
    }

    /// Forgets the last answer and waits for that of another exchange.
    pub(crate) fn begin(&mut self, exchange: Exchange) {
        self.exchange = exchange;
        self.failed_checks.clear();
        self.body.clear();
        self.body.shrink_to(BODY_SPARED_BYTES);
        self.is_too_long = false;
        self.is_gzip = false;
    }

    pub(crate) fn head(&mut self, head: &impl Head, checks: &Checks, traced: bool) {
        self.exchange.status = head.status();
        if traced {
            self.exchange.times = head.field(TIMES_HEADER).and_then(Times::parse);
        }
        if checks.need_body() {
            let encoding = head.field("content-encoding");
            self.is_gzip = encoding.is_some_and(|it| it.eq_ignore_ascii_case(b"gzip"));
        }
        checks.head(head, |number| self.failed_checks.push(number));
    }

    pub(crate) fn body(&mut self, bytes: &[u8], checks: &Checks) {
        if !checks.need_body() || self.is_too_long {
            return;
        }
        if self.body.len() + bytes.len() > BODY_KEPT_MAX_BYTES {
            self.is_too_long = true;
            self.body = Vec::new();
        } else {
            self.body.extend_from_slice(bytes);
        }
    }

    /// The answer is complete.
    pub(crate) fn end(&mut self, checks: &Checks) {
        if self.is_too_long {
            return checks.fail_body(|number| self.failed_checks.push(number));
        }
        if self.is_gzip {
            self.body = gzip::decoded(&self.body, BODY_KEPT_MAX_BYTES);
        }
        checks.body(&self.body, |number| self.failed_checks.push(number));
    }
}
