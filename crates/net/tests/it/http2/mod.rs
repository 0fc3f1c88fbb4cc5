//! Tests of the protocol: conversations between both ends, rules frame by frame, bounds, and
//! properties over arbitrary bytes.

mod connection_errors;
mod conversations;
mod floods;
mod programs;
mod properties;
mod stream_errors;
mod transcript;
mod wire;
