//! The loop on io_uring.
//!
//! Receiving is multishot into a ring of buffers: one submission usually serves a connection until
//! it ends. Submissions are collected in the queue and, unless it fills up earlier, submitted with
//! the one `io_uring_enter` that also waits. Only the thread that made the loop submits, and
//! completions are processed only when it requests them (SINGLE_ISSUER, DEFER_TASKRUN), so nothing
//! here needs a lock, and completions never interrupt the worker.
//!
//! The kernel may refer to a connection's memory (the bytes being sent, the address being connected
//! to) until the last completion of the operation that uses it has been reaped. A [`Conn`] owns
//! such memory, and is dropped only when none of its operations is outstanding, even if its user
//! closed it earlier.

#![allow(unsafe_code)]

mod address;
mod buffers;
mod conn;
mod token;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::rc::Rc;

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use rustix::io::Errno;
use rustix::net::SendFlags;

use self::address::SocketAddrStorage;
use self::buffers::{BufferRing, GROUP};
use self::conn::{Conn, Sending};
use self::token::{Operation, parse, token};
use crate::buffer::Pool;
use crate::io::{Bound, Event, Io, IoConfig, SMALL_BYTES};
use crate::resting::Resting;
use crate::slots::Slots;
use crate::{ConnId, ListenerId, Peer, clock, socket};

/// The number of submissions that fit in the queue; a full queue is submitted before the next poll.
const SUBMISSIONS: u32 = 1024;
/// The number of completions that fit in their queue; the kernel keeps further ones (FEAT_NODROP),
/// at a cost.
const COMPLETIONS: u32 = 16 * 1024;
/// Sends are batched if the last poll reaped at least this number of completions. With fewer
/// there is little to batch, and the completion of a batched send would end the next wait at once:
/// two calls into the kernel and a wake-up instead of one send(2).
const BATCH_MIN: usize = 8;

/// One thread's loop on io_uring.
pub struct Uring {
    // Dropped first: closing the ring unregisters the buffers that the next field unmaps.
    ring: IoUring,
    buffers: BufferRing,
    pool: Rc<Pool>,
    conns: Slots<Conn>,
    listeners: Vec<Option<OwnedFd>>,
    resting: Resting,
    /// Events produced by calls between two polls.
    ready: Vec<Event>,
    /// Completions being processed, kept to reuse the memory.
    completions: Vec<cqueue::Entry>,
    /// The number of completions that the last poll reaped.
    recent: usize,
    /// Connections whose receive ended because no buffer was free.
    starved: Vec<ConnId>,
    /// The number of operations whose last completion has not been reaped.
    outstanding: usize,
    /// True while the loop is being dropped; connections accepted meanwhile are closed.
    is_ending: bool,
}

impl Uring {
    /// # Errors
    /// The kernel has no io_uring, refuses it, or lacks a feature that the loop needs.
    pub fn new(config: IoConfig) -> io::Result<Self> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_cqsize(COMPLETIONS)
            .build(SUBMISSIONS)?;
        let pool = Pool::new(config.buffers, config.buffer_bytes);
        let mut buffers = BufferRing::register(&ring, Rc::clone(&pool), config.buffers)?;
        buffers.refill();
        Ok(Self {
            ring,
            buffers,
            pool,
            conns: Slots::new(),
            listeners: Vec::new(),
            resting: Resting::default(),
            ready: Vec::new(),
            completions: Vec::with_capacity(COMPLETIONS as usize),
            recent: 0,
            starved: Vec::new(),
            outstanding: 0,
            is_ending: false,
        })
    }

    /// Queues a submission; if the queue is full, submits its contents first.
    ///
    /// # Safety
    /// The memory that the entry points to stays valid until its last completion has been reaped.
    unsafe fn push(&mut self, entry: squeue::Entry) {
        self.outstanding += 1;
        loop {
            // SAFETY: the caller guarantees that the memory that the entry points to stays valid.
            if unsafe { self.ring.submission().push(&entry) }.is_ok() {
                return;
            }
            // The queue is full. If submitting it fails, for example for lack of memory, the loop
            // repeats until the queue has room.
            let _ = self.ring.submit();
        }
    }

    fn adopt(&mut self, socket: OwnedFd, peer: Option<Box<SocketAddrStorage>>) -> ConnId {
        self.conns.insert(Conn {
            socket,
            peer,
            sending: None,
            outstanding: 0,
            receiving: false,
            paused: false,
            finished: false,
            failed: false,
            closed: false,
            shutdown_wanted: false,
        })
    }

    fn arm_accept(&mut self, listener: ListenerId) {
        let Some(Some(socket)) = self.listeners.get(listener.0 as usize) else {
            return;
        };
        let name = ConnId::new(listener.0, 0);
        let entry = opcode::AcceptMulti::new(Fd(socket.as_raw_fd()))
            .flags(libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK)
            .build()
            .user_data(token(Operation::Accept, name));
        // SAFETY: the operation points to no memory.
        unsafe { self.push(entry) };
    }

    fn arm_receive(&mut self, conn: ConnId) {
        let Some(entry) = self.conns.get_mut(conn) else {
            return;
        };
        if entry.receiving || entry.paused || entry.finished || entry.failed || entry.closed {
            return;
        }
        entry.receiving = true;
        entry.outstanding += 1;
        let operation = opcode::RecvMulti::new(Fd(entry.socket.as_raw_fd()), GROUP)
            .build()
            .user_data(token(Operation::Receive, conn));
        // SAFETY: the operation points to no memory; the buffers that it picks from the ring stay
        // mapped until the loop is dropped, and dropping the loop waits for the operation.
        unsafe { self.push(operation) };
    }

    fn submit_send(&mut self, conn: ConnId) {
        let Some(entry) = self.conns.get_mut(conn) else {
            return;
        };
        let Some(sending) = &entry.sending else {
            return;
        };
        let rest = &sending.bytes[sending.done..];
        let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
        let operation = opcode::Send::new(
            Fd(entry.socket.as_raw_fd()),
            rest.as_ptr(),
            rest.len() as u32,
        )
        .flags(flags)
        .build()
        .user_data(token(Operation::Send, conn));
        entry.outstanding += 1;
        // SAFETY: the bytes are in `entry.sending`, a vector that neither moves its heap memory nor
        // is dropped before the completion (`release` waits for it).
        unsafe { self.push(operation) };
    }

    fn cancel(&mut self, conn: ConnId, operation: Operation) {
        let cancel = opcode::AsyncCancel::new(token(operation, conn))
            .build()
            .user_data(token(Operation::Cancel, conn));
        // SAFETY: the operation points to no memory.
        unsafe { self.push(cancel) };
    }

    fn complete(&mut self, completion: &cqueue::Entry, events: &mut Vec<Event>) {
        let (operation, conn) = parse(completion.user_data());
        let last = !cqueue::more(completion.flags());
        match operation {
            Operation::Accept => {
                self.accepted(ListenerId(conn.slot), completion.result(), last, events)
            }
            Operation::Connect => self.connected(conn, completion.result(), events),
            Operation::Receive => self.received(conn, completion, last, events),
            Operation::Send => self.sent(conn, completion.result(), events),
            Operation::Cancel => {}
        }
    }

    fn accepted(&mut self, listener: ListenerId, result: i32, last: bool, events: &mut Vec<Event>) {
        if result >= 0 {
            // SAFETY: the kernel has just made this descriptor for us, and it has no other owner.
            let socket = unsafe { OwnedFd::from_raw_fd(result) };
            // A connection that was accepted before its listener was stopped is served too.
            if !self.is_ending {
                let conn = self.adopt(socket, None);
                events.push(Event::Accepted { listener, conn });
                self.arm_receive(conn);
            }
        }
        if !last {
            return;
        }
        if Resting::is_due(Errno::from_raw_os_error(-result.min(0))) {
            self.resting.rest(listener, clock::now_ns());
        } else {
            self.arm_accept(listener);
        }
    }

    fn connected(&mut self, conn: ConnId, result: i32, events: &mut Vec<Event>) {
        let Some(entry) = self.conns.get_mut(conn) else {
            return;
        };
        entry.outstanding -= 1;
        entry.peer = None;
        if entry.closed {
            return self.release(conn);
        }
        if result < 0 {
            return self.fail(conn, -result, events);
        }
        events.push(Event::Connected { conn });
        self.arm_receive(conn);
    }

    fn received(
        &mut self,
        conn: ConnId,
        completion: &cqueue::Entry,
        last: bool,
        events: &mut Vec<Event>,
    ) {
        let result = completion.result();
        let piece = cqueue::buffer_select(completion.flags());
        // SAFETY: the kernel took this piece from the ring, has filled it and names it once.
        let bytes = piece.map(|piece| unsafe { self.pool.filled(piece, result.max(0) as usize) });
        let Some(entry) = self.conns.get_mut(conn) else {
            return;
        };
        if last {
            entry.receiving = false;
            entry.outstanding -= 1;
        }
        if entry.closed {
            return self.release(conn);
        }
        match result {
            1.. => {
                let bytes = bytes.expect("a receive that returns bytes names their buffer");
                events.push(Event::Received { conn, bytes });
            }
            0 => {
                if !entry.finished {
                    entry.finished = true;
                    events.push(Event::EndOfStream { conn });
                }
            }
            error if -error == libc::ENOBUFS => self.starved.push(conn),
            // A pause cancels the receive. After INTR and AGAIN, the receive starts again below.
            error if [libc::ECANCELED, libc::EINTR, libc::EAGAIN].contains(&-error) => {}
            error => return self.fail(conn, -error, events),
        }
        if last && result != -libc::ENOBUFS {
            self.arm_receive(conn);
        }
    }

    fn sent(&mut self, conn: ConnId, result: i32, events: &mut Vec<Event>) {
        let Some(entry) = self.conns.get_mut(conn) else {
            return;
        };
        entry.outstanding -= 1;
        if entry.closed {
            return self.release(conn);
        }
        match result {
            0.. => {
                let Some(sending) = &mut entry.sending else {
                    return;
                };
                sending.done += result as usize;
                if sending.done < sending.bytes.len() {
                    return self.submit_send(conn);
                }
                if let Some(bytes) = self.send_finished(conn) {
                    events.push(Event::Sent { conn, bytes });
                }
            }
            error if [libc::EINTR, libc::EAGAIN].contains(&-error) => self.submit_send(conn),
            error => self.fail(conn, -error, events),
        }
    }

    fn send_finished(&mut self, conn: ConnId) -> Option<Vec<u8>> {
        let entry = self.conns.get_mut(conn)?;
        let sending = entry.sending.take()?;
        if entry.shutdown_wanted {
            let _ = rustix::net::shutdown(&entry.socket, rustix::net::Shutdown::Write);
        }
        Some(sending.bytes)
    }

    fn fail(&mut self, conn: ConnId, errno: i32, events: &mut Vec<Event>) {
        let Some(entry) = self.conns.get_mut(conn) else {
            return;
        };
        if !entry.failed && !entry.closed {
            entry.failed = true;
            events.push(Event::Failed {
                conn,
                error: io::Error::from_raw_os_error(errno),
            });
        }
    }

    /// Frees a closed connection once the kernel refers to none of its memory.
    fn release(&mut self, conn: ConnId) {
        let entry = self.conns.get_mut(conn);
        if entry.is_some_and(|entry| entry.closed && entry.outstanding == 0) {
            self.conns.remove(conn);
        }
    }

    fn enter(&mut self, until_ns: Option<u64>) -> io::Result<()> {
        let response = match until_ns {
            None => self.ring.submit_and_wait(1),
            Some(until) => match until.saturating_sub(clock::now_ns()) {
                0 => self.ring.submit_and_wait(0),
                left => {
                    let time = Timespec::from(std::time::Duration::from_nanos(left));
                    self.ring
                        .submitter()
                        .submit_with_args(1, &SubmitArgs::new().timespec(&time))
                }
            },
        };
        match response {
            Ok(_) => Ok(()),
            // TIME: the clock reached `until_ns`. INTR: a signal arrived. BUSY: completions wait to
            // be reaped. AGAIN: memory is short; the submissions stay queued for the next poll.
            Err(error) => match error.raw_os_error() {
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(error),
            },
        }
    }

    fn reap(&mut self, events: &mut Vec<Event>) {
        let mut completions = std::mem::take(&mut self.completions);
        completions.extend(self.ring.completion());
        self.recent = completions.len();
        let ended = completions.iter().filter(|it| !cqueue::more(it.flags()));
        self.outstanding -= ended.count();
        for completion in completions.drain(..) {
            self.complete(&completion, events);
        }
        self.completions = completions;
    }
}

impl Io for Uring {
    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }

    fn listen(&mut self, address: SocketAddr, shared: bool) -> io::Result<Bound> {
        let (socket, bound) = socket::listener(address, shared)?;
        let listener = ListenerId(self.listeners.len() as u32);
        self.listeners.push(Some(socket));
        self.arm_accept(listener);
        Ok((listener, bound))
    }

    fn stop_listening(&mut self, listener: ListenerId) {
        let entry = self.listeners.get_mut(listener.0 as usize);
        if entry.is_some_and(|entry| entry.take().is_some()) {
            self.cancel(ConnId::new(listener.0, 0), Operation::Accept);
        }
    }

    fn connect(&mut self, peer: impl Into<Peer>, source: Option<IpAddr>) -> io::Result<ConnId> {
        let peer = peer.into();
        let socket = socket::connecting(&peer, source)?;
        let fd = Fd(socket.as_raw_fd());
        let storage = Box::new(SocketAddrStorage::try_from(&peer)?);
        let (address, len) = (&raw const storage.storage, storage.len);
        let conn = self.adopt(socket, Some(storage));
        if let Some(entry) = self.conns.get_mut(conn) {
            entry.outstanding += 1;
        }
        let entry = opcode::Connect::new(fd, address.cast(), len)
            .build()
            .user_data(token(Operation::Connect, conn));
        // SAFETY: the address is in a box that the connection keeps until the completion.
        unsafe { self.push(entry) };
        Ok(conn)
    }

    fn send(&mut self, conn: ConnId, bytes: Vec<u8>) -> Option<Vec<u8>> {
        if self.recent < BATCH_MIN {
            return self.send_now(conn, bytes);
        }
        let entry = self.conns.get_mut(conn).filter(|entry| !entry.closed)?;
        debug_assert!(entry.sending.is_none(), "one send at a time");
        entry.sending = Some(Sending { bytes, done: 0 });
        self.submit_send(conn);
        None
    }

    fn send_now(&mut self, conn: ConnId, bytes: Vec<u8>) -> Option<Vec<u8>> {
        let entry = self.conns.get_mut(conn).filter(|entry| !entry.closed)?;
        debug_assert!(entry.sending.is_none(), "one send at a time");
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        // The submission below sends the bytes that this call did not, and its completion reports
        // any error, so there is only one path for errors.
        let done = rustix::net::send(&entry.socket, &bytes, flags).unwrap_or(0);
        let is_whole = done == bytes.len();
        let is_small = bytes.len() <= SMALL_BYTES;
        entry.sending = Some(Sending { bytes, done });
        if !is_whole {
            self.submit_send(conn);
            return None;
        }
        let bytes = self.send_finished(conn)?;
        if is_small {
            return Some(bytes);
        }
        self.ready.push(Event::Sent { conn, bytes });
        None
    }

    fn pause(&mut self, conn: ConnId) {
        let Some(entry) = self.conns.get_mut(conn).filter(|entry| !entry.closed) else {
            return;
        };
        if !std::mem::replace(&mut entry.paused, true) && entry.receiving {
            self.cancel(conn, Operation::Receive);
        }
    }

    fn resume(&mut self, conn: ConnId) {
        let Some(entry) = self.conns.get_mut(conn) else {
            return;
        };
        if std::mem::replace(&mut entry.paused, false) {
            // If the canceled receive has not ended yet, its last completion starts the next
            // receive.
            self.arm_receive(conn);
        }
    }

    fn shutdown(&mut self, conn: ConnId) {
        let Some(entry) = self.conns.get_mut(conn).filter(|entry| !entry.closed) else {
            return;
        };
        entry.shutdown_wanted = true;
        if entry.sending.is_none() {
            let _ = rustix::net::shutdown(&entry.socket, rustix::net::Shutdown::Write);
        }
    }

    fn close(&mut self, conn: ConnId) {
        let Some(entry) = self.conns.get_mut(conn).filter(|entry| !entry.closed) else {
            return;
        };
        entry.closed = true;
        if entry.outstanding == 0 {
            self.release(conn);
            return;
        }
        let pending = match entry.peer {
            Some(_) => Operation::Connect,
            None => Operation::Receive,
        };
        // Ends a pending receive and send at once, and sends FIN to the peer.
        let _ = rustix::net::shutdown(&entry.socket, rustix::net::Shutdown::Both);
        self.cancel(conn, pending);
    }

    fn abort(&mut self, conn: ConnId) {
        let Some(entry) = self.conns.get_mut(conn).filter(|entry| !entry.closed) else {
            return;
        };
        entry.closed = true;
        socket::reset_on_close(&entry.socket);
        if entry.outstanding == 0 {
            return self.release(conn);
        }
        self.cancel(conn, Operation::Receive);
        self.cancel(conn, Operation::Send);
        self.cancel(conn, Operation::Connect);
    }

    fn poll(&mut self, until_ns: Option<u64>, events: &mut Vec<Event>) -> io::Result<()> {
        let before = events.len();
        let conns = &mut self.conns;
        let mut is_open = |conn| conns.get_mut(conn).is_some_and(|entry| !entry.closed);
        events.extend(self.ready.drain(..).filter(|it| is_open(it.conn())));
        self.buffers.refill();
        for conn in std::mem::take(&mut self.starved) {
            self.arm_receive(conn);
        }
        for listener in self.resting.wake(clock::now_ns) {
            self.arm_accept(listener);
        }
        let idle = events.len() == before;
        let until_ns = self.resting.bound(until_ns);
        self.enter(if idle { until_ns } else { Some(0) })?;
        self.reap(events);
        Ok(())
    }
}

impl Drop for Uring {
    /// Waits until the kernel refers to no memory of any operation.
    fn drop(&mut self) {
        let mut events = Vec::new();
        self.is_ending = true;
        for index in 0..self.listeners.len() {
            self.stop_listening(ListenerId(index as u32));
        }
        for conn in self.conns.names() {
            self.close(conn);
        }
        while self.outstanding > 0 {
            self.buffers.refill();
            let waited = self.ring.submit_and_wait(1);
            if waited.is_err_and(|error| error.kind() != io::ErrorKind::Interrupted) {
                // Without completions, it is unknown which memory the kernel still uses, so the
                // receive buffers and the connections are kept forever.
                std::mem::forget(Rc::clone(&self.pool));
                std::mem::forget(std::mem::replace(&mut self.conns, Slots::new()));
                return;
            }
            self.reap(&mut events);
            events.clear();
        }
    }
}
