//! The identity of a connection, or of one stream of a client's connection. Timers use it for any
//! connection; Redis queries and orders to helpers use it for the client that waits for them.

use gatebench_net::ConnId;

/// A connection or, if `slot` is set, the stream in that slot of the connection.
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
