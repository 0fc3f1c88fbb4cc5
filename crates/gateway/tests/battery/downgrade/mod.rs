//! HTTP/2 streams whose meaning could change when they are converted to HTTP/1.1 requests (RFC 9113
//! 8).

mod bodies;
mod connections;
mod heads;

use crate::frames::{self, AFTER_STREAM, END_HEADERS, END_STREAM, HEADERS, PREFACE, STREAM, frame};
use crate::lane::Battery;
use crate::vector::{Expect, MARK, Seen, Vector};

pub fn battery() -> Battery {
    let tables = [
        heads::names(),
        heads::values(),
        heads::pseudo_fields(),
        heads::methods(),
        heads::paths(),
        heads::authorities(),
        heads::connection_fields(),
        bodies::lengths(),
        bodies::trailers(),
        bodies::others(),
        connections::frames_in_order(),
        connections::frames_out_of_order(),
        connections::blocks(),
    ];
    Battery::of_one_route("HTTP/2 to HTTP/1.1", tables.concat(), frames::hear)
}

type Field = (Vec<u8>, Vec<u8>);

fn field(name: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> Field {
    (name.into(), value.into())
}

fn good() -> Vec<Field> {
    let fields = frames::request_fields("POST", "/v").into_iter();
    fields.map(|(name, value)| field(name, value)).collect()
}

/// The field whose value is replaced by the number of the vector.
fn mark() -> Field {
    field("v", MARK)
}

fn with(name: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> Vec<Field> {
    [good(), vec![field(name, value), mark()]].concat()
}

/// The fields of a valid request, with a different value of this pseudo-header field.
fn but(name: &str, value: impl Into<Vec<u8>>) -> Vec<Field> {
    let value = value.into();
    let mut fields = good();
    for (other, old) in &mut fields {
        if other == name.as_bytes() {
            old.clone_from(&value);
        }
    }
    fields.push(mark());
    fields
}

fn without(name: &str) -> Vec<Field> {
    let mut fields = good();
    fields.retain(|(other, _)| other != name.as_bytes());
    fields.push(mark());
    fields
}

fn head(fields: &[Field], flags: u8) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | flags, STREAM, &frames::block(fields))
}

fn data(bytes: &[u8], flags: u8) -> Vec<u8> {
    frame(frames::DATA, flags, STREAM, bytes)
}

fn request(fields: &[Field]) -> Vec<u8> {
    [head(fields, 0), data(b"hello", END_STREAM)].concat()
}

/// The request after the vector, on a separate stream.
fn after(stream: u32) -> Vec<u8> {
    let mut fields = frames::request_fields("GET", "/after");
    fields.push(("v", MARK));
    frame(
        HEADERS,
        END_STREAM | END_HEADERS,
        stream,
        &frames::block(&fields),
    )
}

fn vector(name: impl Into<String>, frames: &[u8], expect: Expect) -> Vector {
    let bytes = [PREFACE, frames, &after(AFTER_STREAM)].concat();
    Vector::new(name, bytes, expect)
}

/// The stream is refused; the connection may end or stay open.
fn refused() -> Expect {
    Expect::declined()
}

/// The request is complete and may be forwarded; the client must get an error for the frames after
/// it.
fn refused_late(body: &str) -> Expect {
    Expect::Refused(vec![Seen::vector(body), Seen::after()])
}
