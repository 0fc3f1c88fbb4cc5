//! One connection to an upstream's target.

use gatebench_net::http1::{Decoder, Limits};
use gatebench_net::timers::Deadline;
use gatebench_net::{ConnId, ConnMap, Io, Outbox};

use crate::client::Client;
use crate::hold::Hold;

/// A connection to a target, idle in the pool or at work for a client.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) id: ConnId,
    /// Its target's number.
    pub(crate) target: usize,
    pub(crate) decoder: Decoder,
    pub(crate) outbox: Outbox,
    /// Whose request it serves; none while idle.
    pub(crate) client: Option<ConnId>,
    pub(crate) is_connected: bool,
    /// It served a request before this one, so the target may have closed it meanwhile.
    pub(crate) is_reused: bool,
    /// Something came back for the request at hand.
    pub(crate) has_answered: bool,
    pub(crate) is_paused: bool,
    pub(crate) hold: Hold,
    pub(crate) deadline: Deadline,
    /// The request at hand, where it may be sent again; else empty.
    pub(crate) replay: Vec<u8>,
}

impl Origin {
    /// A connection that is being opened.
    pub(crate) fn connecting(id: ConnId, target: usize) -> Self {
        Self {
            id,
            target,
            decoder: Decoder::responses(Limits::default()),
            outbox: Outbox::default(),
            client: None,
            is_connected: false,
            is_reused: false,
            has_answered: false,
            is_paused: false,
            hold: Hold::default(),
            deadline: Deadline::default(),
            replay: Vec::new(),
        }
    }

    /// Sends what is queued, unless it is held or the connection is not open yet.
    pub(crate) fn flush<I: Io>(&mut self, io: &mut I) {
        if self.is_connected && !self.hold.is_held() {
            self.outbox.flush(io, self.id, false);
        }
    }

    /// Whether it has taken all it was given of a request that is still coming: then it is the client
    /// whose time runs.
    pub(crate) fn owes_nothing(&self, clients: &ConnMap<Client>) -> bool {
        let client = self.client.and_then(|id| clients.get(id));
        self.is_connected
            && self.outbox.pending_bytes() == 0
            && client.is_some_and(|client| !client.exchange.is_request_done)
    }

    /// Lets received bytes come again after a pause.
    pub(crate) fn resume<I: Io>(&mut self, io: &mut I) {
        if self.is_paused {
            self.is_paused = false;
            io.resume(self.id);
        }
    }
}
