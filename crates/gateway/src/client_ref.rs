//! The name of a client connection or stream. Timers and other parts use it to refer to the client
//! that is waiting for them.

use gatebench_net::ConnId;

/// A connection, or a stream of a connection identified by its slot.
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
