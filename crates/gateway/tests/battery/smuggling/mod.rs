//! HTTP/1.1 requests whose end two readers could place differently (RFC 9112 11.2).

mod chunks;
mod fields;
mod lines;
mod messages;

use crate::client;
use crate::lane::Battery;
use crate::vector::{AFTER, Expect, Vector};

pub fn battery() -> Battery {
    let tables = [
        fields::transfer_encodings(),
        fields::mutations(),
        fields::content_lengths(),
        fields::others(),
        chunks::sizes(),
        chunks::tails(),
        lines::ends(),
        lines::first_lines(),
        lines::hosts(),
        lines::targets(),
        messages::framed(),
        messages::pipelines(),
        messages::strangers(),
        messages::unfinished(),
    ];
    Battery::of_one_route("HTTP/1.1 smuggling", tables.concat(), client::hear)
}

fn post(name: impl Into<String>, lines: &[u8], body: &[u8], expect: Expect) -> Vector {
    let head = &b"POST /v HTTP/1.1\r\nHost: h\r\nV: VVVVV\r\n"[..];
    let bytes = [head, lines, b"\r\n\r\n", body, AFTER.as_bytes()].concat();
    Vector::new(name, bytes, expect)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Passed,
    Refused,
    Either,
}

impl Fate {
    fn with(self, body: &[u8]) -> Expect {
        match self {
            Self::Passed => Expect::passed(body),
            Self::Refused => Expect::refused(),
            Self::Either => Expect::either(body),
        }
    }
}

/// Escapes invisible bytes for a vector's name.
fn shown(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}
