//! Buffers for received bytes: pieces of equal size in one block of memory.

#![allow(unsafe_code)]

use std::cell::{RefCell, UnsafeCell};
use std::ops::Deref;
use std::rc::Rc;

/// The gap between two pieces, which is nine cache lines. Most messages need only the first bytes
/// of a piece. The length of a piece is usually a power of two, so without the gap the first bytes
/// of all pieces would share a few sets of the cache.
const APART_BYTES: usize = 9 * 64;

/// A block of memory that is divided into pieces. At any time, a piece has exactly one owner: the
/// free list, whoever called [`Pool::take_free`] (usually to lend the piece to the kernel), or one
/// [`Buffer`].
pub(crate) struct Pool {
    memory: Box<[UnsafeCell<u8>]>,
    pub(crate) piece_bytes: usize,
    free: RefCell<Vec<u16>>,
}

impl Pool {
    /// A pool of `pieces` (at most 32,768, the limit of io_uring's buffer rings) of `piece_bytes`
    /// each.
    pub(crate) fn new(pieces: u16, piece_bytes: usize) -> Rc<Self> {
        // The kernel provides zeroed memory page by page, when a piece is first used.
        let memory = vec![0_u8; pieces as usize * (piece_bytes + APART_BYTES)].into_boxed_slice();
        // SAFETY: the pointer was just released by a box of the same length, and `UnsafeCell<u8>`
        // has the layout of `u8`.
        let memory = unsafe { Box::from_raw(Box::into_raw(memory) as *mut [UnsafeCell<u8>]) };
        let free = RefCell::new((0..pieces).rev().collect());
        Rc::new(Self {
            memory,
            piece_bytes,
            free,
        })
    }

    /// A buffer with a copy of `bytes`; `None` if every piece is in use, or if `bytes` does not fit
    /// in a piece.
    pub(crate) fn copy(self: &Rc<Self>, bytes: &[u8]) -> Option<Buffer> {
        if bytes.len() > self.piece_bytes {
            return None;
        }
        let piece = self.take_free()?;
        // SAFETY: the piece was just taken, so nothing else refers to its memory, and it is long
        // enough; `bytes` cannot overlap it, because the pool has lent out only other pieces.
        unsafe {
            self.address(piece)
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
        };
        // SAFETY: the piece was taken above and filled to this length, and the kernel has no
        // reference to it.
        Some(unsafe { self.filled(piece, bytes.len()) })
    }

    pub(crate) fn take_free(&self) -> Option<u16> {
        self.free.borrow_mut().pop()
    }

    pub(crate) fn give_back(&self, piece: u16) {
        self.free.borrow_mut().push(piece);
    }

    pub(crate) fn address(&self, piece: u16) -> *mut u8 {
        let begin = usize::from(piece) * (self.piece_bytes + APART_BYTES);
        assert!(
            begin + self.piece_bytes <= self.memory.len(),
            "the pool has no such piece"
        );
        // The pointer is derived from the whole block, so that it is valid for the whole piece.
        UnsafeCell::raw_get(self.memory.as_ptr().wrapping_add(begin))
    }

    /// Makes a buffer from the first `len` bytes of a piece.
    ///
    /// # Safety
    /// The piece was taken from this pool, the kernel no longer writes to it, and no other buffer
    /// refers to it.
    pub(crate) unsafe fn filled(self: &Rc<Self>, piece: u16, len: usize) -> Buffer {
        assert!(
            len <= self.piece_bytes,
            "the kernel filled more than a piece holds"
        );
        Buffer {
            pool: Rc::clone(self),
            piece,
            len,
        }
    }
}

/// Received bytes. Dropping the buffer returns its piece to the pool.
pub struct Buffer {
    pool: Rc<Pool>,
    piece: u16,
    len: usize,
}

impl From<&[u8]> for Buffer {
    /// Copies the bytes to a pool that contains only this buffer.
    fn from(bytes: &[u8]) -> Self {
        Pool::new(1, bytes.len())
            .copy(bytes)
            .expect("the pool has one piece of this length, and it is free")
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: while this buffer exists, it is the only owner of the piece (see `Pool`), the
        // kernel has finished writing, and `len` was checked against the piece when the buffer was
        // made.
        unsafe { std::slice::from_raw_parts(self.pool.address(self.piece), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.pool.give_back(self.piece);
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffer")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
