//! The connections of clients, and the requests on them.

use gatebench_net::ConnMap;

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
pub(crate) type Clients = ConnMap<ClientConnection>;

/// Returns the client of a connection or stream.
pub(crate) fn client_mut(clients: &mut Clients, client_ref: ClientRef) -> Option<&mut Client> {
    match (clients.get_mut(client_ref.conn)?, client_ref.slot) {
        (ClientConnection::Http1(client), None) => Some(client),
        (ClientConnection::Http2(connection), Some(slot)) => connection.client_mut(slot),
        _ => None,
    }
}

/// Returns the request of a connection or stream, and its response.
pub(crate) fn exchange_mut(clients: &mut Clients, client_ref: ClientRef) -> Option<&mut Exchange> {
    Some(&mut client_mut(clients, client_ref)?.exchange)
}
