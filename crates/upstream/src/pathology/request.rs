//! A request and the answer it will get.

use gatebench_net::Io;
use gatebench_net::http1::Head;
use gatebench_net::trace::{NONCE_HEADER, Nonce, TIMES_BYTES, Times};

use super::account::Receipt;
use super::service::Env;
use super::{Case, Service};
use crate::answer::{Answer, BINARY, Body, HeadOptions, write_head};
use crate::apps::Asked;
use crate::control;

/// What is kept of a request from its head to its end.
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
    /// An answer given at once, from control or for a wrong path, and its body.
    AtOnce(Answer, Vec<u8>),
}

/// An answer under way.
pub(super) struct Job {
    pub(super) receipt: Receipt,
    pub(super) service: Service,
    /// Pieces that have left.
    pub(super) pieces_sent: u64,
}

impl Job {
    /// When the next piece is due.
    pub(super) fn next_due_ns(&self) -> u64 {
        let begins_ns = self.receipt.received_ns + self.service.begins_ns;
        begins_ns + self.pieces_sent * self.service.piece_every_ns
    }

    /// When the last piece, or the reset, is due.
    pub(super) fn ends_due_ns(&self) -> u64 {
        self.receipt.received_ns + self.service.ends_ns()
    }
}

impl Request {
    /// Before the first.
    pub(super) fn none() -> Self {
        Self {
            what: What::AtOnce(Answer::not_found(), Vec::new()),
            nonce: None,
            is_control: false,
            is_head: false,
            keep_alive: true,
            wire_bytes: 0,
        }
    }

    /// Decides at the head. By its first request a connection turns out to be control's; it was
    /// counted when it came and is taken out again.
    pub(super) fn of<I: Io>(
        head: &Head<'_>,
        env: &Env<'_, I>,
        is_controls: &mut Option<bool>,
    ) -> Self {
        let asked = Asked::new(head);
        let is_control = control::is_reserved(asked.path);
        if is_controls.is_none() {
            *is_controls = Some(is_control);
            if is_control {
                env.counters.accepted.take_back(1);
            }
        }
        let what = if is_control {
            let mut body = Vec::new();
            let answer = env
                .shared
                .control(asked.method, asked.path, asked.query, &mut body);
            What::AtOnce(answer, body)
        } else {
            match Case::parse(asked.path, asked.query) {
                Ok(case) => What::Case(case),
                Err(words) => What::AtOnce(
                    Answer {
                        body: Body::Scratch,
                        ..Answer::error(404, "")
                    },
                    format!("upstream: {words}\n").into_bytes(),
                ),
            }
        };
        Self {
            what,
            nonce: head.field(NONCE_HEADER).and_then(Nonce::from_hex),
            is_control,
            is_head: asked.method == "HEAD",
            keep_alive: head.keep_alive() && head.version_minor() > 0,
            wire_bytes: 0,
        }
    }
}

/// Writes the head of a case's answer; its times are right because it leaves at once.
pub(super) fn write_first(out: &mut Vec<u8>, request: &Request, job: &Job, now_ns: u64) {
    let head = HeadOptions {
        status: 200,
        content_type: BINARY.as_bytes(),
        length: job.service.body_bytes,
        allow: None,
        times: request.nonce.is_some(),
        connection: (!request.keep_alive).then_some("close"),
    };
    if let (Some(at), Some(nonce)) = (write_head(out, &head), request.nonce) {
        let received_ns = job.receipt.received_ns;
        let times = Times {
            nonce,
            received_ns,
            service_ns: now_ns.saturating_sub(received_ns),
        };
        let place = &mut out[at..at + TIMES_BYTES];
        times.write(place.try_into().expect("the place is as long as the times"));
    }
}
