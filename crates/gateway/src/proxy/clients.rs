//! The connections of clients, and the requests on them.

use gatebench_net::{ConnId, ConnMap};

use super::client::{Client, Exchange};
use super::http2::Multiplexed;
use crate::client_ref::ClientRef;

/// A client's connection.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "HTTP/1.1 is the common one, and finds its state without another step"
)]
pub(crate) enum ClientConnection {
    Http1(Client),
    Http2(Box<Multiplexed>),
}

/// The connections of clients.
#[derive(Debug, Default)]
pub(crate) struct Clients(ConnMap<ClientConnection>);

impl Clients {
    pub(crate) fn insert(&mut self, conn: ConnId, connection: ClientConnection) {
        self.0.insert(conn, connection);
    }

    pub(crate) fn connection(&mut self, conn: ConnId) -> Option<&mut ClientConnection> {
        self.0.get_mut(conn)
    }

    pub(crate) fn remove(&mut self, conn: ConnId) -> Option<ClientConnection> {
        self.0.remove(conn)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Every connection.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (ConnId, &mut ClientConnection)> {
        self.0.iter_mut()
    }

    /// Who asks there.
    pub(crate) fn client_mut(&mut self, client_ref: ClientRef) -> Option<&mut Client> {
        match (self.0.get_mut(client_ref.conn)?, client_ref.slot) {
            (ClientConnection::Http1(client), None) => Some(client),
            (ClientConnection::Http2(connection), Some(slot)) => connection.client_mut(slot),
            _ => None,
        }
    }

    /// Who asks there.
    pub(crate) fn client(&self, client_ref: ClientRef) -> Option<&Client> {
        match (self.0.get(client_ref.conn)?, client_ref.slot) {
            (ClientConnection::Http1(client), None) => Some(client),
            (ClientConnection::Http2(connection), Some(slot)) => connection.client(slot),
            _ => None,
        }
    }

    /// The request there, and its answer.
    pub(crate) fn exchange_mut(&mut self, client_ref: ClientRef) -> Option<&mut Exchange> {
        Some(&mut self.client_mut(client_ref)?.exchange)
    }
}
