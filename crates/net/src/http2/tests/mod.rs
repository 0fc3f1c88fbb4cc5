//! Tests of the protocol: conversations between both ends, rules frame by frame, bounds, and
//! properties over arbitrary bytes.
#![allow(clippy::unwrap_used)]

mod conversations;
mod transcript;
