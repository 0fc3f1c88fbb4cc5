//! One connection to an upstream's target.

use gatebench_net::http1::{Decoder, Limits};
use gatebench_net::timers::{Deadline, Timers};
use gatebench_net::tls::{ClientContext, Session, SessionError, SettingsError};
use gatebench_net::{ConnId, Io, Outbox};

use super::clients::Clients;
use crate::client_ref::ClientRef;
use crate::compiled::Waits;
use crate::faults::Hold;

/// A connection to a target, idle in the pool or at work for a client.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) id: ConnId,
    /// Its target's number.
    pub(crate) target: usize,
    pub(crate) decoder: Decoder,
    /// What is said to the target; on its way out at once, or in TLS first.
    pub(crate) outbox: Outbox,
    tls: Option<Box<Tls>>,
    /// Whose request it serves; none while idle.
    pub(crate) client: Option<ClientRef>,
    /// How long the target has for the request at hand.
    pub(crate) waits: Waits,
    /// It can carry a request: connected, and with its handshake done.
    pub(crate) is_connected: bool,
    /// It served a request before this one, so the target may have closed it meanwhile.
    pub(crate) is_reused: bool,
    /// Something came back for the request at hand.
    pub(crate) has_answered: bool,
    pub(crate) is_paused: bool,
    /// It is not known yet whether the request at hand may go on.
    pub(crate) is_gated: bool,
    pub(crate) hold: Hold,
    pub(crate) deadline: Deadline,
    /// The request at hand, where it may be sent again; else empty.
    pub(crate) replay: Vec<u8>,
}

/// The TLS of a connection, begun when that is established.
#[derive(Debug)]
struct Tls {
    session: Session,
    /// Encrypted bytes.
    wire: Outbox,
    /// What one receive said.
    plain: Vec<u8>,
}

/// What a receive did to a connection.
#[derive(Debug, Default)]
pub(crate) struct Unsealed {
    /// What it said; to be given back for its memory.
    pub(crate) plain: Vec<u8>,
    /// The handshake is done now.
    pub(crate) is_ready: bool,
    /// The target will say no more.
    pub(crate) is_end: bool,
}

impl Origin {
    /// A connection that is being opened.
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
            has_answered: false,
            is_paused: false,
            is_gated: false,
            hold: Hold::default(),
            deadline: Deadline::default(),
            replay: Vec::new(),
        }
    }

    /// Begins the handshake on a connection that is established.
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

    /// Whether what arrives has to go through [`Self::unseal`] first.
    pub(crate) fn is_sealed(&self) -> bool {
        self.tls.is_some()
    }

    /// Takes what arrived out of TLS.
    pub(crate) fn unseal<I: Io>(
        &mut self,
        bytes: &[u8],
        io: &mut I,
    ) -> Result<Unsealed, SessionError> {
        let Some(tls) = &mut self.tls else {
            return Ok(Unsealed::default());
        };
        let mut plain = std::mem::take(&mut tls.plain);
        plain.clear();
        let heard = |said: &[u8]| plain.extend_from_slice(said);
        let taken = tls.session.receive(bytes, tls.wire.queue(), heard);
        // Also after an error, when it tells the target why.
        tls.wire.flush(io, self.id, false);
        taken?;
        let is_ready = !self.is_connected && !tls.session.is_handshaking();
        Ok(Unsealed {
            plain,
            is_ready,
            is_end: tls.session.is_closed_by_peer(),
        })
    }

    /// Gives the memory of [`Unsealed`] back.
    pub(crate) fn keep(&mut self, plain: Vec<u8>) {
        /// Memory that grew beyond this for one receive is not kept.
        const KEEP_BYTES: usize = 256 * 1024;
        if let Some(tls) = &mut self.tls
            && plain.capacity() <= KEEP_BYTES
        {
            tls.plain = plain;
        }
    }

    /// Whether the end of the connection is one that the target meant: over TLS anybody on the way could
    /// cut it off.
    pub(crate) fn may_end(&self) -> bool {
        let tls = self.tls.as_ref();
        tls.is_none_or(|tls| tls.session.end_of_stream().is_ok())
    }

    /// Sends what is queued, unless it is held or the connection is not open yet.
    pub(crate) fn flush<I: Io>(&mut self, io: &mut I) {
        if !self.is_connected || self.is_gated || self.hold.is_held() {
            return;
        }
        let Some(tls) = &mut self.tls else {
            return self.outbox.flush(io, self.id, false);
        };
        let plain = self.outbox.queue();
        if !plain.is_empty() {
            // Where the keys are used up the target is told, and closes: then the request fails.
            let _ = tls.session.send(plain, tls.wire.queue());
            plain.clear();
        }
        tls.wire.flush(io, self.id, false);
    }

    /// Takes back the vector of a send that is done, and goes on sending.
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

    /// Bytes that the kernel has not taken yet.
    pub(crate) fn pending_bytes(&self) -> usize {
        let sealed = self.tls.as_ref().map_or(0, |tls| tls.wire.pending_bytes());
        self.outbox.pending_bytes() + sealed
    }

    /// From now on the target has its full time for a sign of life.
    pub(crate) fn expect_life(&mut self, now_ns: u64, timers: &mut Timers<ClientRef>) {
        let due_ns = now_ns + self.waits.upstream_ns;
        self.deadline.set(due_ns, self.id.into(), timers);
    }

    /// Whether it has taken all it was given of a request that is still coming: then it is the client
    /// whose time runs.
    pub(crate) fn owes_nothing(&self, clients: &Clients) -> bool {
        let client = self.client.and_then(|id| clients.client(id));
        self.is_connected
            && self.pending_bytes() == 0
            && client.is_some_and(|client| !client.exchange.is_request_done)
    }

    /// Receives nothing more until [`Self::resume`]. A connection that is being made is paused at its first
    /// bytes.
    pub(crate) fn pause<I: Io>(&mut self, io: &mut I) {
        if self.is_connected && !self.is_paused {
            self.is_paused = true;
            self.deadline.clear();
            io.pause(self.id);
        }
    }

    /// Lets received bytes come again after a pause.
    pub(crate) fn resume<I: Io>(&mut self, io: &mut I) {
        if self.is_paused {
            self.is_paused = false;
            io.resume(self.id);
        }
    }
}
