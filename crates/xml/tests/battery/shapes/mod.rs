//! Malicious and unusual messages, each with its processing and expected outcome. They are the
//! cases of the battery and, except for those in gzip, the seeds of the search.

mod broken;
mod compared;
mod heavy;
mod typed;
mod types;
pub mod ways;

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

pub use ways::{Way, Ways};

/// The default maximum size of a message, before and after decompression.
pub const BODY_BYTES: usize = 1 << 20;

#[derive(Clone, Copy)]
pub struct Shape {
    pub name: &'static str,
    /// The list that the message is taken from, or the weakness that it exploits.
    pub source: &'static str,
    pub way: Way,
    pub body: Body,
    pub end: End,
}

#[derive(Clone, Copy)]
pub enum Body {
    Text(&'static str),
    Bytes(&'static [u8]),
    Built(fn() -> String),
    /// Like `Built`, but compressed with gzip on the wire.
    Packed(fn() -> String),
    BuiltBytes(fn() -> Vec<u8>),
}

#[derive(Clone, Copy, Debug)]
pub enum End {
    /// A fault that contains this text.
    Refused(&'static str),
    Passes,
    /// A fault or none, depending on the speed of the machine.
    Either,
}

/// The outcome of a message: `Wrong` if it is not the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Rejected,
    Passed,
    Wrong,
}

impl Shape {
    /// Returns the bytes on the wire, and true if they are gzip.
    pub fn bytes(&self) -> (Vec<u8>, bool) {
        match self.body {
            Body::Text(text) => (text.as_bytes().to_vec(), false),
            Body::Bytes(bytes) => (bytes.to_vec(), false),
            Body::Built(build) => (build().into_bytes(), false),
            Body::BuiltBytes(build) => (build(), false),
            Body::Packed(build) => (packed(build().as_bytes()), true),
        }
    }

    pub fn verdict(&self, outcome: &Result<(), String>) -> Verdict {
        match (outcome, self.end) {
            (Err(why), End::Refused(words)) if why.contains(words) => Verdict::Rejected,
            (Err(_), End::Either) => Verdict::Rejected,
            (Ok(()), End::Passes | End::Either) => Verdict::Passed,
            _ => Verdict::Wrong,
        }
    }
}

pub fn all() -> Vec<Shape> {
    let tables = [
        types::SHAPES,
        broken::SHAPES,
        heavy::SHAPES,
        typed::SHAPES,
        compared::SHAPES,
    ];
    tables.concat()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn soap(inside: &str) -> String {
    format!(
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body>{inside}</s:Body></s:Envelope>"
    )
}

/// Repeats a unit as often as it fits into a body in addition to `others` bytes.
fn full(unit: &str, others: usize) -> String {
    unit.repeat((BODY_BYTES - others) / unit.len())
}

fn each(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect()
}
