//! One connection of the engine and the exchange under way on it.

use gatebench_net::http1::{Decoder, Event, Limits, ProtocolError};
use gatebench_net::trace::{Nonce, TIMES_HEADER, Times};

use crate::check::Checks;
use crate::layer::Layer;

/// A body longer than this is not kept for its checks, which then fail: the engine's memory does not
/// depend on what a server sends.
const BODY_KEPT_MAX_BYTES: usize = 16 * 1024 * 1024;

/// Whether a request says that it is its connection's last.
pub(crate) type Last = bool;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Until requests may be sent: TLS is part of it.
    Connecting,
    Idle,
    /// A request is under way.
    Busy,
}

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

pub(crate) struct Connection {
    /// Number of its group.
    pub(crate) group: usize,
    pub(crate) state: State,
    pub(crate) exchange: Exchange,
    /// Numbers of the checks that the answer under way has failed.
    pub(crate) failed_checks: Vec<usize>,
    /// The request's bytes while they are not with the kernel, and which route they hold.
    pub(crate) buffer: Option<Vec<u8>>,
    pub(crate) buffer_holds: Option<(usize, Last)>,
    /// Between HTTP and the socket; nothing where bytes go as they are.
    pub(crate) layer: Option<Box<Layer>>,
    /// When it was asked for.
    pub(crate) begun_ns: u64,
    /// Requests begun on it.
    pub(crate) requests: u64,
    decoder: Decoder,
    body: Vec<u8>,
}

/// How far an answer has come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Incomplete,
    Complete,
    /// Complete, and followed by bytes that nobody asked for.
    Excess,
}

impl Connection {
    pub(crate) fn new(group: usize, begun_ns: u64) -> Self {
        Self {
            group,
            state: State::Connecting,
            exchange: Exchange::new(0, 0, 0, Nonce(0)),
            failed_checks: Vec::new(),
            buffer: Some(Vec::new()),
            buffer_holds: None,
            layer: None,
            begun_ns,
            requests: 0,
            decoder: Decoder::responses(Limits::default()),
            body: Vec::new(),
        }
    }

    /// Begins an exchange.
    pub(crate) fn begin(&mut self, exchange: Exchange, is_head: bool) {
        self.state = State::Busy;
        self.exchange = exchange;
        self.requests += 1;
        self.failed_checks.clear();
        self.body.clear();
        self.decoder.expect(is_head);
    }

    /// Takes bytes of the answer.
    pub(crate) fn receive(
        &mut self,
        mut input: &[u8],
        checks: &Checks,
        traced: bool,
    ) -> Result<Progress, ProtocolError> {
        let failed = &mut self.failed_checks;
        while let Some(event) = self.decoder.next(&mut input)? {
            match event {
                Event::Informational(_) => {}
                Event::Head(head) => {
                    self.exchange.status = head.status();
                    if traced {
                        self.exchange.times = head.field(TIMES_HEADER).and_then(Times::parse);
                    }
                    checks.head(&head, |number| failed.push(number));
                }
                Event::Body(bytes) => {
                    if checks.need_body() && self.body.len() + bytes.len() <= BODY_KEPT_MAX_BYTES {
                        self.body.extend_from_slice(bytes);
                    }
                }
                Event::End => {
                    checks.body(&self.body, |number| failed.push(number));
                    return Ok(if input.is_empty() {
                        Progress::Complete
                    } else {
                        Progress::Excess
                    });
                }
            }
        }
        Ok(Progress::Incomplete)
    }

    /// The server closed its side. `Complete` where that ends the answer.
    pub(crate) fn end_of_stream(&mut self, checks: &Checks) -> Result<Progress, ProtocolError> {
        if !self.decoder.end_of_stream()? {
            return Ok(Progress::Incomplete);
        }
        let failed = &mut self.failed_checks;
        checks.body(&self.body, |number| failed.push(number));
        Ok(Progress::Complete)
    }

    /// Whether another request may follow on this connection.
    pub(crate) fn keep_alive(&self) -> bool {
        self.decoder.keep_alive()
    }
}
