//! The identity of a client connection or stream. Timers, Redis queries and helpers use it to refer
//! to the client that waits for them.

use gatebench_net::ConnId;

/// A connection, or one of its streams, identified by the stream's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientRef {
    pub(crate) conn: ConnId,
    pub(crate) slot: Option<u32>,
}

impl From<ConnId> for ClientRef {
    fn from(conn: ConnId) -> Self {
        Self { conn, slot: None }
    }
}
