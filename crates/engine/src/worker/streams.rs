//! Handles HTTP/2 connections, which carry several concurrent exchanges.

use gatebench_net::{ConnId, Io};

use crate::error::ConnectError;
use crate::http2::{End, Http2, Message};
use crate::kind::ErrorKind;
use crate::load::Protocol;
use crate::response::Exchange;

use super::Worker;

impl<I: Io> Worker<'_, I> {
    /// Exchanges settings in both directions before the first request over HTTP/2. Returns true
    /// once requests may be sent.
    pub(super) fn exchange_settings(
        &mut self,
        conn: ConnId,
        now: u64,
    ) -> Result<bool, ConnectError> {
        let Some(connection) = self.conns.get_mut(conn) else {
            return Ok(false);
        };
        let Protocol::Http2 { streams } = self.groups[connection.group].settings.target.protocol
        else {
            return Ok(true);
        };
        if let Some(layer) = &connection.layer
            && !layer.speaks_http2()
        {
            return Err(ConnectError::NoHttp2);
        }
        let http2 = connection
            .http2
            .get_or_insert_with(|| Box::new(Http2::new(streams, self.allowance.clone())));
        let received = http2.receive(&self.plain, self.compiled, now);
        let (is_ready, is_closing) = (http2.client.is_ready(), http2.client.is_closing());
        self.push_frames(conn, true);
        received.map_err(|error| ConnectError::NotHttp2(error.to_string()))?;
        if is_closing {
            return Err(ConnectError::GoAway);
        }
        Ok(is_ready)
    }

    /// Returns the number of requests that may begin on a connection that is now ready. Over
    /// HTTP/1.1, it is 1. Over HTTP/2, it is the number of streams that the load uses and the
    /// server allows, up to the number of requests per connection.
    pub(super) fn first_streams_of(&mut self, conn: ConnId) -> usize {
        let Some(connection) = self.conns.get_mut(conn) else {
            return 0;
        };
        let Some(http2) = &mut connection.http2 else {
            return 1;
        };
        let group = &self.groups[connection.group];
        let Protocol::Http2 { streams } = group.settings.target.protocol else {
            return 1;
        };
        let most = group.requests_per_connection.unwrap_or(u64::MAX);
        let asked = u64::from(streams).min(most) as usize;
        let now = http2.client.can_open().min(asked);
        // The server may allow the other streams later.
        http2.parked = (asked - now) as u32;
        now
    }

    pub(super) fn issue_stream(&mut self, conn: ConnId, intended_ns: u64, sent_ns: u64) {
        let nonce = self.next_nonce();
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        let Some(http2) = &mut connection.http2 else {
            return;
        };
        let group = connection.group;
        let is_used_up = self.groups[group].is_used_up(connection.requests);
        if is_used_up || http2.client.can_open() == 0 {
            // The connection's last request is in flight, or the server now allows fewer streams,
            // so the request goes back to the head of the queue.
            http2.parked += 1;
            self.groups[group].queue.push_front(intended_ns);
            return;
        }
        let number = self.groups[group].take_turn();
        let rendered = &self.compiled.routes[number].rendered;
        let scheme = self.groups[group].scheme();
        let traced = self.compiled.load.trace_tag.is_some();
        let message = match &mut self.messages[number] {
            Some(message) => {
                if !rendered.is_constant() {
                    message.draw(rendered, scheme, traced, &mut self.sampler);
                }
                message
            }
            none => none.insert(Message::new(rendered, scheme, traced, &mut self.sampler)),
        };
        let (block, body) = message.with(nonce);
        let before = http2.frames.len();
        let exchange = Exchange::new(number, intended_ns, sent_ns, nonce);
        http2.begin(block, body, exchange);
        let bytes = (http2.frames.len() - before) as u64;
        self.recorder.begin(group, &exchange, bytes);
        connection.requests += 1;
        if self.groups[group].closed {
            self.flush_later(conn);
        } else {
            self.push_frames(conn, true);
        }
    }

    /// Marks a connection whose frames are sent together at the end of the round.
    fn flush_later(&mut self, conn: ConnId) {
        if self.unsent.last() != Some(&conn) {
            self.unsent.push(conn);
        }
    }

    pub(super) fn flush_streams(&mut self) {
        let mut unsent = std::mem::take(&mut self.unsent);
        for conn in unsent.drain(..) {
            self.push_frames(conn, false);
        }
        self.unsent = unsent;
    }

    fn push_frames(&mut self, conn: ConnId, now: bool) {
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        let (Some(http2), Some(layer)) = (&mut connection.http2, &mut connection.layer) else {
            return;
        };
        if http2.frames.is_empty() {
            return;
        }
        let written = layer.write(&http2.frames);
        http2.frames.clear();
        layer.outbox.flush(&mut self.io, conn, now);
        if written.is_err() {
            let at = self.io.now_ns();
            self.fail(conn, ErrorKind::Tls, at);
        }
    }

    pub(super) fn take_stream_bytes(&mut self, conn: ConnId, bytes: &[u8], now: u64) {
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        let Some(http2) = &mut connection.http2 else {
            return;
        };
        let received = http2.receive(bytes, self.compiled, now);
        self.end_streams(conn, ErrorKind::Reset, now);
        self.unpark(conn, now);
        if received.is_err() {
            // The frames that report the error are the last ones sent.
            self.push_frames(conn, true);
            return self.fail(conn, ErrorKind::Protocol, now);
        }
        self.flush_later(conn);
    }

    /// Records the streams that have ended and gives their places to other requests. `kind` is the
    /// error of the streams that were reset.
    fn end_streams(&mut self, conn: ConnId, kind: ErrorKind, now: u64) {
        let Some(http2) = self.conns.get_mut(conn).and_then(|it| it.http2.as_mut()) else {
            return;
        };
        let mut ended = std::mem::take(&mut http2.ended);
        // Record all streams before giving away the first place, because a new stream may take any
        // of the places.
        for (slot, end) in &ended {
            self.end_stream(conn, *slot, *end, kind, now);
        }
        for _ in ended.drain(..) {
            self.release_stream(conn, now);
        }
        if let Some(http2) = self.conns.get_mut(conn).and_then(|it| it.http2.as_mut()) {
            ended.append(&mut http2.ended);
            http2.ended = ended;
        }
        self.close_when_quiet(conn, now);
    }

    fn end_stream(&mut self, conn: ConnId, slot: usize, end: End, kind: ErrorKind, now: u64) {
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        let Some(http2) = &mut connection.http2 else {
            return;
        };
        let group = connection.group;
        let response = http2.finish(slot);
        let (exchange, failed) = (&response.exchange, &response.failed_checks);
        match end {
            End::Complete => self.recorder.settle(group, exchange, failed, now),
            End::Reset => self.recorder.fail(group, exchange, kind, now),
        }
    }

    /// Gives the next request to the stream that has become free. If the server allows more streams
    /// again, also gives requests to those that were parked (see `Http2::parked`). If the
    /// connection begins no more requests, lets the user of the stream think.
    fn release_stream(&mut self, conn: ConnId, now: u64) {
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        let is_used_up = self.groups[connection.group].is_used_up(connection.requests);
        let Some(http2) = &mut connection.http2 else {
            return;
        };
        if connection.leaving {
            return;
        }
        if is_used_up || http2.client.is_closing() {
            return self.think(conn, now);
        }
        let free = http2.client.can_open();
        let unparked = (http2.parked as usize).min(free.saturating_sub(1));
        http2.parked -= unparked as u32;
        for _ in 0..=unparked {
            self.reuse(conn, now);
        }
    }

    /// Resumes the parked streams of a connection on which no response is pending. On other
    /// connections, the next response resumes them.
    fn unpark(&mut self, conn: ConnId, now: u64) {
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        let Some(http2) = &mut connection.http2 else {
            return;
        };
        let is_over = connection.leaving || http2.client.is_closing();
        if http2.parked == 0 || is_over || !http2.is_quiet() {
            return;
        }
        let unparked = http2.client.can_open().min(http2.parked as usize);
        http2.parked -= unparked as u32;
        for _ in 0..unparked {
            self.reuse(conn, now);
        }
    }

    /// Closes a connection that may begin no more requests and has no response pending.
    fn close_when_quiet(&mut self, conn: ConnId, now: u64) {
        let Some(connection) = self.conns.get(conn) else {
            return;
        };
        let group = &mut self.groups[connection.group];
        let is_used_up = group.is_used_up(connection.requests);
        let Some(http2) = &connection.http2 else {
            return;
        };
        if !is_used_up && !connection.leaving && !http2.client.is_closing() {
            return;
        }
        group.idle.retain(|idle| *idle != conn);
        if http2.is_quiet() {
            self.lost(conn, now);
        }
    }

    pub(super) fn fail_streams(&mut self, conn: ConnId, kind: ErrorKind, now: u64) {
        let Some(connection) = self.conns.get(conn) else {
            return;
        };
        let Some(http2) = &connection.http2 else {
            return;
        };
        for (_, exchange) in http2.open() {
            self.recorder.fail(connection.group, exchange, kind, now);
        }
    }

    /// Cancels every stream that `is_late` selects by its group and exchange.
    pub(super) fn expire_streams(&mut self, is_late: impl Fn(usize, &Exchange) -> bool, now: u64) {
        let mut late = Vec::new();
        for (conn, connection) in self.conns.iter_mut() {
            let Some(http2) = &mut connection.http2 else {
                continue;
            };
            let group = connection.group;
            let open = http2
                .open()
                .filter(|(_, exchange)| is_late(group, exchange));
            let slots: Vec<usize> = open.map(|(slot, _)| slot).collect();
            if !slots.is_empty() {
                slots.iter().for_each(|slot| http2.cancel(*slot));
                late.push(conn);
            }
        }
        for conn in late {
            self.end_streams(conn, ErrorKind::Timeout, now);
            self.push_frames(conn, true);
        }
    }
}
