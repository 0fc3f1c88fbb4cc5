//! The open streams, and a record of how the most recently closed streams ended.

use super::StreamId;
use super::index::Index;

/// The next part of the peer's message on a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Incoming {
    /// The head, on a client only.
    #[default]
    Head,
    /// The body, or trailers.
    Body,
    Ended,
}

#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The number of the stream; 0 if the slot is free.
    number: u32,
    pub(super) incoming: Incoming,
    pub(super) outgoing_ended: bool,
    pub(super) is_head: bool,
    pub(super) informational: u32,
    /// The number of bytes of the body that have not arrived yet, if its length is known.
    pub(super) body_left: Option<u64>,
    /// Bytes of DATA payloads, including padding, since the stream's window was last increased.
    pub(super) received: u32,
    /// True if the user has paused the peer, so that the window is not increased.
    pub(super) is_held: bool,
    /// The difference between the send window and the peer's initial window: WINDOW_UPDATEs minus
    /// DATA bytes sent.
    pub(super) credit: i64,
    pub(super) unsent: Unsent,
}

/// The rest of a body that waits for the peer's windows.
#[derive(Debug, Default)]
pub(super) struct Unsent {
    pub(super) bytes: Vec<u8>,
    /// The number of bytes at the front of `bytes` that have already been sent.
    pub(super) sent: usize,
    /// True if the stream ends after these bytes.
    pub(super) ends: bool,
    /// True if the slot is in the queue of waiting slots. An earlier stream in the slot may have
    /// left it there.
    pub(super) queued: bool,
}

/// The memory that a slot keeps for the next body that must wait.
const UNSENT_KEPT_BYTES: usize = 64 * 1024;

impl Unsent {
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.sent
    }

    pub(super) fn append(&mut self, bytes: &[u8], ends: bool) {
        if self.sent >= UNSENT_KEPT_BYTES {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        self.bytes.extend_from_slice(bytes);
        self.ends = ends;
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(UNSENT_KEPT_BYTES);
        self.sent = 0;
        self.ends = false;
    }
}

/// The way in which a stream was closed, which determines the meaning of its late frames (RFC 9113
/// 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// Both sides ended it.
    Ended,
    ResetByPeer,
    /// We reset it, so frames that the peer sent before it received the reset may follow.
    ResetByUs,
}

/// The number of most recently closed streams that are remembered.
const REMEMBERED: usize = 128;

#[derive(Debug, Default)]
pub(super) struct Streams {
    slots: Vec<Stream>,
    free: Vec<u32>,
    index: Index,
    remembered: Vec<(u32, Closed)>,
    remember_at: usize,
    /// The number of bytes of all bodies that wait for the peer's windows.
    pub(super) unsent_bytes: usize,
}

impl Streams {
    #[inline]
    pub(super) fn open_count(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The number of slots in use or used before.
    pub(super) fn slot_count(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Opens a stream with a number that has not been used.
    pub(super) fn open(&mut self, number: u32, incoming: Incoming) -> StreamId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Stream::default());
            self.slots.len() as u32 - 1
        });
        let stream = &mut self.slots[slot as usize];
        *stream = Stream {
            number,
            incoming,
            unsent: std::mem::take(&mut stream.unsent),
            ..Stream::default()
        };
        self.index.insert(number, slot);
        StreamId { number, slot }
    }

    pub(super) fn close(&mut self, id: StreamId, how: Closed) {
        self.index.remove(id.number);
        let stream = &mut self.slots[id.slot as usize];
        stream.number = 0;
        self.unsent_bytes -= stream.unsent.len();
        stream.unsent.clear();
        self.free.push(id.slot);
        self.remember(id.number, how);
    }

    /// Remembers how a stream was closed, or that it was refused.
    pub(super) fn remember(&mut self, number: u32, how: Closed) {
        if self.remembered.len() < REMEMBERED {
            self.remembered.push((number, how));
            return;
        }
        self.remembered[self.remember_at] = (number, how);
        self.remember_at = (self.remember_at + 1) % REMEMBERED;
    }

    /// Returns how a stream was closed, if it was closed recently.
    pub(super) fn closed(&self, number: u32) -> Option<Closed> {
        let mut remembered = self.remembered.iter();
        remembered
            .find(|(closed, _)| *closed == number)
            .map(|(_, how)| *how)
    }

    #[inline]
    pub(super) fn find(&self, number: u32) -> Option<StreamId> {
        let slot = self.index.get(number)?;
        Some(StreamId { number, slot })
    }

    /// The stream, if it is still open.
    #[inline]
    pub(super) fn get(&mut self, id: StreamId) -> Option<&mut Stream> {
        let stream = self.slots.get_mut(id.slot as usize)?;
        (stream.number == id.number).then_some(stream)
    }

    pub(super) fn in_slot(&self, slot: u32) -> Option<StreamId> {
        let number = self.slots.get(slot as usize)?.number;
        (number != 0).then_some(StreamId { number, slot })
    }

    /// Records that the slot was removed from the queue of waiting slots.
    pub(super) fn unqueue(&mut self, slot: u32) {
        if let Some(stream) = self.slots.get_mut(slot as usize) {
            stream.unsent.queued = false;
        }
    }

    pub(super) fn oldest_unsent(&self) -> Option<u32> {
        let waiting = self.iter().filter(|stream| !stream.unsent.is_empty());
        waiting.map(|stream| stream.number).min()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Stream> {
        self.slots.iter().filter(|stream| stream.number != 0)
    }
}
