//! The part of httpbin that scenarios use.

use flate2::Compression;

use super::{anything, compress, sized, unknown_path};
use crate::Kind;
use crate::asked::Asked;
use crate::json;
use crate::random::Random;
use crate::response::{BINARY, Body, JSON, Response, TEXT, XML};

/// The maximum delay of `/delay/{n}` in seconds, as in httpbin itself.
const DELAY_SECONDS_MAX: f64 = 10.0;

const SAMPLE: &[u8] = br#"{"slideshow":{"author":"gatebench","date":"2026-01-01","slides":[{"title":"What a gateway adds","type":"all"},{"items":["time","memory"],"title":"Overview","type":"all"}],"title":"Sample"}}"#;

const SAMPLE_XML: &[u8] = br#"<?xml version="1.0" encoding="utf-8"?>
<slideshow title="Sample" date="2026-01-01" author="gatebench">
  <slide type="all"><title>What a gateway adds</title></slide>
  <slide type="all"><title>Overview</title><item>time</item><item>memory</item></slide>
</slideshow>
"#;

/// The text that httpbin itself returns. Its type is `text/plain`, without a character set.
const ROBOTS: &[u8] = b"User-agent: *\nDisallow: /deny\n";

/// The maximum number of lines of `/stream/{n}`, as in httpbin itself.
const LINES_MAX: u64 = 100;

pub(super) fn response(asked: &Asked<'_>, scratch: &mut Vec<u8>, random: &mut Random) -> Response {
    match asked.path {
        "/anything" => anything::prepare(asked, scratch),
        "/uuid" => asked.get(|| uuid(scratch, random)),
        "/robots.txt" => asked.get(|| Response::ok("text/plain", Body::Static(ROBOTS))),
        "/json" => asked.get(|| Response::ok(JSON, Body::Static(SAMPLE))),
        "/xml" => asked.get(|| Response::ok(XML, Body::Static(SAMPLE_XML))),
        "/gzip" => asked.get(|| gzip(asked, scratch)),
        "/headers" => asked.get(|| {
            scratch.extend_from_slice(b"{\"headers\":");
            anything::write_fields(scratch, asked);
            scratch.push(b'}');
            Response::ok(JSON, Body::Scratch)
        }),
        path => {
            if path.starts_with("/anything/") {
                anything::prepare(asked, scratch)
            } else if let Some(status) = path.strip_prefix("/status/") {
                with_status(status)
            } else if let Some(seconds) = path.strip_prefix("/delay/") {
                delay(seconds, asked, scratch)
            } else if let Some(count) = path.strip_prefix("/bytes/") {
                asked.get(|| sized(count.parse().ok(), BINARY, Body::Noise))
            } else if let Some(count) = path.strip_prefix("/stream/") {
                asked.get(|| stream(count, asked, scratch))
            } else {
                unknown_path(Kind::Httpbin, scratch)
            }
        }
    }
}

fn with_status(status: &str) -> Response {
    match status.parse() {
        Ok(status @ 200..=599) => Response {
            status,
            ..Response::ok(TEXT, Body::Static(b""))
        },
        _ => Response::error(
            400,
            "upstream: the path must end with a status from 200 to 599\n",
        ),
    }
}

/// Returns a response with the requested number of JSON lines, but at most [`LINES_MAX`]. Each line
/// contains its index.
fn stream(count: &str, asked: &Asked<'_>, scratch: &mut Vec<u8>) -> Response {
    let Ok(count) = count.parse::<u64>() else {
        return Response::error(400, "upstream: the path must end with a number of lines\n");
    };
    let mut line = b"{\"args\":".to_vec();
    json::write_pairs(&mut line, asked.query);
    line.extend_from_slice(b",\"headers\":");
    anything::write_fields(&mut line, asked);
    line.extend_from_slice(b",\"origin\":");
    anything::write_origin(&mut line, asked);
    line.extend_from_slice(b",\"url\":");
    anything::write_url(&mut line, asked);
    for id in 0..count.min(LINES_MAX) {
        scratch.extend_from_slice(&line);
        scratch.extend_from_slice(format!(",\"id\":{id}}}\n").as_bytes());
    }
    Response::ok(JSON, Body::Lines)
}

fn delay(seconds: &str, asked: &Asked<'_>, scratch: &mut Vec<u8>) -> Response {
    match seconds.parse::<f64>() {
        Ok(seconds) if seconds >= 0.0 => {
            let delay_ns = (seconds.min(DELAY_SECONDS_MAX) * 1e9) as u64;
            Response {
                delay_ns,
                ..anything::prepare(asked, scratch)
            }
        }
        _ => Response::error(
            400,
            "upstream: the path must end with a number of seconds\n",
        ),
    }
}

/// Returns the request's fields, method and origin as JSON. The JSON is compressed with gzip (RFC
/// 9110 8.4.1.3) even if the client does not accept gzip.
fn gzip(asked: &Asked<'_>, scratch: &mut Vec<u8>) -> Response {
    let mut plain = b"{\"gzipped\":true,\"headers\":".to_vec();
    anything::write_fields(&mut plain, asked);
    plain.extend_from_slice(b",\"method\":");
    json::write_string(&mut plain, asked.method);
    plain.extend_from_slice(b",\"origin\":");
    anything::write_origin(&mut plain, asked);
    plain.push(b'}');
    compress(scratch, &plain, Compression::default());
    Response {
        encoding: Some("gzip"),
        ..Response::ok(JSON, Body::Scratch)
    }
}

/// Returns a version 4 UUID (RFC 9562 5.4), made from numbers that are the same in every run.
fn uuid(scratch: &mut Vec<u8>, random: &mut Random) -> Response {
    let high = random.next() & !0xf000 | 0x4000;
    let low = random.next() >> 2 | 1 << 63;
    scratch.extend_from_slice(b"{\"uuid\":\"");
    for (at, nibble) in (0..32).map(|at| {
        let word = if at < 16 { high } else { low };
        (at, (word >> (60 - at % 16 * 4) & 0xf) as u8)
    }) {
        if matches!(at, 8 | 12 | 16 | 20) {
            scratch.push(b'-');
        }
        scratch.push(b"0123456789abcdef"[usize::from(nibble)]);
    }
    scratch.extend_from_slice(b"\"}");
    Response::ok(JSON, Body::Scratch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_have_their_version_and_variant_and_differ() {
        let mut random = Random::new(5);
        let mut make = || {
            let mut scratch = Vec::new();
            uuid(&mut scratch, &mut random);
            String::from_utf8(scratch).unwrap()
        };
        let (first, second) = (make(), make());
        assert_ne!(first, second);
        let text = &first[9..45];
        assert_eq!(first.len(), 47);
        assert_eq!(text.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&text.as_bytes()[19]), "{text}");
        let hyphens: Vec<_> = text.match_indices('-').map(|(at, _)| at).collect();
        assert_eq!(hyphens, [8, 13, 18, 23]);
    }
}
