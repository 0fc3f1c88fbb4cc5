//! Bytes that wait to be sent on one connection, with one outstanding send at a time.

use crate::{ConnId, Io};

/// Collects bytes while a send is outstanding and sends them together afterwards. Two vectors take
/// turns, so a connection in steady state allocates nothing.
#[derive(Debug, Default)]
pub struct Outbox {
    queued: Vec<u8>,
    spare: Vec<u8>,
    in_flight: usize,
}

impl Outbox {
    /// Returns the vector to append outgoing bytes to; [`Outbox::flush`] sends them.
    pub fn queue(&mut self) -> &mut Vec<u8> {
        &mut self.queued
    }

    pub fn queued(&self) -> &[u8] {
        &self.queued
    }

    /// Sends the queued bytes unless a send is outstanding; if `now`, with [`Io::send_now`].
    pub fn flush<I: Io>(&mut self, io: &mut I, conn: ConnId, now: bool) {
        if self.in_flight > 0 || self.queued.is_empty() {
            return;
        }
        let bytes = std::mem::replace(&mut self.queued, std::mem::take(&mut self.spare));
        self.in_flight = bytes.len();
        let back = if now {
            io.send_now(conn, bytes)
        } else {
            io.send(conn, bytes)
        };
        if let Some(bytes) = back {
            self.sent(bytes);
        }
    }

    /// Takes back the vector that [`crate::Event::Sent`] returned. Call [`Outbox::flush`]
    /// afterwards.
    pub fn sent(&mut self, mut bytes: Vec<u8>) {
        /// The maximum capacity of a vector that is kept for reuse.
        const KEEP_BYTES: usize = 256 * 1024;
        self.in_flight = 0;
        bytes.clear();
        if bytes.capacity() <= KEEP_BYTES {
            self.spare = bytes;
        }
    }

    /// The number of bytes that are queued or being sent, for decisions about backpressure.
    pub fn pending_bytes(&self) -> usize {
        self.queued.len() + self.in_flight
    }
}
