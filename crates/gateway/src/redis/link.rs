//! One worker's connection to one Redis server, for limits with the same timeout. It is opened when
//! it is first needed.

use std::collections::VecDeque;
use std::io;

use gatebench_net::timers::{Deadline, Timers};
use gatebench_net::{ConnId, Io, Outbox};

use super::limit::{RedisLimit, Server};
use super::resp::{self, Reply};
use crate::client_ref::ClientRef;
use crate::message::Digits;

/// The minimum time between two attempts to connect to Redis.
const RETRY_NS: u64 = 500_000_000;

/// The maximum size, in bytes, of the commands that wait to be sent. If they exceed it, Redis is
/// treated as unavailable.
const QUEUED_BYTES_MAX: usize = 4 << 20;

/// The part of the worker that waits for the reply to a [`Question`].
#[derive(Clone, Debug)]
pub(crate) enum Asker {
    /// A client whose request waits, with the serial number of the question.
    Request(ClientRef, u64),
    /// The worker's own counts, with the key and the amount sent.
    Counts(Box<[u8]>, u64),
    /// The link itself, which waits for the reply to AUTH.
    Greeting,
}

/// The commands about one key, or AUTH, while Redis has not replied to all of them.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) asker: Asker,
    pub(crate) limit: usize,
    due_ns: u64,
}

/// Redis's reply about a key, or `Nothing` if there will be none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Count { count: u64, left_ms: u64 },
    Nothing,
}

#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) server: Server,
    /// False once a reload has removed all limits that use the link.
    pub(crate) is_used: bool,
    conn: Option<ConnId>,
    is_connected: bool,
    outbox: Outbox,
    /// Bytes received but not parsed yet.
    input: Vec<u8>,
    asked: VecDeque<Question>,
    /// The integers received so far in reply to the three commands about the key of the oldest
    /// [`Question`].
    replies: Vec<i64>,
    deadline: Deadline,
    retry_at_ns: u64,
    /// True if Redis has not replied since the last failure. Further failures are not reported
    /// then.
    pub(crate) is_gone: bool,
    /// A message for the operator, not delivered yet.
    pub(crate) trouble: Option<String>,
}

impl Link {
    pub(crate) fn new(server: Server) -> Self {
        Self {
            server,
            is_used: true,
            conn: None,
            is_connected: false,
            outbox: Outbox::default(),
            input: Vec::new(),
            asked: VecDeque::new(),
            replies: Vec::new(),
            deadline: Deadline::default(),
            retry_at_ns: 0,
            is_gone: false,
            trouble: None,
        }
    }

    pub(crate) fn owns(&self, conn: ConnId) -> bool {
        self.conn == Some(conn)
    }

    pub(crate) fn is_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Renumbers the limits of pending questions; `limits` maps old numbers to new ones.
    pub(crate) fn renumber(&mut self, limits: &[Option<usize>]) {
        for question in &mut self.asked {
            let number = limits.get(question.limit).copied().flatten();
            question.limit = number.unwrap_or(usize::MAX);
        }
    }

    /// Sends the commands that add `amount` to the count of a key; returns false if Redis is
    /// unavailable.
    pub(crate) fn ask<I: Io>(
        &mut self,
        core: &mut Base<'_, I>,
        limit: &RedisLimit,
        key: &[u8],
        amount: u64,
        asker: Asker,
    ) -> bool {
        if self.outbox.pending_bytes() > QUEUED_BYTES_MAX || self.open(core).is_err() {
            return false;
        }
        let (number, window) = (Digits::new(amount), Digits::new(limit.window_ms));
        let out = self.outbox.queue();
        resp::write_command(out, &[b"INCRBY", key, number.bytes()]);
        resp::write_command(out, &[b"PEXPIRE", key, window.bytes(), b"NX"]);
        resp::write_command(out, &[b"PTTL", key]);
        self.asked.push_back(Question {
            asker,
            limit: limit.number,
            due_ns: core.now_ns + self.server.timeout_ns,
        });
        self.arm(core);
        self.flush(core.io);
        true
    }

    fn open<I: Io>(&mut self, core: &mut Base<'_, I>) -> io::Result<()> {
        if self.conn.is_some() {
            return Ok(());
        }
        if core.now_ns < self.retry_at_ns {
            return Err(io::ErrorKind::NotConnected.into());
        }
        self.retry_at_ns = core.now_ns + RETRY_NS;
        let conn = core.io.connect(self.server.address, None)?;
        self.conn = Some(conn);
        self.deadline = Deadline::default();
        if let Some(password) = &self.server.password {
            resp::write_command(self.outbox.queue(), &[b"AUTH", password.as_bytes()]);
            self.asked.push_back(Question {
                asker: Asker::Greeting,
                limit: 0,
                due_ns: u64::MAX,
            });
        }
        Ok(())
    }

    /// Sets the deadline to the earlier of the deadlines of the two oldest questions. The oldest
    /// may be AUTH, which has no deadline.
    fn arm<I: Io>(&mut self, core: &mut Base<'_, I>) {
        let oldest = self.asked.iter().map(|question| question.due_ns);
        match (self.conn, oldest.clone().take(2).min()) {
            (Some(conn), Some(due_ns)) if due_ns < u64::MAX => {
                self.deadline.set(due_ns, conn.into(), core.timers);
            }
            _ => self.deadline.clear(),
        }
    }

    fn flush<I: Io>(&mut self, io: &mut I) {
        if let Some(conn) = self.conn.filter(|_| self.is_connected) {
            self.outbox.flush(io, conn, false);
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

    pub(crate) fn is_due<I: Io>(&mut self, core: &mut Base<'_, I>) -> bool {
        let deadline = &mut self.deadline;
        let conn = self.conn;
        conn.is_some_and(|conn| deadline.expired(core.polled_ns, conn.into(), core.timers))
    }

    /// Processes received bytes and calls `heard` for each question, other than AUTH, to which
    /// Redis has now replied. Returns false if the peer is not Redis or reports an error.
    pub(crate) fn received<I: Io>(
        &mut self,
        core: &mut Base<'_, I>,
        bytes: &[u8],
        mut heard: impl FnMut(Question, Said),
    ) -> bool {
        let mut held = std::mem::take(&mut self.input);
        held.extend_from_slice(bytes);
        let mut input = held.as_slice();
        let is_fine = loop {
            match resp::next(&mut input) {
                Ok(Some(reply)) if self.take(&reply, &mut heard) => {}
                Ok(Some(_)) => break false,
                Ok(None) => break true,
                Err(resp::NotResp) => {
                    self.complain("its replies are not RESP; write the port of a Redis server");
                    break false;
                }
            }
        };
        let left = input.len();
        held.drain(..held.len() - left);
        self.input = held;
        self.arm(core);
        is_fine
    }

    /// Processes one reply; returns false if it is an error or was not expected.
    fn take(&mut self, reply: &Reply, heard: &mut impl FnMut(Question, Said)) -> bool {
        let asker = self.asked.front().map(|question| &question.asker);
        let is_greeting = matches!(asker, Some(Asker::Greeting));
        match reply {
            Reply::Error(words) => {
                self.complain(words);
                return false;
            }
            Reply::Fine if is_greeting => {
                self.asked.pop_front();
                return true;
            }
            Reply::Integer(number) if !is_greeting => self.replies.push(*number),
            Reply::Fine | Reply::Integer(_) => return false,
        }
        let [count, _, left_ms] = self.replies[..] else {
            return true;
        };
        self.replies.clear();
        let Some(question) = self.asked.pop_front() else {
            return false;
        };
        self.is_gone = false;
        heard(
            question,
            Said::Count {
                count: u64::try_from(count).unwrap_or(0),
                left_ms: u64::try_from(left_ms).unwrap_or(0),
            },
        );
        true
    }

    /// Stores a message for the operator, unless Redis has not replied since the last failure.
    pub(crate) fn complain(&mut self, words: &str) {
        if !self.is_gone {
            let address = self.server.address;
            self.trouble = Some(format!("environment: redis at {address}: {words}"));
        }
    }

    /// Closes the connection. Returns the pending questions, which will get no replies.
    pub(crate) fn give_up<I: Io>(&mut self, core: &mut Base<'_, I>) -> VecDeque<Question> {
        if let Some(conn) = self.conn.take() {
            core.io.close(conn);
        }
        self.is_connected = false;
        self.outbox = Outbox::default();
        self.input.clear();
        self.replies.clear();
        self.retry_at_ns = core.now_ns + RETRY_NS;
        // Redis may close an idle connection; that is not a failure.
        self.is_gone |= !self.asked.is_empty();
        std::mem::take(&mut self.asked)
    }
}

/// The parts of the worker that a link uses.
pub(crate) struct Base<'c, I> {
    pub(crate) io: &'c mut I,
    pub(crate) timers: &'c mut Timers<ClientRef>,
    pub(crate) polled_ns: u64,
    pub(crate) now_ns: u64,
}
