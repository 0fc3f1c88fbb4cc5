//! A request, and the response that its case prescribes.

use std::ops::Range;

use gatebench_net::Io;
use gatebench_net::trace::{NONCE_HEADER, Nonce, Times};

use super::account::{End, Receipt};
use super::service::Env;
use super::{Case, Service};
use crate::asked::Asked;
use crate::response::{BINARY, Body, HeadOptions, Response};

pub(super) struct Request {
    pub(super) what: What,
    pub(super) nonce: Option<Nonce>,
    pub(super) is_control: bool,
    pub(super) is_head: bool,
    pub(super) keep_alive: bool,
    pub(super) wire_bytes: u64,
}

pub(super) enum What {
    Case(Case),
    /// A response that is sent immediately, with its body: that of a control path, or the error for
    /// an invalid path.
    AtOnce(Response, Vec<u8>),
}

/// A response in progress, as the case prescribes it.
pub(super) struct Job {
    pub(super) receipt: Receipt,
    pub(super) service: Service,
    pub(super) pieces_sent: u64,
}

/// The state before the first request.
impl Default for Request {
    fn default() -> Self {
        Self {
            what: What::AtOnce(Response::default(), Vec::new()),
            nonce: None,
            is_control: false,
            is_head: false,
            keep_alive: true,
            wire_bytes: 0,
        }
    }
}

impl Request {
    pub(super) fn of<I>(env: &Env<'_, '_, I>, asked: &Asked<'_>, is_control: bool) -> Self {
        let what = if is_control {
            let mut body = Vec::new();
            let response = env.origin.control(asked, &mut body);
            What::AtOnce(response, body)
        } else {
            env.counters.begin(asked);
            match Case::parse(asked.path, asked.query) {
                Ok(case) => What::Case(case),
                Err(words) => What::AtOnce(
                    Response {
                        body: Body::Scratch,
                        ..Response::error(404, "")
                    },
                    format!("upstream: {words}\n").into_bytes(),
                ),
            }
        };
        Self {
            what,
            nonce: asked.field(NONCE_HEADER).and_then(Nonce::from_hex),
            is_control,
            is_head: asked.method == "HEAD",
            ..Self::default()
        }
    }

    /// Counts a request that has just become complete, unless its path is a control path.
    pub(super) fn note<I>(&mut self, env: &Env<'_, '_, I>, wire_bytes: u64) {
        if self.is_control {
            return;
        }
        if env.ledger.note(env.counters, self.nonce) {
            // A retry is counted but not timed, because its times are not those of the original
            // request.
            self.nonce = None;
        }
        env.counters.bytes_in.add(wire_bytes);
    }

    pub(super) fn on_connection(&self, head: HeadOptions<'static>) -> HeadOptions<'static> {
        HeadOptions {
            connection: (!self.keep_alive).then_some("close"),
            ..head
        }
    }

    /// Returns the head and the body of an immediate response; `None` if the path names a case.
    pub(super) fn at_once(&self) -> Option<(HeadOptions<'static>, &[u8])> {
        let What::AtOnce(response, scratch) = &self.what else {
            return None;
        };
        let body = match response.body {
            Body::Static(bytes) => bytes,
            _ => &scratch[..],
        };
        let head = HeadOptions {
            length: Some(body.len() as u64),
            ..HeadOptions::of(response)
        };
        Some((head, body))
    }
}

impl Job {
    pub(super) fn begin<I>(env: &Env<'_, '_, I>, case: Case) -> Self {
        let receipt = env.origin.accounts.receive(env.now_ns);
        Self {
            receipt,
            service: case.service(receipt.index, receipt.arrival_ns),
            pieces_sent: 0,
        }
    }

    /// Returns the time at which the next piece is due, by the clock.
    pub(super) fn next_due_ns(&self) -> u64 {
        let begins_ns = self.receipt.received_ns + self.service.begins_ns;
        begins_ns + self.pieces_sent * self.service.piece_every_ns
    }

    /// Returns the range of the body's bytes that are due next. If the response is reset, only the
    /// first half of its body is sent.
    pub(super) fn next_bytes(&self) -> Range<u64> {
        let Service {
            piece_bytes,
            body_bytes,
            is_reset,
            ..
        } = self.service;
        let from = self.pieces_sent * piece_bytes;
        let until = if is_reset {
            body_bytes / 2
        } else {
            (from + piece_bytes).min(body_bytes)
        };
        from..until
    }

    /// Returns the head of the response and its times, which are correct if it is sent at `now_ns`.
    pub(super) fn head(
        &self,
        nonce: Option<Nonce>,
        now_ns: u64,
    ) -> (HeadOptions<'static>, Option<Times>) {
        let received_ns = self.receipt.received_ns;
        let times = nonce.map(|nonce| Times {
            nonce,
            received_ns,
            service_ns: now_ns.saturating_sub(received_ns),
        });
        let response = Response::ok(BINARY, Body::Scratch);
        let head = HeadOptions {
            length: Some(self.service.body_bytes),
            times: times.is_some(),
            ..HeadOptions::of(&response)
        };
        (head, times)
    }

    /// Records a response whose last byte is being sent or whose reset is due.
    pub(super) fn ended<I: Io>(&self, env: &Env<'_, '_, I>) {
        let end = if self.service.is_reset {
            End::Reset
        } else {
            End::Answered(self.service.body_bytes)
        };
        self.account(env, end, env.io.now_ns());
    }

    /// Records a response whose client has disconnected or has canceled the stream.
    pub(super) fn abandoned<I>(&self, env: &Env<'_, '_, I>) {
        self.account(env, End::Abandoned, env.now_ns);
    }

    fn account<I>(&self, env: &Env<'_, '_, I>, end: End, now_ns: u64) {
        let due_ns = self.receipt.received_ns + self.service.ends_ns();
        env.origin.accounts.end(&self.receipt, end, due_ns, now_ns);
    }
}
