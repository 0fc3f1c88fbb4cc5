//! HTTP/1.1 messages (RFC 9112) as a state machine without I/O, in both directions.
//!
//! A [`Decoder`] is fed whatever bytes arrived and answers one [`Event`] at a time:
//!
//! ```text
//! let mut input = &received[..];
//! while let Some(event) = decoder.next(&mut input)? {
//!     match event { Event::Head(head) => .., Event::Body(bytes) => .., Event::End => .. }
//! }
//! ```
//!
//! `next` takes what it needs off the front of `input` and answers `None` when it wants more bytes
//! (then `input` is empty). After [`Event::End`] the same decoder reads the next message of the
//! connection, if [`Decoder::keep_alive`] says that there can be one; `input` may hold its first
//! bytes already (pipelining). Any way of splitting the bytes gives the same events, but for where
//! bodies are cut.

mod decode;
mod error;
mod head;
mod limits;
mod write;

pub use decode::{Decoder, Event, Role};
pub use error::ProtocolError;
pub use head::{Field, Framing, Head, StartLine};
pub use limits::Limits;
pub use write::{BodyLength, Chunk, write_chunk, write_last_chunk, write_request_head, write_response_head};
