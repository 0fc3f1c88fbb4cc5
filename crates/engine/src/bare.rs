//! Measures the maximum message rate of loopback TCP through the event loops. Requests of one size
//! and responses of another go back and forth, and neither side parses them.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use gatebench_net::workers::{STOP_CHECK_NS, Seat, Service, Workers, joined, pin_to_core};
use gatebench_net::{Backend, ConnId, ConnMap, Event, Io, IoTask};

use crate::load::nanos;
use crate::population::share;

const CONNECT_NS: u64 = 5_000_000_000;

/// An exchange of messages over loopback TCP, through the event loops of the engine and the
/// upstream. The client sends a message on each connection, and another whenever a whole response
/// has arrived. The server counts the received bytes and responds to each whole message.
#[derive(Clone, Debug)]
pub struct Bare {
    pub asked_bytes: usize,
    pub answered_bytes: usize,
    /// The total number of connections over all client cores.
    pub connections: u32,
    pub warm_up: Duration,
    pub measure: Duration,
    /// The client's cores, with one worker on each. If empty, one unpinned worker runs.
    pub client_cores: Vec<usize>,
    pub server_cores: Vec<usize>,
    /// True if the client polls for responses instead of sleeping until they arrive.
    pub spin: bool,
    /// `None` selects the best kernel interface available.
    pub backend: Option<Backend>,
}

/// The result of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The number of responses that arrived during the measurement.
    pub exchanges: u64,
    pub measure_ns: u64,
}

impl Bare {
    /// # Errors
    /// Fails if the kernel refuses a core, an address, the event loop or a connection. Also fails
    /// if the connections are not up within 5 s, or if one of them ends early.
    pub fn carry(&self) -> io::Result<Carried> {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let (heard, listening) = mpsc::channel();
            let server = scope.spawn(|| {
                let listen = [SocketAddr::from((Ipv4Addr::LOCALHOST, 0))];
                let workers = Workers {
                    listen: &listen,
                    count: self.server_cores.len().max(1),
                    cores: &self.server_cores,
                    backend: self.backend,
                    stop: &stop,
                };
                let at = move |bound: &[SocketAddr]| {
                    // The receiver outlives this thread, so sending cannot fail.
                    let _ = heard.send(bound[0]);
                };
                workers.serve(&Echo(self), at).map_err(io::Error::other)
            });
            let carried = match listening.recv() {
                Ok(address) => self.clients(address),
                // The server has failed, and the caller gets its error.
                Err(_) => Err(io::ErrorKind::NotConnected.into()),
            };
            stop.store(true, Ordering::Relaxed);
            joined(server).and(carried)
        })
    }

    fn clients(&self, server: SocketAddr) -> io::Result<Carried> {
        let workers = self.client_cores.len().max(1);
        let exchanges: io::Result<u64> = thread::scope(|scope| {
            let client = |worker: usize| {
                let client = Client {
                    bare: self,
                    server,
                    connections: share(u64::from(self.connections), worker, workers),
                };
                let core = self.client_cores.get(worker).copied();
                scope.spawn(move || {
                    core.map_or(Ok(()), pin_to_core)?;
                    gatebench_net::run(self.backend, client)?
                })
            };
            let threads: Vec<_> = (0..workers).map(client).collect();
            threads.into_iter().map(joined).sum()
        });
        Ok(Carried {
            exchanges: exchanges?,
            measure_ns: nanos(self.measure),
        })
    }
}

struct Side {
    /// The number of bytes of the current message that have not arrived.
    missing: usize,
    /// The message to send; `None` while the loop is sending it.
    message: Option<Vec<u8>>,
    /// The number of messages that are still to be sent.
    owed: u64,
}

impl Side {
    fn new(expects: usize, sends: usize) -> Self {
        Self {
            missing: expects.max(1),
            message: Some(vec![b'x'; sends.max(1)]),
            owed: 0,
        }
    }

    /// Counts received bytes, and returns the number of messages that they complete.
    fn took(&mut self, mut bytes: usize, expects: usize) -> u64 {
        let mut whole = 0;
        while bytes >= self.missing {
            bytes -= self.missing;
            self.missing = expects.max(1);
            whole += 1;
        }
        self.missing -= bytes;
        whole
    }

    /// Sends the pending messages until the loop accepts no more.
    fn send<I: Io>(&mut self, io: &mut I, conn: ConnId) {
        while self.owed > 0
            && let Some(message) = self.message.take()
        {
            self.owed -= 1;
            self.message = io.send(conn, message);
        }
    }
}

struct Echo<'a>(&'a Bare);

impl Service for Echo<'_> {
    fn run<I: Io>(&self, mut io: I, seat: Seat<'_>) -> io::Result<()> {
        let Self(bare) = self;
        let mut conns: ConnMap<Side> = ConnMap::default();
        let mut events = Vec::new();
        while !seat.stopped() {
            io.poll(Some(io.now_ns() + STOP_CHECK_NS), &mut events)?;
            for event in events.drain(..) {
                let conn = event.conn();
                match event {
                    Event::Accepted { .. } => {
                        conns.insert(conn, Side::new(bare.asked_bytes, bare.answered_bytes));
                    }
                    Event::Received { bytes, .. } => {
                        if let Some(side) = conns.get_mut(conn) {
                            side.owed += side.took(bytes.len(), bare.asked_bytes);
                            drop(bytes);
                            side.send(&mut io, conn);
                        }
                    }
                    Event::Sent { bytes, .. } => {
                        if let Some(side) = conns.get_mut(conn) {
                            side.message = Some(bytes);
                            side.send(&mut io, conn);
                        }
                    }
                    Event::EndOfStream { .. } | Event::Failed { .. } => {
                        conns.remove(conn);
                        io.close(conn);
                    }
                    Event::Connected { .. } => {}
                }
            }
        }
        Ok(())
    }
}

struct Client<'a> {
    bare: &'a Bare,
    server: SocketAddr,
    connections: u64,
}

impl IoTask for Client<'_> {
    type Output = io::Result<u64>;

    fn run<I: Io>(self, mut io: I) -> io::Result<u64> {
        let bare = self.bare;
        let mut sides = self.connected(&mut io)?;
        let begin_ns = io.now_ns() + nanos(bare.warm_up);
        let end_ns = begin_ns + nanos(bare.measure);
        for (conn, side) in sides.iter_mut() {
            side.owed = 1;
            side.send(&mut io, conn);
        }
        let (mut exchanges, mut events) = (0, Vec::new());
        loop {
            io.poll(Some(if bare.spin { 0 } else { end_ns }), &mut events)?;
            let now_ns = io.now_ns();
            if now_ns >= end_ns {
                return Ok(exchanges);
            }
            for event in events.drain(..) {
                let conn = event.conn();
                let Some(side) = sides.get_mut(conn) else {
                    continue;
                };
                match event {
                    Event::Received { bytes, .. } => {
                        let whole = side.took(bytes.len(), bare.answered_bytes);
                        if now_ns >= begin_ns {
                            exchanges += whole;
                        }
                        side.owed += whole;
                    }
                    Event::Sent { bytes, .. } => side.message = Some(bytes),
                    event => lost(event)?,
                }
                side.send(&mut io, conn);
            }
        }
    }
}

impl Client<'_> {
    fn connected<I: Io>(&self, io: &mut I) -> io::Result<ConnMap<Side>> {
        for _ in 0..self.connections {
            io.connect(self.server, None)?;
        }
        let until_ns = io.now_ns() + CONNECT_NS;
        let (mut up, mut events) = (ConnMap::default(), Vec::new());
        while up.len() < self.connections as usize {
            if io.now_ns() >= until_ns {
                return Err(io::ErrorKind::TimedOut.into());
            }
            io.poll(Some(until_ns), &mut events)?;
            for event in events.drain(..) {
                match event {
                    Event::Connected { conn } => {
                        let side = Side::new(self.bare.answered_bytes, self.bare.asked_bytes);
                        up.insert(conn, side);
                    }
                    event => lost(event)?,
                }
            }
        }
        Ok(up)
    }
}

fn lost(event: Event) -> io::Result<()> {
    match event {
        Event::Failed { error, .. } => Err(error),
        Event::EndOfStream { .. } => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragmented_messages_are_counted_whole() {
        let mut side = Side::new(10, 3);
        assert_eq!(side.took(4, 10), 0);
        assert_eq!(side.took(5, 10), 0);
        assert_eq!(side.took(1, 10), 1);
        assert_eq!((side.took(25, 10), side.missing), (2, 5));
    }

    #[test]
    fn messages_are_echoed_on_every_connection() {
        for backend in [Backend::Epoll, gatebench_net::choose(None)] {
            for (asked_bytes, answered_bytes, spin) in [(81, 181, false), (100_000, 200_000, true)]
            {
                let bare = Bare {
                    asked_bytes,
                    answered_bytes,
                    connections: 3,
                    warm_up: Duration::from_millis(20),
                    measure: Duration::from_millis(100),
                    client_cores: Vec::new(),
                    server_cores: Vec::new(),
                    spin,
                    backend: Some(backend),
                };
                let carried = bare.carry().unwrap();
                assert!(carried.exchanges > 0, "{backend:?} {bare:?}");
                assert_eq!(carried.measure_ns, 100_000_000);
            }
        }
    }
}
