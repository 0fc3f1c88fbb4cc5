//! A small HTTP/2 server: it responds to each complete request with 200 and the bytes of its body,
//! or a greeting if the body is empty.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use gatebench_net::http2::{Block, Event as Http2Event, Limits, ProtocolError, Server, Settings};
use gatebench_net::workers::STOP_CHECK_NS;
use gatebench_net::{ConnMap, Event, Io, IoTask, Outbox};

/// The response to a request without a body.
pub const GREETING: &[u8] = b"hello over HTTP/2\n";

/// The maximum number of bytes of a body that are sent back.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

pub struct Serve<'s, F> {
    pub address: SocketAddr,
    pub stop: &'s AtomicBool,
    pub on_listening: F,
}

struct Connection {
    server: Server,
    outbox: Outbox,
    /// The body of each open stream's request, by slot.
    bodies: Vec<Vec<u8>>,
    failed: bool,
}

impl<F: FnOnce(SocketAddr)> IoTask for Serve<'_, F> {
    type Output = io::Result<()>;

    fn run<I: Io>(self, mut io: I) -> io::Result<()> {
        let (_, address) = io.listen(self.address, false)?;
        (self.on_listening)(address);
        let mut head = Block::response(200);
        head.field("content-type", b"text/plain");
        let mut connections = ConnMap::default();
        let mut events = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            let until_ns = io.now_ns() + STOP_CHECK_NS;
            io.poll(Some(until_ns), &mut events)?;
            for event in events.drain(..) {
                on_event(&mut io, &mut connections, &head, event);
            }
        }
        Ok(())
    }
}

fn on_event<I: Io>(io: &mut I, connections: &mut ConnMap<Connection>, head: &Block, event: Event) {
    let conn = event.conn();
    if matches!(event, Event::Accepted { .. }) {
        connections.insert(conn, Connection::new());
    }
    let Some(connection) = connections.get_mut(conn) else {
        return;
    };
    match event {
        Event::Received { bytes, .. } if !connection.failed => {
            connection.failed = connection.receive(&bytes, head).is_err();
            connection.outbox.flush(io, conn, false);
            if connection.failed {
                io.shutdown(conn);
            }
        }
        Event::Sent { bytes, .. } => {
            connection.outbox.sent(bytes);
            connection.outbox.flush(io, conn, false);
        }
        Event::EndOfStream { .. } | Event::Failed { .. } => {
            connections.remove(conn);
            io.close(conn);
        }
        _ => connection.outbox.flush(io, conn, false),
    }
}

impl Connection {
    fn new() -> Self {
        let server = Server::new(Settings::default(), Limits::default());
        let mut outbox = Outbox::default();
        server.preface(outbox.queue());
        Self {
            server,
            outbox,
            bodies: Vec::new(),
            failed: false,
        }
    }

    fn receive(&mut self, mut input: &[u8], head: &Block) -> Result<(), ProtocolError> {
        let out = self.outbox.queue();
        while let Some(event) = self.server.next(&mut input, out)? {
            match event {
                Http2Event::Head { stream, .. } => {
                    let slots = self.bodies.len().max(stream.slot() + 1);
                    self.bodies.resize(slots, Vec::new());
                    self.bodies[stream.slot()].clear();
                }
                Http2Event::Body { stream, bytes } => {
                    let body = &mut self.bodies[stream.slot()];
                    let room = BODY_BYTES_MAX - body.len();
                    body.extend_from_slice(&bytes[..bytes.len().min(room)]);
                }
                Http2Event::End { stream } => {
                    let body = match &self.bodies[stream.slot()][..] {
                        [] => GREETING,
                        body => body,
                    };
                    self.server.respond(stream, head, body, true, out);
                }
                _ => {}
            }
        }
        Ok(())
    }
}
