//! A message that a policy wants whole before it goes on.

use std::io::Write;

use crate::policy::json::{NotJson, Plan, edit};

/// Vectors that grew beyond this for one large body are not kept.
const KEEP_BYTES: usize = 64 * 1024;

/// A message being collected. Its vectors are kept from one message to the next, so that in steady state
/// nothing is allocated; where nothing is ever collected, nothing ever was.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// The head, without a field that tells the length; empty while nothing is collected.
    head: Vec<u8>,
    body: Vec<u8>,
    /// What a body becomes.
    edited: Vec<u8>,
}

impl Collected {
    /// Begins with a head, which `write` writes with its empty line and without a length.
    pub(crate) fn begin(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.clear();
        write(&mut self.head);
        debug_assert!(self.head.ends_with(b"\r\n\r\n"));
        self.head.truncate(self.head.len() - 2);
    }

    pub(crate) fn is_begun(&self) -> bool {
        !self.head.is_empty()
    }

    /// Adds a piece of the body; answers false where that makes it larger than `max_bytes`.
    pub(crate) fn add(&mut self, piece: &[u8], max_bytes: usize) -> bool {
        let has_room = self.body.len() + piece.len() <= max_bytes;
        if has_room {
            self.body.extend_from_slice(piece);
        }
        has_room
    }

    /// Edits the body.
    pub(crate) fn edit(&mut self, plans: &[Plan]) -> Result<(), NotJson> {
        for plan in plans {
            self.edited.clear();
            edit(plan, &self.body, &mut self.edited)?;
            std::mem::swap(&mut self.body, &mut self.edited);
        }
        Ok(())
    }

    /// Writes the message, with its length, and forgets it.
    pub(crate) fn write(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        // Writing to a vector cannot fail.
        let _ = write!(out, "Content-Length: {}\r\n\r\n", self.body.len());
        out.extend_from_slice(&self.body);
        self.clear();
    }

    /// Forgets what was collected.
    pub(crate) fn clear(&mut self) {
        self.head.clear();
        for vector in [&mut self.body, &mut self.edited] {
            vector.clear();
            if vector.capacity() > KEEP_BYTES {
                *vector = Vec::new();
            }
        }
    }
}
