//! Tests of the protocol: conversations between both ends, rules for single frames, bounds, and
//! properties that hold for arbitrary bytes.

mod connection_errors;
mod conversations;
mod floods;
mod programs;
mod properties;
mod stream_errors;
mod transcript;
mod wire;
