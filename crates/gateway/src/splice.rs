//! The null gateway: opens a connection to the target for each client connection, and copies bytes
//! in both directions as they arrive. It parses no HTTP, so it adds only the costs that every proxy
//! on this machine has, such as two more sockets per connection, the wake-ups of the core that it
//! runs on, and the delays that it causes for other processes.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use gatebench_net::workers::{STOP_CHECK_NS, Seat, Service, Workers, WorkersError};
use gatebench_net::{Backend, ConnId, ConnMap, Event, Io, Outbox};

/// When more bytes than this are pending for one side, the other side is not read until at most
/// half as many are pending.
const PENDING_BYTES_MAX: usize = 128 * 1024;

/// Copies bytes between `target` and the clients that connect to `listen`, on one worker, until
/// `stop` is set. Calls `on_listening` with the bound address once connections are accepted.
///
/// # Errors
/// The kernel refuses `backend`, the gateway cannot listen on the address, or its event loop fails.
pub fn splice(
    listen: SocketAddr,
    target: SocketAddr,
    backend: Option<Backend>,
    stop: &AtomicBool,
    on_listening: impl FnOnce(SocketAddr),
) -> Result<(), WorkersError> {
    let workers = Workers {
        listen: &[listen],
        count: 1,
        cores: &[],
        backend,
        stop,
    };
    workers.serve(&Splice { target }, |bound| {
        if let [address, ..] = bound {
            on_listening(*address);
        }
    })
}

struct Splice {
    target: SocketAddr,
}

impl Service for Splice {
    fn run<I: Io>(&self, io: I, seat: Seat<'_>) -> io::Result<()> {
        let mut worker = Worker {
            io,
            target: self.target,
            ends: ConnMap::default(),
        };
        let mut events = Vec::with_capacity(256);
        while !seat.stopped() {
            let until = worker.io.now_ns() + STOP_CHECK_NS;
            worker.io.poll(Some(until), &mut events)?;
            for event in events.drain(..) {
                worker.handle(event);
            }
        }
        Ok(())
    }
}

struct End {
    other: ConnId,
    outbox: Outbox,
    /// The connection is established, so bytes may be sent.
    is_up: bool,
    /// This side's peer has sent FIN and will send no more.
    has_ended: bool,
    /// The other side has sent FIN, which must still be passed on to this side after the pending
    /// bytes.
    is_ending: bool,
    /// This side is not read, because too many bytes are pending for the other side.
    is_paused: bool,
}

impl End {
    fn new(other: ConnId, is_up: bool) -> Self {
        Self {
            other,
            outbox: Outbox::default(),
            is_up,
            has_ended: false,
            is_ending: false,
            is_paused: false,
        }
    }
}

struct Worker<I> {
    io: I,
    target: SocketAddr,
    ends: ConnMap<End>,
}

impl<I: Io> Worker<I> {
    fn handle(&mut self, event: Event) {
        match event {
            Event::Accepted { conn, .. } => self.accepted(conn),
            Event::Connected { conn } => {
                if let Some(end) = self.ends.get_mut(conn) {
                    end.is_up = true;
                }
                self.go_on(conn);
            }
            Event::Received { conn, bytes } => self.received(conn, &bytes),
            Event::Sent { conn, bytes } => {
                if let Some(end) = self.ends.get_mut(conn) {
                    end.outbox.sent(bytes);
                }
                self.go_on(conn);
            }
            Event::EndOfStream { conn } => self.ended(conn),
            Event::Failed { conn, .. } => self.end_both(conn, I::abort),
        }
    }

    fn accepted(&mut self, client: ConnId) {
        match self.io.connect(self.target, None) {
            Ok(upstream) => {
                self.ends.insert(client, End::new(upstream, true));
                self.ends.insert(upstream, End::new(client, false));
            }
            Err(_) => self.io.abort(client),
        }
    }

    fn received(&mut self, conn: ConnId, bytes: &[u8]) {
        let Some(end) = self.ends.get_mut(conn) else {
            return;
        };
        let other = end.other;
        let Some(to) = self.ends.get_mut(other) else {
            return;
        };
        to.outbox.queue().extend_from_slice(bytes);
        if to.outbox.pending_bytes() > PENDING_BYTES_MAX {
            self.io.pause(conn);
            if let Some(end) = self.ends.get_mut(conn) {
                end.is_paused = true;
            }
        }
        self.go_on(other);
    }

    /// Sends the pending bytes of a side, resumes reading the other side once few are left, and
    /// sends FIN after the last byte if the other side has ended. Closes both sides when both have
    /// ended and every byte has been forwarded.
    fn go_on(&mut self, conn: ConnId) {
        let Some(end) = self.ends.get_mut(conn).filter(|end| end.is_up) else {
            return;
        };
        end.outbox.flush(&mut self.io, conn, false);
        let (other, pending) = (end.other, end.outbox.pending_bytes());
        if pending == 0 && end.is_ending {
            end.is_ending = false;
            self.io.shutdown(conn);
        }
        if let Some(other_end) = self.ends.get_mut(other)
            && other_end.is_paused
            && pending <= PENDING_BYTES_MAX / 2
        {
            other_end.is_paused = false;
            self.io.resume(other);
        }
        if self.is_over(conn) {
            self.end_both(conn, I::close);
        }
    }

    fn is_over(&self, conn: ConnId) -> bool {
        let is_done = |end: &&End| end.has_ended && end.outbox.pending_bytes() == 0;
        let end = self.ends.get(conn).filter(is_done);
        end.is_some_and(|end| self.ends.get(end.other).filter(is_done).is_some())
    }

    fn ended(&mut self, conn: ConnId) {
        let Some(end) = self.ends.get_mut(conn) else {
            return;
        };
        end.has_ended = true;
        let other = end.other;
        if let Some(other_end) = self.ends.get_mut(other) {
            other_end.is_ending = true;
        }
        self.go_on(other);
    }

    fn end_both(&mut self, conn: ConnId, end_one: impl Fn(&mut I, ConnId)) {
        if let Some(end) = self.ends.remove(conn) {
            self.ends.remove(end.other);
            end_one(&mut self.io, conn);
            end_one(&mut self.io, end.other);
        }
    }
}
