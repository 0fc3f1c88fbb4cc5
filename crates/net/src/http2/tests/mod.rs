//! Tests of the protocol: conversations between both ends, rules frame by frame, bounds, and
//! properties over arbitrary bytes.
#![allow(clippy::unwrap_used)]

mod connection_errors;
mod conversations;
mod floods;
mod properties;
mod stream_errors;
mod transcript;
mod wire;
