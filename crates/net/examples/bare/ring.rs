//! The engine's loop without any work in it, written directly on the kernel's interface.

#![allow(unsafe_code)]

use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use io_uring::types::{BufRingEntry, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::{Failure, Found, Work};

/// The number of receive buffers, a power of two. They hold one small response for each of 4,096
/// connections.
const BUFFERS: u16 = 4096;
const BUFFER_BYTES: usize = 256;
const GROUP: u16 = 0;

const SUBMISSIONS: u32 = 1024;
const COMPLETIONS: u32 = 16 * 1024;

/// The top bit of the user data is the operation; the rest is the connection's index.
const IS_SEND: u64 = 1 << 63;

/// Keeps `work.connections` requests in flight until the time is up.
pub fn run(work: &Work) -> Result<Found, Failure> {
    let mut client = Client::new(work)?;
    let began = Instant::now();
    for index in 0..client.conns.len() {
        client.arm(index);
        client.send(index);
    }
    let mut requests = 0;
    loop {
        let left = work.length.saturating_sub(began.elapsed());
        if left.is_zero() {
            break;
        }
        client.wait(left)?;
        requests += client.reap()?;
    }
    Ok(Found {
        requests,
        seconds: began.elapsed().as_secs_f64(),
        percentiles: String::new(),
    })
}

struct Conn {
    socket: TcpStream,
    /// The number of bytes of the current response that have not arrived.
    missing: usize,
}

struct Client<'a> {
    // Dropped first: closing the ring ends the operations on the sockets.
    ring: IoUring,
    buffers: Buffers,
    conns: Vec<Conn>,
    completions: Vec<cqueue::Entry>,
    work: &'a Work,
}

impl<'a> Client<'a> {
    fn new(work: &'a Work) -> Result<Self, Failure> {
        let connect = |_| {
            let socket = work.connect()?;
            Ok::<_, Failure>(Conn {
                socket,
                missing: work.response_bytes,
            })
        };
        let conns = (0..work.connections)
            .map(connect)
            .collect::<Result<_, _>>()?;
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_cqsize(COMPLETIONS)
            .build(SUBMISSIONS)?;
        Ok(Self {
            buffers: Buffers::register(&ring)?,
            ring,
            conns,
            completions: Vec::with_capacity(COMPLETIONS as usize),
            work,
        })
    }

    fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: a receive entry points to no memory; a send entry points to the request, which
        // outlives the ring, because `work` outlives this client.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            // The queue is full. If submitting it fails, the loop repeats until the queue has room.
            let _ = self.ring.submit();
        }
    }

    fn arm(&mut self, index: usize) {
        let fd = Fd(self.conns[index].socket.as_raw_fd());
        self.push(
            &opcode::RecvMulti::new(fd, GROUP)
                .build()
                .user_data(index as u64),
        );
    }

    /// Queues the next request on a connection. Only a failed or incomplete send has a completion.
    fn send(&mut self, index: usize) {
        let request = &self.work.request;
        let fd = Fd(self.conns[index].socket.as_raw_fd());
        let entry = opcode::Send::new(fd, request.as_ptr(), request.len() as u32)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build()
            .flags(squeue::Flags::SKIP_SUCCESS)
            .user_data(IS_SEND | index as u64);
        self.push(&entry);
    }

    fn wait(&self, limit: Duration) -> Result<(), Failure> {
        let time = Timespec::from(limit);
        let submitted = self
            .ring
            .submitter()
            .submit_with_args(1, &SubmitArgs::new().timespec(&time));
        match submitted {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(error.into()),
            },
        }
    }

    /// Processes all completions, and returns the number of completed responses.
    fn reap(&mut self) -> Result<u64, Failure> {
        let mut completions = std::mem::take(&mut self.completions);
        completions.extend(self.ring.completion());
        let mut whole = 0;
        for completion in completions.drain(..) {
            whole += u64::from(self.complete(&completion)?);
        }
        self.completions = completions;
        self.buffers.publish();
        Ok(whole)
    }

    /// Processes a completion, and returns true if it ends a response.
    fn complete(&mut self, completion: &cqueue::Entry) -> Result<bool, Failure> {
        let (index, result) = (
            (completion.user_data() & !IS_SEND) as usize,
            completion.result(),
        );
        if let Some(buffer) = cqueue::buffer_select(completion.flags()) {
            self.buffers.give(buffer);
        }
        let is_send = completion.user_data() & IS_SEND != 0;
        let starved = !is_send && result == -libc::ENOBUFS;
        match result {
            0 if !is_send => return Err("the server closed a connection".into()),
            ..0 if !starved => return Err(std::io::Error::from_raw_os_error(-result).into()),
            _ => {}
        }
        if is_send {
            return Err("only part of a request was sent".into());
        }
        if !cqueue::more(completion.flags()) {
            self.arm(index);
        }
        let conn = &mut self.conns[index];
        conn.missing = conn.missing.saturating_sub(result.max(0) as usize);
        let is_whole = conn.missing == 0;
        if is_whole {
            conn.missing = self.work.response_bytes;
            self.send(index);
        }
        Ok(is_whole)
    }
}

/// Memory for received bytes, shared with the kernel; never unmapped.
struct Buffers {
    entries: *mut BufRingEntry,
    memory: *mut u8,
    tail: u16,
}

impl Buffers {
    fn register(ring: &IoUring) -> Result<Self, Failure> {
        let (entry_bytes, count) = (size_of::<BufRingEntry>(), usize::from(BUFFERS));
        let flags = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        let map = |bytes| {
            // SAFETY: a new private mapping at an address that the kernel chooses overlaps no
            // existing memory.
            unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, flags.0, flags.1) }
        };
        let entries = map(count * entry_bytes)?;
        let memory = map(count * BUFFER_BYTES)?.cast();
        // SAFETY: the mapping is page-aligned, contains this number of entries, and is never
        // unmapped.
        unsafe {
            let submitter = ring.submitter();
            submitter.register_buf_ring_with_flags(entries as u64, BUFFERS, GROUP, 0)?;
        }
        let mut buffers = Self {
            entries: entries.cast(),
            memory,
            tail: 0,
        };
        (0..BUFFERS).for_each(|buffer| buffers.give(buffer));
        buffers.publish();
        Ok(buffers)
    }

    /// Adds a buffer to the ring. The kernel may use it after [`Self::publish`].
    fn give(&mut self, buffer: u16) {
        let at = usize::from(self.tail & (BUFFERS - 1));
        // SAFETY: `at` is below the number of entries; the kernel reads no entry beyond the
        // published tail, and there are no more buffers than entries, so no entry that the kernel
        // still owns is overwritten.
        let entry = unsafe { &mut *self.entries.add(at) };
        // SAFETY: a buffer's number is below BUFFERS, so its first byte is in the mapping.
        let address = unsafe { self.memory.add(usize::from(buffer) * BUFFER_BYTES) };
        entry.set_addr(address as u64);
        entry.set_len(BUFFER_BYTES as u32);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
    }

    fn publish(&self) {
        // SAFETY: the ring's tail is in the first entry of the mapping, is aligned, and is only
        // ever written here; the kernel reads it with acquire semantics.
        let tail = unsafe { &*BufRingEntry::tail(self.entries).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }
}
