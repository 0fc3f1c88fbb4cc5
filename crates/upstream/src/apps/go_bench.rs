//! The go-bench origin.

use super::{Asked, delayed, sized};
use crate::answer::{Answer, Body, JSON, TEXT, XML};
use crate::duration::{parse_duration_ns, parse_size_bytes};
use crate::json;
use crate::random::Random;

const XML_BODY: &[u8] = br#"<?xml version="1.0" encoding="utf-8"?>
<bench>
  <item id="1"><name>first</name><count>3</count></item>
  <item id="2"><name>second</name><count>5</count></item>
</bench>
"#;

const RESOURCES: &[u8] = br#"[{"id":"1","name":"resource 1"},{"id":"2","name":"resource 2"},{"id":"3","name":"resource 3"}]"#;

const NO_DURATION: &str = "upstream: not a duration; write 250us, 100ms or 1.5s\n";

pub(super) fn answer(asked: &Asked<'_>, scratch: &mut Vec<u8>, random: &mut Random) -> Answer {
    let mut answer = route(asked, scratch);
    if let Some(delay) = asked.text("X-Delay") {
        let percent = asked
            .text("X-Delay-Percent")
            .map_or(Some(100), |text| text.parse().ok());
        match (parse_duration_ns(delay), percent) {
            (Some(delay_ns), Some(percent)) if percent <= 100 => {
                if random.percent(percent) {
                    answer.delay_ns += delay_ns;
                }
            }
            (None, _) => return Answer::error(400, "upstream: X-Delay is not a duration\n"),
            _ => return Answer::error(400, "upstream: X-Delay-Percent is not from 0 to 100\n"),
        }
    }
    answer
}

fn route(asked: &Asked<'_>, scratch: &mut Vec<u8>) -> Answer {
    match asked.path {
        "/json/valid" => asked.get(|| Answer::ok(JSON, Body::Time { valid: true })),
        "/json/invalid" => asked.get(|| Answer::ok(JSON, Body::Time { valid: false })),
        "/xml" => asked.get(|| Answer::ok(XML, Body::Static(XML_BODY))),
        "/echo" => echo(asked, scratch),
        "/resource" => asked.get(|| Answer::ok(JSON, Body::Static(RESOURCES))),
        path => {
            if let Some(size) = path.strip_prefix("/size/") {
                asked.get(|| sized(parse_size_bytes(size), TEXT, Body::Text))
            } else if let Some(duration) = path.strip_prefix("/delay/") {
                asked.get(|| delayed(parse_duration_ns(duration), NO_DURATION))
            } else if let Some(id) = path.strip_prefix("/resource/") {
                asked.get(|| resource(id, scratch))
            } else {
                Answer::not_found()
            }
        }
    }
}

fn echo(asked: &Asked<'_>, scratch: &mut Vec<u8>) -> Answer {
    if !asked.reads() && asked.method != "POST" {
        return Answer::not_allowed("GET, HEAD, POST");
    }
    scratch.extend_from_slice(asked.field("Content-Type").unwrap_or(TEXT.as_bytes()));
    Answer::ok("", Body::Echo)
}

fn resource(id: &str, scratch: &mut Vec<u8>) -> Answer {
    if id.is_empty() || id.contains('/') {
        return Answer::not_found();
    }
    scratch.extend_from_slice(b"{\"id\":");
    json::write_string(scratch, id);
    scratch.extend_from_slice(b",\"name\":\"resource ");
    let name_at = scratch.len();
    json::write_string(scratch, id);
    // The name continues the string begun above: without the quote the identifier came with.
    scratch.remove(name_at);
    scratch.push(b'}');
    Answer::ok(JSON, Body::Scratch)
}
