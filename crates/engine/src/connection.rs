//! One connection of the engine and the exchange under way on it.

use std::net::IpAddr;

use gatebench_net::http1::{Decoder, Event, Limits, ProtocolError};

use crate::answer::{Answer, Exchange};
use crate::check::Checks;
use crate::http2::Http2;
use crate::kept_body::Allowance;
use crate::layer::Layer;

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

pub(crate) struct Connection {
    /// Number of its group.
    pub(crate) group: usize,
    pub(crate) state: State,
    pub(crate) answer: Answer,
    /// The request's bytes while they are not with the kernel, and which route they hold.
    pub(crate) buffer: Option<Vec<u8>>,
    pub(crate) buffer_holds: Option<(usize, Last)>,
    /// Between HTTP and the socket; nothing where bytes go as they are.
    pub(crate) layer: Option<Box<Layer>>,
    /// Its streams, where it speaks HTTP/2; what else is said of requests here is then not used.
    pub(crate) http2: Option<Box<Http2>>,
    /// Whether its answer is complete and its request has not left whole: it is not idle before.
    pub(crate) waits_to_send: bool,
    /// Whether it takes no further request, since there are too many of them.
    pub(crate) leaving: bool,
    /// The local address it was made from, where one was asked for.
    pub(crate) source: Option<IpAddr>,
    /// When it was asked for.
    pub(crate) begun_ns: u64,
    /// Requests begun on it.
    pub(crate) requests: u64,
    decoder: Decoder,
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
    pub(crate) fn new(
        group: usize,
        source: Option<IpAddr>,
        begun_ns: u64,
        allowance: Allowance,
    ) -> Self {
        Self {
            group,
            state: State::Connecting,
            answer: Answer::new(allowance),
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

    /// Begins an exchange.
    pub(crate) fn begin(&mut self, exchange: Exchange, is_head: bool) {
        self.state = State::Busy;
        self.answer.begin(exchange);
        self.requests += 1;
        self.decoder.expect(is_head);
    }

    /// Takes bytes of the answer.
    pub(crate) fn receive(
        &mut self,
        mut input: &[u8],
        checks: &Checks,
        traced: bool,
    ) -> Result<Progress, ProtocolError> {
        while let Some(event) = self.decoder.next(&mut input)? {
            match event {
                Event::Informational(_) => {}
                Event::Head(head) => self.answer.head(&head, checks, traced),
                Event::Body(bytes) => self.answer.body(bytes, checks),
                Event::End => {
                    self.answer.end(checks);
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
        self.answer.end(checks);
        Ok(Progress::Complete)
    }

    /// Whether all that was written has been taken by the kernel.
    pub(crate) fn has_sent(&self) -> bool {
        self.buffer.is_some() && self.layer.as_ref().is_none_or(|it| it.has_sent())
    }

    /// Whether another request may follow on this connection.
    pub(crate) fn keep_alive(&self) -> bool {
        self.decoder.keep_alive()
    }
}
