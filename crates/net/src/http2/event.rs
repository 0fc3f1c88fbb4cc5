//! What a connection tells its user.

use super::{ErrorCode, Head, StreamError};

/// A stream of one connection.
///
/// `slot` is small and dense: it is less than [`super::Limits::streams`] and no other stream that is
/// open has it, so that a user keeps what he knows of each stream in a vector. `number` is the one on the wire and
/// never used again: it tells a late word about an old stream from the one that now has its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamId {
    pub(super) number: u32,
    pub(super) slot: u32,
}

impl StreamId {
    /// The number on the wire, 1 to 2³¹−1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// The place in a user's table.
    pub fn slot(self) -> usize {
        self.slot as usize
    }
}

/// The next thing a connection's bytes say.
///
/// Of a stream it says: at a client any number of [`Event::Informational`], and at either end one
/// [`Event::Head`], pieces of [`Event::Body`], perhaps [`Event::Trailers`], and [`Event::End`]. At any
/// point [`Event::Reset`] may come instead of the rest; at a server also after [`Event::End`], while the response
/// is not complete.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The head of a 1xx response; the final one follows.
    Informational {
        /// The stream.
        stream: StreamId,
        /// Status and fields.
        head: Head<'a>,
    },
    /// A message begins.
    Head {
        /// The stream. At a server it is new.
        stream: StreamId,
        /// Status or method, and fields.
        head: Head<'a>,
    },
    /// Bytes of the body; never empty.
    Body {
        /// The stream.
        stream: StreamId,
        /// Where they arrived.
        bytes: &'a [u8],
    },
    /// Fields after the body.
    Trailers {
        /// The stream.
        stream: StreamId,
        /// The fields.
        head: Head<'a>,
    },
    /// The message is complete. At a client the stream is closed now.
    End {
        /// The stream.
        stream: StreamId,
    },
    /// The stream is closed before its message was complete.
    Reset {
        /// The stream.
        stream: StreamId,
        /// What RST_STREAM said, the peer's or ours.
        code: ErrorCode,
        /// What the peer did wrong, where we reset the stream; `None` where the peer did, or where its GOAWAY says
        /// that it did not process the stream (then `code` is [`ErrorCode::REFUSED_STREAM`]).
        error: Option<StreamError>,
    },
    /// The peer's settings changed; a client may now open more streams, or fewer.
    Settings,
    /// The peer will take no more streams. Those up to `last_stream` go on; for each of the others
    /// [`Event::Reset`] follows.
    GoAway {
        /// The highest number of a stream that it may have processed.
        last_stream: u32,
        /// Why.
        code: ErrorCode,
    },
}
