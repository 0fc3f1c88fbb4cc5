//! The ring that passes free receive buffers to the kernel.

#![allow(unsafe_code)]

use std::io;
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::buffer::Pool;

/// The ID of the loop's only buffer group.
pub(super) const GROUP: u16 = 0;

/// A ring of buffers shared with the kernel (`io_uring_register_buf_ring(3)`).
pub(super) struct BufferRing {
    entries: *mut BufRingEntry,
    count: u16,
    tail: u16,
    pool: Rc<Pool>,
}

impl BufferRing {
    /// Registers a ring for `count` buffers, a power of two, with the kernel.
    pub(super) fn register(ring: &IoUring, pool: Rc<Pool>, count: u16) -> io::Result<Self> {
        let bytes = count as usize * size_of::<BufRingEntry>();
        // SAFETY: a new private mapping at an address of the kernel's choice touches no existing
        // memory.
        let entries = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )?
        };
        let buffers = Self {
            entries: entries.cast(),
            count,
            tail: 0,
            pool,
        };
        // SAFETY: the mapping is page-aligned, contains `count` entries, and outlives the ring:
        // `Uring` drops its `IoUring` first.
        unsafe {
            ring.submitter()
                .register_buf_ring_with_flags(entries as u64, count, GROUP, 0)?
        };
        Ok(buffers)
    }

    /// Passes every free piece of the pool to the kernel.
    pub(super) fn refill(&mut self) {
        let before = self.tail;
        while let Some(piece) = self.pool.take_free() {
            let at = usize::from(self.tail & (self.count - 1));
            // SAFETY: `at` is below `count`, and the kernel does not read an entry before the tail,
            // published below, has passed it. The pool has no more pieces than the ring has
            // entries, so an entry the kernel still owns is never overwritten.
            let entry = unsafe { &mut *self.entries.add(at) };
            entry.set_addr(self.pool.address(piece) as u64);
            entry.set_len(self.pool.piece_bytes as u32);
            entry.set_bid(piece);
            self.tail = self.tail.wrapping_add(1);
        }
        if self.tail != before {
            // SAFETY: the ring's tail is in the first entry of the registered mapping, is aligned,
            // and is only ever written here; the kernel reads it with acquire semantics.
            let tail = unsafe { &*BufRingEntry::tail(self.entries).cast::<AtomicU16>() };
            tail.store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for BufferRing {
    fn drop(&mut self) {
        let bytes = self.count as usize * size_of::<BufRingEntry>();
        // SAFETY: the mapping was made in `register` with this size, and nothing refers to it.
        let _ = unsafe { munmap(self.entries.cast(), bytes) };
    }
}
