//! Tests of the protocol: tables of rules, and properties that hold for arbitrary bytes.

mod bodies;
mod heads;
mod hop;
mod lifecycle;
mod limits;
mod properties;
mod reader;
mod request_framing;
mod response_framing;
mod transcript;
mod write;
