//! Keeps bodies for their checks, within a memory limit per worker.

use std::cell::Cell;
use std::rc::Rc;

/// The maximum length of a kept body, as received or decoded.
pub(crate) const BODY_MAX_BYTES: usize = 16 * 1024 * 1024;

/// The number of bytes that every response may keep, regardless of the other responses.
const SPARED_BYTES: usize = 16 * 1024;

/// The total number of bytes that a worker's responses in flight may keep, in addition to
/// [`SPARED_BYTES`] for each of them. Vectors grow by doubling, so the bodies may occupy twice as
/// much memory.
const LENT_MAX_BYTES: usize = 256 * 1024 * 1024;

/// The number of bytes that a worker may still grant to bodies.
#[derive(Clone, Debug)]
pub(crate) struct Allowance(Rc<Cell<usize>>);

impl Default for Allowance {
    fn default() -> Self {
        Self::of(LENT_MAX_BYTES)
    }
}

impl Allowance {
    fn of(bytes: usize) -> Self {
        Self(Rc::new(Cell::new(bytes)))
    }

    fn take(&self, bytes: usize) -> bool {
        let left = self.0.get().checked_sub(bytes);
        if let Some(left) = left {
            self.0.set(left);
        }
        left.is_some()
    }

    fn give_back(&self, bytes: usize) {
        self.0.set(self.0.get() + bytes);
    }
}

#[derive(Debug)]
pub(crate) struct KeptBody {
    bytes: Vec<u8>,
    lent_bytes: usize,
    allowance: Allowance,
    /// True if the body exceeds its own limit or the worker's, in which case none of it is kept.
    is_too_long: bool,
}

impl KeptBody {
    pub(crate) fn new(allowance: Allowance) -> Self {
        Self {
            bytes: Vec::new(),
            lent_bytes: 0,
            allowance,
            is_too_long: false,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(SPARED_BYTES);
        self.is_too_long = false;
        self.allowance
            .give_back(std::mem::take(&mut self.lent_bytes));
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.is_too_long {
            return;
        }
        let length = self.bytes.len() + bytes.len();
        let missing = length.saturating_sub(SPARED_BYTES + self.lent_bytes);
        if length <= BODY_MAX_BYTES && self.allowance.take(missing) {
            self.lent_bytes += missing;
            self.bytes.extend_from_slice(bytes);
        } else {
            self.clear();
            self.is_too_long = true;
        }
    }

    /// Returns the body, or `None` if it was too long to be kept.
    pub(crate) fn whole(&self) -> Option<&[u8]> {
        (!self.is_too_long).then_some(&self.bytes)
    }
}

impl Drop for KeptBody {
    fn drop(&mut self) {
        self.allowance.give_back(self.lent_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1024;

    #[test]
    fn a_body_over_the_limit_is_not_kept_and_frees_its_memory() {
        let allowance = Allowance::default();
        let mut body = KeptBody::new(allowance.clone());
        body.push(&vec![b'x'; BODY_MAX_BYTES]);
        assert_eq!(body.whole().map(<[u8]>::len), Some(BODY_MAX_BYTES));
        body.push(b"x");
        body.push(b"more");
        assert_eq!(body.whole(), None);
        assert_eq!(body.bytes.capacity(), SPARED_BYTES);
        assert_eq!(allowance.0.get(), LENT_MAX_BYTES);
        body.clear();
        body.push(b"next");
        assert_eq!(body.whole(), Some(&b"next"[..]));
    }

    #[test]
    fn responses_share_the_memory_of_their_worker() {
        let allowance = Allowance::of(20 * KIB);
        let [mut first, mut second] = [(); 2].map(|()| KeptBody::new(allowance.clone()));
        first.push(&[b'x'; 30 * KIB]);
        second.push(&[b'x'; 30 * KIB]);
        assert!(first.whole().is_some());
        assert_eq!(
            second.whole(),
            None,
            "28 KiB exceeds the 20 KiB that the worker lends"
        );
        second.clear();
        second.push(&[b'x'; SPARED_BYTES]);
        assert!(second.whole().is_some(), "each body may keep this much");
        drop(first);
        second.push(&[b'x'; 20 * KIB]);
        assert!(second.whole().is_some());
        assert_eq!(allowance.0.get(), 0);
        second.clear();
        assert_eq!(allowance.0.get(), 20 * KIB);
    }
}
