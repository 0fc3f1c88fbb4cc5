//! Connection-only loads, which make connections but send no requests, to measure the time that a
//! connection takes, including TLS.

use gatebench_net::trace::Nonce;
use gatebench_net::{ConnId, Io};

use crate::kind::ErrorKind;
use crate::response::Exchange;

use super::{RECONNECT_PAUSE_NS, Worker};

/// The status that is recorded for a connection that was made.
const MADE: u16 = 200;

impl<I: Io> Worker<'_, I> {
    pub(super) fn begin_handshake(&mut self, group: usize, intended_ns: u64, sent_ns: u64) {
        let number = self.groups[group].take_turn();
        let exchange = Exchange::new(number, intended_ns, sent_ns, Nonce(0));
        self.recorder.begin(group, &exchange, 0);
        match self.open_connection(group) {
            Ok(conn) => {
                if let Some(connection) = self.conns.get_mut(conn) {
                    connection.response.begin(exchange);
                }
            }
            Err(_) => self.handshake_failed(group, &exchange, ErrorKind::Connect, sent_ns),
        }
    }

    pub(super) fn handshake_done(&mut self, conn: ConnId, now: u64) {
        let Some(connection) = self.conns.get(conn) else {
            return;
        };
        let (group, mut exchange) = (connection.group, connection.response.exchange);
        self.let_go(conn);
        exchange.status = MADE;
        self.recorder.settle(group, &exchange, &[], now);
        let state = &mut self.groups[group];
        state.free += 1;
        let goes_on = now < self.end_ns && !self.interrupted;
        if !state.closed {
            self.serve_queue(group);
        } else if goes_on && state.take_request() {
            self.count_arrival(group, now);
            self.place(group, now, now);
        }
    }

    /// Closes a connection that was made only to be measured or to test the target.
    pub(super) fn let_go(&mut self, conn: ConnId) {
        if let Some(connection) = self.conns.remove(conn) {
            let group = &mut self.groups[connection.group];
            group.have -= 1;
            group.down(self.io.now_ns());
            // Without a reset, each connection would occupy its port for a minute (TIME-WAIT).
            self.io.abort(conn);
        }
    }

    /// Records a connection that could not be made. Another one may take its place only after a
    /// pause, so that the worker does not connect in a tight loop.
    pub(super) fn handshake_failed(
        &mut self,
        group: usize,
        exchange: &Exchange,
        kind: ErrorKind,
        now: u64,
    ) {
        self.recorder.fail(group, exchange, kind, now);
        self.groups[group]
            .connects
            .push_back(now + RECONNECT_PAUSE_NS);
    }
}
