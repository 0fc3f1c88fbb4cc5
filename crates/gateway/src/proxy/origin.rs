//! One connection to an upstream's target.

use gatebench_net::http1::{Decoder, Limits};
use gatebench_net::timers::{Deadline, Timers};
use gatebench_net::tls::{ClientContext, Session, SessionError, SettingsError};
use gatebench_net::{ConnId, Io, Outbox};

use super::worker::{Clients, exchange_mut};
use crate::client_ref::ClientRef;
use crate::compiled::Waits;
use crate::faults::Hold;

/// A connection to a target, idle in the pool or in use for a client.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) id: ConnId,
    /// The worker's number for the target.
    pub(crate) target: usize,
    pub(crate) decoder: Decoder,
    /// Plaintext that waits to be sent, directly or through `tls`.
    pub(crate) outbox: Outbox,
    tls: Option<Box<Tls>>,
    /// The client whose request the connection serves; `None` while it is idle.
    pub(crate) client: Option<ClientRef>,
    /// The timeouts for the current request.
    pub(crate) waits: Waits,
    /// True once the connection is established and its handshake, if any, is complete.
    pub(crate) is_connected: bool,
    /// True if the connection was taken from the pool, so the target may have closed it in the
    /// meantime.
    pub(crate) is_reused: bool,
    /// True once bytes of the response to the current request have arrived.
    pub(crate) has_responded: bool,
    pub(crate) is_paused: bool,
    /// True while the request is waiting for its count from Redis.
    pub(crate) is_gated: bool,
    pub(crate) hold: Hold,
    pub(crate) deadline: Deadline,
    /// A copy of the current request if it may be sent again; otherwise empty.
    pub(crate) replay: Vec<u8>,
}

/// The TLS state of a connection, created when the connection is established.
#[derive(Debug)]
struct Tls {
    session: Session,
    /// Encrypted bytes to be sent.
    wire: Outbox,
    /// The buffer for the plaintext of one receive operation.
    plain: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Unsealed {
    /// The plaintext. The caller passes the vector to [`Origin::keep`], which reuses its memory.
    pub(crate) plain: Vec<u8>,
    /// True if these bytes completed the handshake.
    pub(crate) is_ready: bool,
    /// True if the target will send no more.
    pub(crate) is_end: bool,
}

impl Origin {
    pub(crate) fn connecting(id: ConnId, target: usize, waits: Waits) -> Self {
        Self {
            id,
            target,
            decoder: Decoder::responses(Limits::default()),
            outbox: Outbox::default(),
            tls: None,
            client: None,
            waits,
            is_connected: false,
            is_reused: false,
            has_responded: false,
            is_paused: false,
            is_gated: false,
            hold: Hold::default(),
            deadline: Deadline::default(),
            replay: Vec::new(),
        }
    }

    pub(crate) fn shake_hands<I: Io>(
        &mut self,
        context: &ClientContext,
        io: &mut I,
    ) -> Result<(), SettingsError> {
        let mut wire = Outbox::default();
        let session = Session::client(context, wire.queue())?;
        wire.flush(io, self.id, false);
        self.tls = Some(Box::new(Tls {
            session,
            wire,
            plain: Vec::new(),
        }));
        Ok(())
    }

    /// Decrypts received bytes; returns `None` on a connection without TLS.
    pub(crate) fn unseal<I: Io>(
        &mut self,
        bytes: &[u8],
        io: &mut I,
    ) -> Result<Option<Unsealed>, SessionError> {
        let Some(tls) = &mut self.tls else {
            return Ok(None);
        };
        let mut plain = std::mem::take(&mut tls.plain);
        plain.clear();
        let heard = |said: &[u8]| plain.extend_from_slice(said);
        let taken = tls.session.receive(bytes, tls.wire.queue(), heard);
        // The output is sent even after an error, because it then contains an alert for the target.
        tls.wire.flush(io, self.id, false);
        taken?;
        let is_ready = !self.is_connected && !tls.session.is_handshaking();
        Ok(Some(Unsealed {
            plain,
            is_ready,
            is_end: tls.session.is_closed_by_peer(),
        }))
    }

    pub(crate) fn keep(&mut self, plain: Vec<u8>) {
        /// A buffer that has grown larger than this is not kept.
        const KEEP_BYTES: usize = 256 * 1024;
        if let Some(tls) = &mut self.tls
            && plain.capacity() <= KEEP_BYTES
        {
            tls.plain = plain;
        }
    }

    /// Reports whether the end of the connection may mark the end of a response. Over TLS, this
    /// requires the target's close_notify alert, because anyone on the path could cut off the
    /// connection.
    pub(crate) fn may_end(&self) -> bool {
        let tls = self.tls.as_ref();
        tls.is_none_or(|tls| tls.session.end_of_stream().is_ok())
    }

    /// Sends the queued bytes, unless they are held or wait for Redis, or the connection is not
    /// open yet.
    pub(crate) fn flush<I: Io>(&mut self, io: &mut I) {
        if !self.is_connected || self.is_gated || self.hold.is_held() {
            return;
        }
        let Some(tls) = &mut self.tls else {
            return self.outbox.flush(io, self.id, false);
        };
        let plain = self.outbox.queue();
        if !plain.is_empty() {
            // An error means that the session's keys may encrypt no more bytes. The target then
            // does not receive the whole request, so the request fails.
            let _ = tls.session.send(plain, tls.wire.queue());
            plain.clear();
        }
        tls.wire.flush(io, self.id, false);
    }

    pub(crate) fn sent<I: Io>(&mut self, bytes: Vec<u8>, io: &mut I) {
        match &mut self.tls {
            None => self.outbox.sent(bytes),
            Some(tls) => {
                tls.wire.sent(bytes);
                tls.wire.flush(io, self.id, false);
            }
        }
        self.flush(io);
    }

    /// Returns the number of bytes that the kernel has not accepted yet.
    pub(crate) fn pending_bytes(&self) -> usize {
        let sealed = self.tls.as_ref().map_or(0, |tls| tls.wire.pending_bytes());
        self.outbox.pending_bytes() + sealed
    }

    /// Restarts the timeout within which the target must send or accept more bytes.
    pub(crate) fn expect_life(&mut self, now_ns: u64, timers: &mut Timers<ClientRef>) {
        let due_ns = now_ns + self.waits.upstream_ns;
        self.deadline.set(due_ns, self.id.into(), timers);
    }

    /// Reports whether the request is still arriving and everything received so far has been sent.
    /// In that case, the client's deadline applies, not the target's.
    pub(crate) fn owes_nothing(&self, clients: &mut Clients) -> bool {
        let exchange = self.client.and_then(|id| exchange_mut(clients, id));
        self.is_connected
            && self.pending_bytes() == 0
            && exchange.is_some_and(|exchange| !exchange.is_request_done)
    }

    /// Stops receiving until [`Self::resume`]. Does nothing while the connection is being opened.
    pub(crate) fn pause<I: Io>(&mut self, io: &mut I) {
        if self.is_connected && !self.is_paused {
            self.is_paused = true;
            self.deadline.clear();
            io.pause(self.id);
        }
    }

    pub(crate) fn resume<I: Io>(&mut self, io: &mut I) {
        if self.is_paused {
            self.is_paused = false;
            io.resume(self.id);
        }
    }
}
