//! What each origin answers to which path.

mod anything;
mod calculator;
mod go_bench;
mod gzip;
mod httpbin;

pub(crate) use anything::write_anything;
pub(crate) use calculator::calculate;

use crate::Kind;
use crate::answer::{Answer, Body, TEXT};
use crate::asked::Asked;
use crate::random::Random;
use crate::wall_clock::TimeBodies;

/// The origins but for [`crate::fault_server`], as one worker has them.
pub(crate) struct Apps {
    kind: Kind,
    random: Random,
    pub(crate) time_bodies: TimeBodies,
}

impl Apps {
    pub(crate) fn new(kind: Kind, worker: usize) -> Self {
        Self {
            kind,
            random: Random::new(worker as u64),
            time_bodies: TimeBodies::default(),
        }
    }
}

/// Decides at the head. `scratch` is empty and keeps what the answer will need at the end.
pub(crate) fn answer(apps: &mut Apps, asked: &Asked<'_>, scratch: &mut Vec<u8>) -> Answer {
    let random = &mut apps.random;
    match apps.kind {
        Kind::Ping if asked.path == "/ping" => {
            asked.get(|| Answer::ok("text/plain", Body::Static(b"ok")))
        }
        Kind::Ping => unknown_path(Kind::Ping, scratch),
        Kind::GoBench => go_bench::answer(asked, scratch, random),
        Kind::Httpbin => httpbin::answer(asked, scratch, random),
        Kind::Calculator(region) => calculator::answer(asked, region, scratch),
        // It has an origin of its own, which never asks here.
        Kind::Pathology => Answer::not_found(),
    }
}

/// 404, with the paths there are.
fn unknown_path(kind: Kind, scratch: &mut Vec<u8>) -> Answer {
    let words = format!("upstream: no such path; there are {}\n", kind.paths());
    scratch.extend_from_slice(words.as_bytes());
    Answer {
        body: Body::Scratch,
        ..Answer::error(404, "")
    }
}

/// A body of so many bytes, or the refusal of more than fits.
fn sized(bytes: Option<u64>, content_type: &'static str, body: fn(u64) -> Body) -> Answer {
    match bytes {
        Some(bytes) if bytes <= crate::BODY_BYTES_MAX => Answer::ok(content_type, body(bytes)),
        Some(_) => Answer::error(400, "upstream: at most 128 MiB are answered\n"),
        None => Answer::error(400, "upstream: not a size; write 350B, 5KB or 1M\n"),
    }
}

/// 200 `text/plain` after a while, or the refusal of what is no duration.
fn delayed(delay_ns: Option<u64>, refusal: &'static str) -> Answer {
    match delay_ns {
        Some(delay_ns) => Answer {
            delay_ns,
            ..Answer::ok(TEXT, Body::Static(b"delayed\n"))
        },
        None => Answer::error(400, refusal),
    }
}
