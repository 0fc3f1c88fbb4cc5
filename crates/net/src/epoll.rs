//! The loop on epoll. Each connection is registered once, edge-triggered.
//!
//! An edge only means that receiving or sending *may* be possible; only the system call shows
//! whether it is. A connection that may have more to read stays on a list and gets one receive per
//! round, so that one busy peer cannot starve the others.

#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SendFlags, SocketAddrUnix, SocketFlags};
use rustix::time::Timespec;

use crate::buffer::Pool;
use crate::io::{Bound, Event, Io, IoConfig, SMALL_BYTES};
use crate::resting::Resting;
use crate::slots::Slots;
use crate::{ConnId, ListenerId, Peer, clock, socket};

const EVENTS_PER_WAIT: usize = 512;

/// One thread's loop on epoll.
pub struct Epoll {
    poller: OwnedFd,
    conns: Slots<Conn>,
    listeners: Vec<Option<OwnedFd>>,
    pool: Rc<Pool>,
    resting: Resting,
    readable: VecDeque<ConnId>,
    /// Events produced by calls between two polls.
    ready: Vec<Event>,
    kernel_events: Vec<epoll::Event>,
}

struct Conn {
    socket: OwnedFd,
    state: State,
    /// True if the connection is in `readable`.
    listed: bool,
    may_read: bool,
    /// True if the peer has shut down its side or the socket has failed. Reading continues until a
    /// receive returns the end of the stream or the error.
    hung_up: bool,
    paused: bool,
    finished: bool,
    sending: Option<(Vec<u8>, usize)>,
    shutdown_wanted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Connecting,
    Open,
    Failed,
}

impl Epoll {
    /// # Errors
    /// The kernel refuses to create an epoll instance.
    pub fn new(config: IoConfig) -> io::Result<Self> {
        Ok(Self {
            poller: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            conns: Slots::new(),
            listeners: Vec::new(),
            pool: Pool::new(config.buffers, config.buffer_bytes),
            resting: Resting::default(),
            readable: VecDeque::new(),
            ready: Vec::new(),
            kernel_events: Vec::with_capacity(EVENTS_PER_WAIT),
        })
    }

    fn adopt(&mut self, socket: OwnedFd, state: State) -> io::Result<ConnId> {
        let conn = self.conns.insert(Conn {
            socket,
            state,
            listed: false,
            may_read: false,
            hung_up: false,
            paused: false,
            finished: false,
            sending: None,
            shutdown_wanted: false,
        });
        let entry = self
            .conns
            .get_mut(conn)
            .expect("the connection was inserted above");
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        let data = EventData::new_u64(u64::from(conn.generation) << 32 | u64::from(conn.slot));
        if let Err(error) = epoll::add(&self.poller, &entry.socket, data, flags) {
            self.conns.remove(conn);
            return Err(error.into());
        }
        Ok(conn)
    }

    fn accept_all(&mut self, index: usize, events: &mut Vec<Event>) {
        while let Some(Some(listener)) = self.listeners.get(index) {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            match rustix::net::accept_with(listener, flags) {
                Ok(socket) => {
                    if let Ok(conn) = self.adopt(socket, State::Open) {
                        events.push(Event::Accepted {
                            listener: ListenerId(index as u32),
                            conn,
                        });
                    }
                }
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(error) if Resting::is_due(error) => return self.rest(index),
                // The error is usually AGAIN: all pending connections have been accepted.
                Err(_) => return,
            }
        }
    }

    /// Ignores a listener for a while, because no connection can be accepted now. The listener is
    /// level-triggered, so it would otherwise end every wait.
    fn rest(&mut self, index: usize) {
        if self.watch(index, EventFlags::empty()).is_ok() {
            let now_ns = clock::now_ns();
            self.resting.rest(ListenerId(index as u32), now_ns);
        }
    }

    fn watch(&self, index: usize, flags: EventFlags) -> io::Result<()> {
        if let Some(Some(listener)) = self.listeners.get(index) {
            let data = EventData::new_u64(LISTENER | index as u64);
            epoll::modify(&self.poller, listener, data, flags)?;
        }
        Ok(())
    }

    fn edge(&mut self, conn: ConnId, flags: EventFlags, events: &mut Vec<Event>) {
        let Some(entry) = self.conns.get_mut(conn) else {
            return;
        };
        if entry.state == State::Connecting {
            match rustix::net::sockopt::socket_error(&entry.socket) {
                Ok(Ok(())) if flags.contains(EventFlags::OUT) => {
                    entry.state = State::Open;
                    events.push(Event::Connected { conn });
                }
                Ok(Ok(())) => return,
                Ok(Err(error)) | Err(error) => return self.fail(conn, error, events),
            }
        }
        let hung_up = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        entry.hung_up |= flags.intersects(hung_up);
        if flags.intersects(EventFlags::IN | hung_up) {
            self.list(conn);
        }
        if flags.contains(EventFlags::OUT)
            && let Some(bytes) = self.continue_send(conn, events)
        {
            events.push(Event::Sent { conn, bytes });
        }
    }

    fn list(&mut self, conn: ConnId) {
        if let Some(entry) = self.conns.get_mut(conn) {
            entry.may_read = true;
            if !entry.listed && !entry.paused {
                entry.listed = true;
                self.readable.push_back(conn);
            }
        }
    }

    fn fail(&mut self, conn: ConnId, error: Errno, events: &mut Vec<Event>) {
        if let Some(entry) = self.conns.get_mut(conn)
            && entry.state != State::Failed
        {
            entry.state = State::Failed;
            events.push(Event::Failed {
                conn,
                error: error.into(),
            });
        }
    }

    fn receive_round(&mut self, events: &mut Vec<Event>) {
        for _ in 0..self.readable.len() {
            let Some(conn) = self.readable.pop_front() else {
                return;
            };
            let Some(entry) = self.conns.get_mut(conn) else {
                continue;
            };
            entry.listed = false;
            if entry.paused || entry.finished || entry.state != State::Open {
                continue;
            }
            let Some(piece) = self.pool.take_free() else {
                entry.listed = true;
                self.readable.push_front(conn);
                return;
            };
            self.receive(conn, piece, events);
        }
    }

    fn receive(&mut self, conn: ConnId, piece: u16, events: &mut Vec<Event>) {
        let Some(entry) = self.conns.get_mut(conn) else {
            return self.pool.give_back(piece);
        };
        let size = self.pool.piece_bytes;
        // SAFETY: the piece was just taken from the pool, so nothing else refers to its memory, and
        // it is `size` bytes long.
        let got = unsafe {
            libc::recv(
                entry.socket.as_raw_fd(),
                self.pool.address(piece).cast(),
                size,
                0,
            )
        };
        if got > 0 {
            // SAFETY: the caller took the piece, and the kernel has filled `got` bytes of it.
            let bytes = unsafe { self.pool.filled(piece, got as usize) };
            events.push(Event::Received { conn, bytes });
            // A receive that did not fill the piece has taken all bytes, and later bytes raise a
            // new edge, so a second receive per message is unnecessary.
            entry.may_read = got as usize == size || entry.hung_up;
            if entry.may_read {
                self.list(conn);
            }
            return;
        }
        self.pool.give_back(piece);
        if got == 0 {
            entry.finished = true;
            events.push(Event::EndOfStream { conn });
            return;
        }
        match Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO) {
            Errno::AGAIN => entry.may_read = false,
            Errno::INTR => self.list(conn),
            error => self.fail(conn, error, events),
        }
    }

    /// Sends as much as the kernel accepts, and returns the vector if all of it has been sent.
    fn continue_send(&mut self, conn: ConnId, events: &mut Vec<Event>) -> Option<Vec<u8>> {
        let entry = self.conns.get_mut(conn)?;
        let (bytes, mut done) = entry.sending.take()?;
        while done < bytes.len() {
            match rustix::net::send(&entry.socket, &bytes[done..], SendFlags::NOSIGNAL) {
                Ok(sent) => done += sent,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    entry.sending = Some((bytes, done));
                    return None;
                }
                Err(error) => {
                    self.fail(conn, error, events);
                    return None;
                }
            }
        }
        if entry.shutdown_wanted {
            let _ = rustix::net::shutdown(&entry.socket, rustix::net::Shutdown::Write);
        }
        Some(bytes)
    }

    fn wait(&mut self, until_ns: Option<u64>) -> io::Result<()> {
        let timeout = until_ns.map(|until| {
            let left = until.saturating_sub(clock::now_ns());
            Timespec {
                tv_sec: (left / 1_000_000_000) as i64,
                tv_nsec: (left % 1_000_000_000) as i64,
            }
        });
        self.kernel_events.clear();
        let spare = rustix::buffer::spare_capacity(&mut self.kernel_events);
        match epoll::wait(&self.poller, spare, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The bit of the user data that marks listeners. It is 0 for connections, because generations are
/// only 24 bits wide.
const LISTENER: u64 = 1 << 63;

impl Io for Epoll {
    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }

    fn listen(&mut self, address: SocketAddr, shared: bool) -> io::Result<Bound> {
        let (socket, bound) = socket::listener(address, shared)?;
        let index = self.listeners.len() as u32;
        epoll::add(
            &self.poller,
            &socket,
            EventData::new_u64(LISTENER | u64::from(index)),
            EventFlags::IN,
        )?;
        self.listeners.push(Some(socket));
        Ok((ListenerId(index), bound))
    }

    fn stop_listening(&mut self, listener: ListenerId) {
        if let Some(entry) = self.listeners.get_mut(listener.0 as usize) {
            *entry = None;
        }
    }

    fn connect(&mut self, peer: impl Into<Peer>, source: Option<IpAddr>) -> io::Result<ConnId> {
        let peer = peer.into();
        let socket = socket::connecting(&peer, source)?;
        let response = match &peer {
            Peer::Tcp(address) => rustix::net::connect(&socket, address),
            Peer::Unix(path) => rustix::net::connect(&socket, &SocketAddrUnix::new(path)?),
        };
        let conn = self.adopt(socket, State::Connecting)?;
        if let Err(error) = response
            && error != Errno::INPROGRESS
        {
            let mut ready = std::mem::take(&mut self.ready);
            self.fail(conn, error, &mut ready);
            self.ready = ready;
        }
        Ok(conn)
    }

    fn send(&mut self, conn: ConnId, bytes: Vec<u8>) -> Option<Vec<u8>> {
        let entry = self.conns.get_mut(conn)?;
        debug_assert!(entry.sending.is_none(), "one send at a time");
        let is_small = bytes.len() <= SMALL_BYTES;
        entry.sending = Some((bytes, 0));
        let mut ready = std::mem::take(&mut self.ready);
        let mut sent = self.continue_send(conn, &mut ready);
        if !is_small && let Some(bytes) = sent.take() {
            ready.push(Event::Sent { conn, bytes });
        }
        self.ready = ready;
        sent
    }

    fn send_now(&mut self, conn: ConnId, bytes: Vec<u8>) -> Option<Vec<u8>> {
        self.send(conn, bytes)
    }

    fn pause(&mut self, conn: ConnId) {
        if let Some(entry) = self.conns.get_mut(conn) {
            entry.paused = true;
        }
    }

    fn resume(&mut self, conn: ConnId) {
        if let Some(entry) = self.conns.get_mut(conn)
            && entry.paused
        {
            entry.paused = false;
            if entry.may_read {
                self.list(conn);
            }
        }
    }

    fn shutdown(&mut self, conn: ConnId) {
        if let Some(entry) = self.conns.get_mut(conn) {
            entry.shutdown_wanted = true;
            if entry.sending.is_none() {
                let _ = rustix::net::shutdown(&entry.socket, rustix::net::Shutdown::Write);
            }
        }
    }

    fn close(&mut self, conn: ConnId) {
        self.conns.remove(conn);
    }

    fn abort(&mut self, conn: ConnId) {
        if let Some(entry) = self.conns.remove(conn) {
            socket::reset_on_close(&entry.socket);
        }
    }

    fn poll(&mut self, until_ns: Option<u64>, events: &mut Vec<Event>) -> io::Result<()> {
        let before = events.len();
        let conns = &mut self.conns;
        let is_open = |it: &Event| conns.get_mut(it.conn()).is_some();
        events.extend(self.ready.drain(..).filter(is_open));
        for listener in self.resting.wake(clock::now_ns) {
            self.watch(listener.0 as usize, EventFlags::IN)?;
        }
        let idle = self.readable.is_empty() && events.len() == before;
        let until_ns = self.resting.bound(until_ns);
        self.wait(if idle { until_ns } else { Some(0) })?;
        for at in 0..self.kernel_events.len() {
            let epoll::Event { flags, data } = self.kernel_events[at];
            let word = data.u64();
            if word & LISTENER != 0 {
                self.accept_all((word & !LISTENER) as usize, events);
            } else {
                let conn = ConnId::new(word as u32, (word >> 32) as u32);
                self.edge(conn, flags, events);
            }
        }
        self.receive_round(events);
        Ok(())
    }
}
