//! A loop whose accepted connections speak TLS; its users see only plaintext.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use crate::buffer::Pool;
use crate::io::Bound;
use crate::tls::{ServerContext, Session, SessionError};
use crate::workers::{Seat, Service};
use crate::{Buffer, ConnId, ConnMap, Event, Io, ListenerId, Outbox, Peer, SMALL_BYTES};

/// The maximum number of plaintext bytes in one record (RFC 8446 5.1).
const RECORD_BYTES: usize = 16 * 1024;

/// The number of pieces for plaintext, of [`RECORD_BYTES`] each: 4 MiB in total. Short messages
/// touch little of this memory.
const PIECES: u16 = 256;

/// A service over TLS: the service itself receives and sends plaintext.
pub struct TlsService<'a, S> {
    pub service: &'a S,
    /// The TLS configuration of the service's connections, which [`ServerContext::replace`] can
    /// change.
    pub context: ServerContext,
}

impl<S: Service> Service for TlsService<'_, S> {
    fn run<I: Io>(&self, io: I, seat: Seat<'_>) -> io::Result<()> {
        self.service.run(TlsIo::new(io, self.context.clone()), seat)
    }
}

/// The server's side of TLS on every accepted connection; connections made with [`Io::connect`] are
/// not encrypted.
///
/// - [`Event::Accepted`] comes before the handshake. If the handshake or a later record fails,
///   [`Event::Failed`] follows; its error contains the [`SessionError`].
/// - [`Event::EndOfStream`] reports close_notify or FIN, whichever comes first. A missing
///   close_notify is not reported: HTTP itself shows whether something is missing (RFC 9112 9.8).
/// - [`Io::shutdown`] and [`Io::close`] send close_notify.
pub struct TlsIo<I> {
    io: I,
    context: ServerContext,
    conns: ConnMap<Conn>,
    pool: Rc<Pool>,
    /// The events of the underlying loop, kept to reuse the memory.
    below: Vec<Event>,
    /// Events produced by calls between two polls.
    ready: Vec<Event>,
}

struct Conn {
    session: Session,
    outbox: Outbox,
    /// The user's vector, until its encrypted bytes have been sent.
    sending: Option<Vec<u8>>,
    shutdown_wanted: bool,
    finished: bool,
    failed: bool,
}

impl Conn {
    fn end_of_stream(&mut self, conn: ConnId, events: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.finished, true) && !self.failed {
            events.push(Event::EndOfStream { conn });
        }
    }

    fn fail(
        &mut self,
        conn: ConnId,
        error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
        events: &mut Vec<Event>,
    ) {
        if !std::mem::replace(&mut self.failed, true) {
            let error = io::Error::new(io::ErrorKind::InvalidData, error);
            events.push(Event::Failed { conn, error });
        }
    }

    fn settle<I: Io>(&mut self, io: &mut I, conn: ConnId, events: &mut Vec<Event>) {
        if self.outbox.pending_bytes() > 0 {
            return;
        }
        if let Some(bytes) = self.sending.take() {
            events.push(Event::Sent { conn, bytes });
        }
        if std::mem::take(&mut self.shutdown_wanted) {
            io.shutdown(conn);
        }
    }
}

impl<I: Io> TlsIo<I> {
    /// Adds TLS with the settings of `context` to the connections that `io` accepts.
    pub fn new(io: I, context: ServerContext) -> Self {
        Self {
            io,
            context,
            conns: ConnMap::default(),
            pool: Pool::new(PIECES, RECORD_BYTES),
            below: Vec::new(),
            ready: Vec::new(),
        }
    }

    fn translate(&mut self, event: Event, events: &mut Vec<Event>) {
        let conn = event.conn();
        if let Event::Accepted { .. } = &event {
            return self.accepted(event, events);
        }
        let Some(entry) = self.conns.get_mut(conn) else {
            events.push(event);
            return;
        };
        match event {
            Event::Received { bytes, .. } => self.received(conn, &bytes, events),
            Event::EndOfStream { .. } => match entry.session.is_handshaking() {
                true => entry.fail(conn, SessionError::ClosedInHandshake, events),
                false => entry.end_of_stream(conn, events),
            },
            Event::Sent { bytes, .. } => {
                entry.outbox.sent(bytes);
                entry.outbox.flush(&mut self.io, conn, false);
                entry.settle(&mut self.io, conn, events);
            }
            Event::Failed { .. } => {
                if !std::mem::replace(&mut entry.failed, true) {
                    events.push(event);
                }
            }
            Event::Accepted { .. } | Event::Connected { .. } => {}
        }
    }

    fn accepted(&mut self, event: Event, events: &mut Vec<Event>) {
        let conn = event.conn();
        events.push(event);
        match Session::server(&self.context) {
            Ok(session) => self.conns.insert(
                conn,
                Conn {
                    session,
                    outbox: Outbox::default(),
                    sending: None,
                    shutdown_wanted: false,
                    finished: false,
                    failed: false,
                },
            ),
            Err(error) => events.push(Event::Failed {
                conn,
                error: io::Error::other(error),
            }),
        }
    }

    fn received(&mut self, conn: ConnId, bytes: &[u8], events: &mut Vec<Event>) {
        let Some(entry) = self.conns.get_mut(conn).filter(|entry| !entry.failed) else {
            return;
        };
        let pool = &self.pool;
        let result = entry.session.receive(bytes, entry.outbox.queue(), |plain| {
            let bytes = pool.copy(plain).unwrap_or_else(|| Buffer::from(plain));
            events.push(Event::Received { conn, bytes });
        });
        // Sends the next handshake message, or the alert after an error.
        entry.outbox.flush(&mut self.io, conn, result.is_err());
        match result {
            Err(error) => entry.fail(conn, error, events),
            Ok(()) if entry.session.is_closed_by_peer() => entry.end_of_stream(conn, events),
            Ok(()) => {}
        }
    }

    fn send_encrypted(&mut self, conn: ConnId, bytes: Vec<u8>, now: bool) -> Option<Vec<u8>> {
        let Some(entry) = self.conns.get_mut(conn) else {
            return match now {
                true => self.io.send_now(conn, bytes),
                false => self.io.send(conn, bytes),
            };
        };
        debug_assert!(entry.sending.is_none(), "one send at a time");
        if let Err(error) = entry.session.send(&bytes, entry.outbox.queue()) {
            entry.fail(conn, error, &mut self.ready);
            return None;
        }
        entry.outbox.flush(&mut self.io, conn, now);
        if entry.outbox.pending_bytes() == 0 && bytes.len() <= SMALL_BYTES {
            return Some(bytes);
        }
        entry.sending = Some(bytes);
        entry.settle(&mut self.io, conn, &mut self.ready);
        None
    }

    fn take_leave(&mut self, conn: ConnId) {
        if let Some(mut entry) = self.conns.remove(conn)
            && !entry.failed
        {
            entry.session.close(entry.outbox.queue());
            entry.outbox.flush(&mut self.io, conn, true);
        }
    }
}

impl<I: Io> Io for TlsIo<I> {
    fn now_ns(&self) -> u64 {
        self.io.now_ns()
    }

    fn session(&self, conn: ConnId) -> Option<&Session> {
        self.conns.get(conn).map(|entry| &entry.session)
    }

    fn listen(&mut self, address: SocketAddr, shared: bool) -> io::Result<Bound> {
        self.io.listen(address, shared)
    }

    fn stop_listening(&mut self, listener: ListenerId) {
        self.io.stop_listening(listener);
    }

    fn connect(&mut self, peer: impl Into<Peer>, source: Option<IpAddr>) -> io::Result<ConnId> {
        self.io.connect(peer, source)
    }

    fn send(&mut self, conn: ConnId, bytes: Vec<u8>) -> Option<Vec<u8>> {
        self.send_encrypted(conn, bytes, false)
    }

    fn send_now(&mut self, conn: ConnId, bytes: Vec<u8>) -> Option<Vec<u8>> {
        self.send_encrypted(conn, bytes, true)
    }

    fn pause(&mut self, conn: ConnId) {
        self.io.pause(conn);
    }

    fn resume(&mut self, conn: ConnId) {
        self.io.resume(conn);
    }

    fn shutdown(&mut self, conn: ConnId) {
        let Some(entry) = self.conns.get_mut(conn) else {
            return self.io.shutdown(conn);
        };
        entry.session.close(entry.outbox.queue());
        entry.outbox.flush(&mut self.io, conn, true);
        entry.shutdown_wanted = true;
        entry.settle(&mut self.io, conn, &mut self.ready);
    }

    fn close(&mut self, conn: ConnId) {
        self.take_leave(conn);
        self.io.close(conn);
    }

    fn abort(&mut self, conn: ConnId) {
        self.conns.remove(conn);
        self.io.abort(conn);
    }

    fn poll(&mut self, until_ns: Option<u64>, events: &mut Vec<Event>) -> io::Result<()> {
        let conns = &self.conns;
        let before = events.len();
        let is_open = |it: &Event| conns.get(it.conn()).is_some();
        events.extend(self.ready.drain(..).filter(is_open));
        let idle = events.len() == before;
        let mut below = std::mem::take(&mut self.below);
        self.io
            .poll(if idle { until_ns } else { Some(0) }, &mut below)?;
        for event in below.drain(..) {
            self.translate(event, events);
        }
        self.below = below;
        Ok(())
    }
}
