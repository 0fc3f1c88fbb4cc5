//! The responses of each origin, by path.

mod anything;
mod calculator;
mod go_bench;
mod httpbin;

pub(crate) use anything::write_anything;
pub(crate) use calculator::calculate;

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::Kind;
use crate::asked::Asked;
use crate::duration::parse_size_bytes;
use crate::random::Random;
use crate::response::{Body, Response, TEXT};
use crate::wall_clock::TimeBodies;

/// One worker's origin, of any kind except [`Kind::Pathology`].
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

/// Chooses the response based on the head of the request. `scratch`, which must be empty, receives
/// bytes that the response needs once the request is complete.
pub(crate) fn response(apps: &mut Apps, asked: &Asked<'_>, scratch: &mut Vec<u8>) -> Response {
    let random = &mut apps.random;
    match apps.kind {
        Kind::Ping if asked.path == "/ping" => {
            asked.get(|| Response::ok("text/plain", Body::Static(b"ok")))
        }
        Kind::Ping => unknown_path(Kind::Ping, scratch),
        Kind::GoBench => go_bench::response(asked, scratch, random),
        Kind::Httpbin => httpbin::response(asked, scratch, random),
        Kind::Calculator(region) => calculator::response(asked, region, scratch),
        Kind::Any => as_requested(asked),
        // This kind is implemented in `fault_server`, which never calls this function.
        Kind::Pathology => Response::not_found(),
    }
}

/// Returns the response of [`Kind::Any`]. The request can set the status of the response (default
/// 200) and the size of its body (default 2 bytes).
fn as_requested(asked: &Asked<'_>) -> Response {
    let bytes = asked.text("X-Response-Bytes");
    let status = asked.text("X-Response-Status");
    let response = sized(bytes.map_or(Some(2), parse_size_bytes), TEXT, Body::Text);
    match status.map_or(Some(200), |text| text.parse().ok()) {
        Some(status @ 200..=599) if response.status == 200 => Response { status, ..response },
        Some(200..=599) => response,
        _ => Response::error(
            400,
            "upstream: X-Response-Status is not a status from 200 to 599\n",
        ),
    }
}

fn unknown_path(kind: Kind, scratch: &mut Vec<u8>) -> Response {
    let words = format!("upstream: no such path; the paths are {}\n", kind.paths());
    scratch.extend_from_slice(words.as_bytes());
    Response {
        body: Body::Scratch,
        ..Response::error(404, "")
    }
}

fn sized(bytes: Option<u64>, content_type: &'static str, body: fn(u64) -> Body) -> Response {
    match bytes {
        Some(bytes) if bytes <= crate::BODY_BYTES_MAX => Response::ok(content_type, body(bytes)),
        Some(_) => Response::error(400, "upstream: the maximum body size is 128 MiB\n"),
        None => Response::error(
            400,
            "upstream: the size is invalid; write a number of bytes, such as 350\n",
        ),
    }
}

fn delayed(delay_ns: Option<u64>, refusal: &'static str) -> Response {
    match delay_ns {
        Some(delay_ns) => Response {
            delay_ns,
            ..Response::ok(TEXT, Body::Static(b"delayed\n"))
        },
        None => Response::error(400, refusal),
    }
}

fn compress(out: &mut Vec<u8>, plain: &[u8], level: Compression) {
    let mut encoder = GzEncoder::new(out, level);
    // Writing to a vector cannot fail.
    let _ = encoder.write_all(plain);
    let _ = encoder.finish();
}
