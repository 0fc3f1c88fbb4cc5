//! The events of a connection.

use super::{ErrorCode, Head, StreamError};

/// A stream of one connection.
///
/// `slot` is small and dense: it is less than [`super::Limits::streams`], and no other open stream
/// has it, so a caller can keep the state of each stream in a vector. `number` is the stream
/// identifier on the wire and is never reused, so a late event of an old stream is not attributed
/// to the stream that now has its slot.
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

    /// The index in a caller's table.
    pub fn slot(self) -> usize {
        self.slot as usize
    }
}

/// The next event in the bytes of a connection.
///
/// The events of a stream occur in this order: any number of [`Event::Informational`] (only on a
/// client), one [`Event::Head`], any number of [`Event::Body`], at most one [`Event::Trailers`],
/// and [`Event::End`]. At any point [`Event::Reset`] may replace the rest; on a server it may also
/// follow [`Event::End`], as long as the response is not complete.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The head of a 1xx response; another response follows.
    Informational {
        stream: StreamId,
        head: Head<'a>,
    },
    /// A message begins. On a server, the stream is new.
    Head {
        stream: StreamId,
        head: Head<'a>,
    },
    /// Bytes of the body; never empty.
    Body {
        stream: StreamId,
        bytes: &'a [u8],
    },
    Trailers {
        stream: StreamId,
        head: Head<'a>,
    },
    /// The message is complete. On a client, the stream is now closed.
    End {
        stream: StreamId,
    },
    /// The stream was closed early: before the peer's message or, on a server, our response was
    /// complete.
    Reset {
        stream: StreamId,
        /// The code of RST_STREAM, the peer's or ours.
        code: ErrorCode,
        /// The peer's error, if we reset the stream; `None` if the peer reset it, or if its GOAWAY
        /// states that it did not process the stream (then `code` is
        /// [`ErrorCode::REFUSED_STREAM`]).
        error: Option<StreamError>,
    },
    /// SETTINGS arrived from the peer; a client may now open more streams, or fewer.
    Settings,
    /// The peer will accept no more streams. On a client, the open streams up to `last_stream`
    /// continue, because the server may have processed them; for each other open stream,
    /// [`Event::Reset`] follows.
    GoAway {
        last_stream: u32,
        code: ErrorCode,
    },
}
