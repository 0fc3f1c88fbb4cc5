//! HTTP/2 (RFC 9113) as a state machine without I/O, for both ends of a connection.
//!
//! ```
//! use gatebench_net::http2::{Block, Client, Event, Limits, ProtocolError, Settings};
//!
//! /// Counts the responses with status 200 in `received`, and sends as many requests as the
//! /// connection allows.
//! fn turn(
//!     client: &mut Client,
//!     block: &Block,
//!     mut received: &[u8],
//!     out: &mut Vec<u8>,
//! ) -> Result<usize, ProtocolError> {
//!     let mut good = 0;
//!     while let Some(event) = client.next(&mut received, out)? {
//!         if let Event::Head { head, .. } = event {
//!             good += usize::from(head.status() == 200);
//!         }
//!     }
//!     while client.request(block, b"", out).is_some() {}
//!     Ok(good)
//! }
//!
//! let mut client = Client::new(Settings::default(), Limits::default());
//! let mut out = Vec::new();
//! client.preface(&mut out);
//! let block = Block::request("GET", "http", "localhost", "/");
//! // An empty SETTINGS frame, which is how a server begins.
//! let received = [0, 0, 0, 4, 0, 0, 0, 0, 0];
//! assert_eq!(turn(&mut client, &block, &received, &mut out), Ok(0));
//! assert_eq!(client.open_count(), Limits::default().streams as usize);
//! ```
//!
//! [`Client`] and [`Server`] are the two ends of a connection, built on the same state machine.
//! Header blocks are encoded once ([`Block`]), without the dynamic table, and copied for each
//! stream. Frames are read in place; only frames split across inputs, except DATA, are collected
//! first. In steady state a connection allocates nothing. However the bytes are split, the events
//! and the error are the same, except for the places where bodies are split.
//!
//! Bodies are passed on as they arrive, so a window is increased as soon as half of it is used. A
//! caller that wants to slow a peer down stops receiving or, on a server, pauses one stream
//! ([`Server::hold`]). Priorities are ignored, push is disabled, and there is no upgrade from
//! HTTP/1.1 (RFC 9113 3.1): both ends have already agreed on HTTP/2.

mod block;
mod client;
mod code;
mod connection;
mod control;
mod data;
mod error;
mod event;
mod fields;
mod frame;
mod head;
mod hpack;
mod index;
mod intake;
mod limits;
mod message;
mod order;
mod sending;
mod server;
mod settings;
mod streams;

pub use block::{Block, Variable};
pub use client::Client;
pub use code::ErrorCode;
pub use error::{Malformed, ProtocolError, StreamError};
pub use event::{Event, StreamId};
pub use frame::FrameType;
pub use head::Head;
pub use hpack::HpackError;
pub use limits::{Flood, Limits};
pub use server::Server;
pub use settings::Settings;
