//! HTTP/1.1 messages (RFC 9112) as a state machine without I/O, in both directions.
//!
//! A [`Decoder`] takes the bytes that arrived and returns one [`Event`] at a time:
//!
//! ```
//! use gatebench_net::http1::{Decoder, Event, Limits, ProtocolError};
//!
//! fn statuses(decoder: &mut Decoder, mut input: &[u8]) -> Result<Vec<u16>, ProtocolError> {
//!     let mut statuses = Vec::new();
//!     while let Some(event) = decoder.next(&mut input)? {
//!         match event {
//!             Event::Head(head) => statuses.push(head.status()),
//!             Event::Informational(_) | Event::Body(_) | Event::End => {}
//!         }
//!     }
//!     Ok(statuses)
//! }
//!
//! let mut decoder = Decoder::responses(Limits::default());
//! let response = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
//! assert_eq!(statuses(&mut decoder, response), Ok(vec![200]));
//! ```
//!
//! [`Decoder::next`] removes the bytes that it needs from the front of `input`. If it needs more
//! bytes, it returns `None`, and `input` is empty. After [`Event::End`] the same decoder reads the
//! next message of the connection if [`Decoder::keep_alive`] returns true; `input` may already
//! contain its first bytes (pipelining). However the bytes are split, the events and the error are
//! the same, except for the places where bodies are split.
//!
//! A head in a single input is parsed in place, without a copy; only a head that is split across
//! inputs or invalid is collected first. In steady state a decoder allocates nothing.
//!
//! A [`ResponseReader`] reads one response from a blocking stream, for clients that are not load
//! generators.
//!
//! Reading is strict where leniency would let two parties see different messages (request
//! smuggling): a bare CR or LF, white space before a colon, folded lines, and contradictions in the
//! length of a body are errors.

mod chunked;
mod decode;
mod error;
mod framing;
mod head;
pub mod hop;
mod limits;
mod parse;
mod response;
mod scan;
mod write;

pub(crate) use decode::take_up_to;
pub use decode::{Decoder, Event, Role};
pub use error::ProtocolError;
pub(crate) use framing::decimal;
pub use framing::{Framing, is_host};
pub use head::{Field, Head};
pub use limits::Limits;
pub use response::ResponseReader;
pub use write::{
    BodyLength, write_chunk, write_last_chunk, write_request_head, write_response_head,
};
