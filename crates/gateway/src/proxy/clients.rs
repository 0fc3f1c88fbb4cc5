//! The connections of clients, and the requests on them.

use gatebench_net::{ConnId, ConnMap};

use super::client::{Client, Exchange};
use super::http2::Multiplexed;
use crate::party::Party;

/// A client's connection.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "HTTP/1.1 is the common one, and finds its state without another step"
)]
pub(crate) enum Front {
    Http1(Client),
    Http2(Box<Multiplexed>),
}

/// The connections of clients.
#[derive(Debug, Default)]
pub(crate) struct Clients(ConnMap<Front>);

impl Clients {
    pub(crate) fn insert(&mut self, conn: ConnId, front: Front) {
        self.0.insert(conn, front);
    }

    pub(crate) fn front(&mut self, conn: ConnId) -> Option<&mut Front> {
        self.0.get_mut(conn)
    }

    pub(crate) fn remove(&mut self, conn: ConnId) -> Option<Front> {
        self.0.remove(conn)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Every connection.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (ConnId, &mut Front)> {
        self.0.iter_mut()
    }

    /// Who asks there.
    pub(crate) fn client_mut(&mut self, party: Party) -> Option<&mut Client> {
        match (self.0.get_mut(party.conn)?, party.slot) {
            (Front::Http1(client), None) => Some(client),
            (Front::Http2(connection), Some(slot)) => connection.client_mut(slot),
            _ => None,
        }
    }

    /// Who asks there.
    pub(crate) fn client(&self, party: Party) -> Option<&Client> {
        match (self.0.get(party.conn)?, party.slot) {
            (Front::Http1(client), None) => Some(client),
            (Front::Http2(connection), Some(slot)) => connection.client(slot),
            _ => None,
        }
    }

    /// The request there, and its answer.
    pub(crate) fn exchange_mut(&mut self, party: Party) -> Option<&mut Exchange> {
        Some(&mut self.client_mut(party)?.exchange)
    }
}
