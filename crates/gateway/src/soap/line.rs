//! One worker's connection to one helper, opened when it is first needed.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Weak};

use gatebench_net::timers::{Deadline, Timers};
use gatebench_net::{ConnId, Io, Outbox};
use gatebench_xml::saxon::{Engine, Made, Order, Saxon, next_response};
use gatebench_xml::soap::Paused;

use crate::client_ref::ClientRef;

/// A pending order, with the client that waits for its result.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) client_ref: ClientRef,
    /// The order is kept until its result arrives, so that it can be passed to another helper if
    /// this one ends.
    pub(crate) order: Order,
    /// The number of helpers that ended while they held the order.
    pub(crate) losses: u32,
}

#[derive(Debug)]
pub(crate) struct Parked {
    pub(crate) number: u64,
    pub(crate) paused: Paused,
}

#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) engine: Arc<Engine>,
    /// A weak reference, so that the line does not keep the helpers alive.
    pub(crate) saxon: Weak<Saxon>,
    pub(crate) conn: ConnId,
    is_connected: bool,
    outbox: Outbox,
    /// Bytes received but not parsed yet.
    input: Vec<u8>,
    /// The orders that have no result yet, oldest first.
    pub(crate) asked: VecDeque<Asked>,
    deadline: Deadline,
    patience_ns: u64,
}

impl Line {
    pub(crate) fn open<I: Io>(
        io: &mut I,
        engine: Arc<Engine>,
        saxon: &Arc<Saxon>,
    ) -> io::Result<Self> {
        let conn = io.connect(engine.address(), None)?;
        Ok(Self {
            engine,
            saxon: Arc::downgrade(saxon),
            conn,
            is_connected: false,
            outbox: Outbox::default(),
            input: Vec::new(),
            asked: VecDeque::new(),
            deadline: Deadline::default(),
            patience_ns: u64::try_from(saxon.patience().as_nanos()).unwrap_or(u64::MAX / 2),
        })
    }

    /// Queues an order until [`Self::flush`] sends it.
    pub(crate) fn ask(&mut self, asked: Asked, now_ns: u64, timers: &mut Timers<ClientRef>) {
        self.outbox.queue().extend_from_slice(&asked.order.bytes);
        self.asked.push_back(asked);
        if self.asked.len() == 1 {
            self.expect_life(now_ns, timers);
        }
    }

    pub(crate) fn flush<I: Io>(&mut self, io: &mut I) {
        if self.is_connected {
            self.outbox.flush(io, self.conn, false);
        }
    }

    pub(crate) fn connected<I: Io>(&mut self, io: &mut I) {
        self.is_connected = true;
        self.flush(io);
    }

    pub(crate) fn sent<I: Io>(&mut self, bytes: Vec<u8>, io: &mut I) {
        self.outbox.sent(bytes);
        self.flush(io);
    }

    /// Processes bytes from the helper and passes each order with its result to `heard`. Returns
    /// false if the helper sent a result although no order was pending.
    pub(crate) fn received(&mut self, bytes: &[u8], mut heard: impl FnMut(Asked, Made)) -> bool {
        self.input.extend_from_slice(bytes);
        let mut said = self.input.as_slice();
        let mut is_fine = true;
        while let Some(made) = next_response(&mut said) {
            match self.asked.pop_front() {
                Some(asked) => heard(asked, made),
                None => is_fine = false,
            }
        }
        let left = said.len();
        self.input.drain(..self.input.len() - left);
        is_fine
    }

    /// Restarts the helper's time limit for the next result, or clears it if no order is pending.
    pub(crate) fn expect_life(&mut self, now_ns: u64, timers: &mut Timers<ClientRef>) {
        match self.asked.is_empty() {
            true => self.deadline.clear(),
            false => {
                let due_ns = now_ns.saturating_add(self.patience_ns);
                self.deadline.set(due_ns, self.conn.into(), timers);
            }
        }
    }

    pub(crate) fn is_due(&mut self, now_ns: u64, timers: &mut Timers<ClientRef>) -> bool {
        self.deadline.expired(now_ns, self.conn.into(), timers)
    }
}
