//! The `go-bench` origin.

use jiff::Timestamp;

use super::{delayed, sized, unknown_path};
use crate::Kind;
use crate::asked::Asked;
use crate::duration::{parse_duration_ns, parse_size_bytes};
use crate::json;
use crate::random::Random;
use crate::response::{Body, JSON, Response, TEXT, XML};

const XML_BODY: &[u8] = br#"<?xml version="1.0" encoding="utf-8"?>
<bench>
  <item id="1"><name>first</name><count>3</count></item>
  <item id="2"><name>second</name><count>5</count></item>
</bench>
"#;

const RESOURCES: &[u8] = br#"[{"id":"1","name":"resource 1"},{"id":"2","name":"resource 2"},{"id":"3","name":"resource 3"}]"#;

const NO_TIME: &str =
    "upstream: X-Slowdown-From is not a time; write it like 2026-01-31T12:00:00Z (RFC 3339)\n";

const NO_DURATION: &str = "upstream: the duration is invalid; write it like 250us, 100ms or 1.5s\n";

pub(super) fn response(asked: &Asked<'_>, scratch: &mut Vec<u8>, random: &mut Random) -> Response {
    let mut response = route(asked, scratch);
    match (delay_ns(asked, random), slowdown_ns(asked)) {
        (Ok(delay_ns), Ok(slowdown_ns)) => {
            response.delay_ns += delay_ns + slowdown_ns;
            response
        }
        (Err(words), _) | (_, Err(words)) => Response::error(400, words),
    }
}

/// Returns the delay in X-Delay, in nanoseconds. With X-Delay-Percent, only this percentage of the
/// requests, chosen at random, is delayed; the delay of the others is 0.
fn delay_ns(asked: &Asked<'_>, random: &mut Random) -> Result<u64, &'static str> {
    let Some(delay) = asked.text("X-Delay") else {
        return Ok(0);
    };
    let delay_ns = parse_duration_ns(delay)
        .ok_or("upstream: X-Delay is not a duration; write it like 250us, 100ms or 1.5s\n")?;
    let percent = asked
        .text("X-Delay-Percent")
        .map_or(Some(100), |text| text.parse().ok())
        .filter(|percent| *percent <= 100)
        .ok_or("upstream: X-Delay-Percent is not a whole number from 0 to 100\n")?;
    let is_hit = random.percent(percent);
    Ok(if is_hit { delay_ns } else { 0 })
}

/// Returns the delay in X-Slowdown, in nanoseconds; 0 before the time in X-Slowdown-From.
fn slowdown_ns(asked: &Asked<'_>) -> Result<u64, &'static str> {
    let Some(slowdown) = asked.text("X-Slowdown") else {
        return Ok(0);
    };
    let slowdown_ns = parse_duration_ns(slowdown)
        .ok_or("upstream: X-Slowdown is not a duration; write it like 250us, 100ms or 1.5s\n")?;
    let has_begun = match asked.text("X-Slowdown-From") {
        None => true,
        Some(from) => {
            let from: Timestamp = from.parse().map_err(|_| NO_TIME)?;
            Timestamp::now() >= from
        }
    };
    Ok(if has_begun { slowdown_ns } else { 0 })
}

fn route(asked: &Asked<'_>, scratch: &mut Vec<u8>) -> Response {
    match asked.path {
        "/json/valid" => asked.get(|| Response::ok(JSON, Body::Time { valid: true })),
        "/json/invalid" => asked.get(|| Response::ok(JSON, Body::Time { valid: false })),
        "/xml" => asked.get(|| Response::ok(XML, Body::Static(XML_BODY))),
        "/echo" => echo(asked, scratch),
        "/resource" => asked.get(|| Response::ok(JSON, Body::Static(RESOURCES))),
        path => {
            if let Some(size) = path.strip_prefix("/size/") {
                asked.get(|| sized(parse_size_bytes(size), TEXT, Body::Text))
            } else if let Some(duration) = path.strip_prefix("/delay/") {
                asked.get(|| delayed(parse_duration_ns(duration), NO_DURATION))
            } else if let Some(id) = path.strip_prefix("/resource/") {
                asked.get(|| resource(id, scratch))
            } else {
                unknown_path(Kind::GoBench, scratch)
            }
        }
    }
}

fn echo(asked: &Asked<'_>, scratch: &mut Vec<u8>) -> Response {
    if !asked.reads() && asked.method != "POST" {
        return Response::not_allowed("GET, HEAD, POST");
    }
    scratch.extend_from_slice(asked.field("Content-Type").unwrap_or(TEXT.as_bytes()));
    Response::ok("", Body::Echo)
}

fn resource(id: &str, scratch: &mut Vec<u8>) -> Response {
    if id.is_empty() || id.contains('/') {
        return unknown_path(Kind::GoBench, scratch);
    }
    scratch.extend_from_slice(b"{\"id\":");
    json::write_string(scratch, id);
    scratch.extend_from_slice(b",\"name\":\"resource ");
    let name_at = scratch.len();
    json::write_string(scratch, id);
    // The identifier continues the string of the name, so the opening quote of the identifier is
    // removed.
    scratch.remove(name_at);
    scratch.push(b'}');
    Response::ok(JSON, Body::Scratch)
}
