//! A connection of the engine and its current exchange.

use std::net::IpAddr;

use gatebench_net::http1::{Decoder, Event, Limits, ProtocolError};

use crate::check::Checks;
use crate::http2::Http2;
use crate::kept_body::Allowance;
use crate::layer::Layer;
use crate::response::{Exchange, Response};

/// True if a request announces that it is the last on its connection.
pub(crate) type Last = bool;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Requests cannot be sent yet, for example because the TLS handshake is not complete.
    Connecting,
    Idle,
    Busy,
}

pub(crate) struct Connection {
    pub(crate) group: usize,
    pub(crate) state: State,
    pub(crate) response: Response,
    /// The buffer for requests; `None` while the event loop is sending it.
    pub(crate) buffer: Option<Vec<u8>>,
    /// The route of the request in the buffer, and true if the request is the last on the
    /// connection.
    pub(crate) buffer_holds: Option<(usize, Last)>,
    /// The layer between HTTP and the socket; `None` if bytes pass through unchanged.
    pub(crate) layer: Option<Box<Layer>>,
    /// The streams of an HTTP/2 connection, which does not use `response`, `buffer`, `buffer_holds`
    /// or `decoder`. Once the connection is established, its `state` is `Idle` even while requests
    /// are in flight.
    pub(crate) http2: Option<Box<Http2>>,
    /// True if the response is complete but the request has not been sent completely; the
    /// connection becomes idle only after that.
    pub(crate) waits_to_send: bool,
    /// True if the connection is surplus, so it gets no further request.
    pub(crate) leaving: bool,
    pub(crate) source: Option<IpAddr>,
    /// The time at which the opening of the connection began.
    pub(crate) begun_ns: u64,
    pub(crate) requests: u64,
    decoder: Decoder,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Incomplete,
    Complete,
    /// The response is complete, but it is followed by bytes that no request asked for.
    Excess,
}

impl Connection {
    pub(crate) fn new(
        group: usize,
        source: Option<IpAddr>,
        begun_ns: u64,
        allowance: Allowance,
    ) -> Self {
        Self {
            group,
            state: State::Connecting,
            response: Response::new(allowance),
            buffer: Some(Vec::new()),
            buffer_holds: None,
            layer: None,
            http2: None,
            waits_to_send: false,
            leaving: false,
            source,
            begun_ns,
            requests: 0,
            decoder: Decoder::responses(Limits::default()),
        }
    }

    /// `is_head` is true if the response has no body, whatever its headers say.
    pub(crate) fn begin(&mut self, exchange: Exchange, is_head: bool) {
        self.state = State::Busy;
        self.response.begin(exchange);
        self.requests += 1;
        self.decoder.expect(is_head);
    }

    pub(crate) fn receive(
        &mut self,
        mut input: &[u8],
        checks: &Checks,
        traced: bool,
    ) -> Result<Progress, ProtocolError> {
        while let Some(event) = self.decoder.next(&mut input)? {
            match event {
                Event::Informational(_) => {}
                Event::Head(head) => {
                    let field = |name: &str| head.field(name);
                    self.response.head(head.status(), field, checks, traced);
                }
                Event::Body(bytes) => self.response.body(bytes, checks),
                Event::End => {
                    self.response.end(checks);
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

    /// Handles the peer's FIN. Returns `Complete` if it marks the end of a response.
    pub(crate) fn end_of_stream(&mut self, checks: &Checks) -> Result<Progress, ProtocolError> {
        if !self.decoder.end_of_stream()? {
            return Ok(Progress::Incomplete);
        }
        self.response.end(checks);
        Ok(Progress::Complete)
    }

    /// Reports whether the kernel has taken everything that was written.
    pub(crate) fn has_sent(&self) -> bool {
        let is_empty = |layer: &Layer| layer.outbox.pending_bytes() == 0;
        self.buffer.is_some() && self.layer.as_deref().is_none_or(is_empty)
    }

    pub(crate) fn keep_alive(&self) -> bool {
        self.decoder.keep_alive()
    }
}
