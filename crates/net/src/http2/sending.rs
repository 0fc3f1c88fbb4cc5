//! Outgoing header blocks, and bodies within the peer's windows (RFC 9113 5.2, 6.9).

use std::collections::VecDeque;

use super::connection::{Connection, Queued, Role};
use super::event::StreamId;
use super::frame;
use super::settings::{PeerSettings, TABLE_BYTES_INITIAL, WINDOW_BYTES_INITIAL};
use super::streams::{Closed, Incoming, Stream};
use super::{Block, ErrorCode};

/// A dynamic table size update to 0 bytes (RFC 7541 6.3).
const TABLE_OF_NO_BYTES: u8 = 0x20;

#[derive(Debug, Default)]
pub(super) struct Sending {
    pub(super) peer: PeerSettings,
    /// DATA bytes that the connection's window still allows.
    pub(super) window: i64,
    /// DATA bytes sent so far on all streams.
    pub(super) sent_bytes: u64,
    /// Slots whose bodies wait for a window, in queue order.
    waiting: VecDeque<u32>,
    /// True if the peer made the table smaller than its initial size, and the next block must
    /// confirm this. Because we do not use the table, that block sets its size to 0 bytes, after
    /// which no further update is needed.
    owes_table_update: bool,
    table_is_empty: bool,
}

impl Sending {
    pub(super) fn new() -> Self {
        Self {
            window: i64::from(WINDOW_BYTES_INITIAL),
            ..Self::default()
        }
    }

    /// Schedules a size update if the peer made the table smaller than its initial size.
    pub(super) fn note_table_size(&mut self) {
        if self.peer.header_table_bytes < TABLE_BYTES_INITIAL && !self.table_is_empty {
            self.owes_table_update = true;
        }
    }

    /// Writes as much of `data` as the windows allow and returns the number of bytes written. If
    /// `ends` is true, the frame that completes `data` ends the stream; for empty `data`, this is
    /// an empty frame.
    #[inline]
    fn write_data(
        &mut self,
        number: u32,
        stream: &mut Stream,
        data: &[u8],
        ends: bool,
        out: &mut Vec<u8>,
    ) -> usize {
        let mut sent = 0;
        loop {
            let rest = &data[sent..];
            let of_stream = i64::from(self.peer.stream_window_bytes) + stream.credit;
            let window = usize::try_from(self.window.min(of_stream)).unwrap_or(0);
            let length = rest.len().min(window).min(self.peer.frame_bytes as usize);
            let is_last = length == rest.len();
            let has_something = length > 0 || (is_last && ends);
            if !has_something {
                return sent;
            }
            frame::write_data(out, number, &rest[..length], is_last && ends);
            stream.outgoing_ended = is_last && ends;
            stream.credit -= length as i64;
            self.window -= length as i64;
            self.sent_bytes += length as u64;
            sent += length;
            if is_last {
                return sent;
            }
        }
    }
}

impl Connection {
    #[inline]
    pub(super) fn send_block(
        &mut self,
        id: StreamId,
        block: &Block,
        ends: bool,
        out: &mut Vec<u8>,
    ) {
        let frame_bytes = self.sending.peer.frame_bytes as usize;
        if self.sending.owes_table_update {
            self.sending.owes_table_update = false;
            self.sending.table_is_empty = true;
            let updated = [&[TABLE_OF_NO_BYTES], block.bytes()].concat();
            frame::write_block(out, id.number, &updated, ends, frame_bytes);
        } else {
            frame::write_block(out, id.number, block.bytes(), ends, frame_bytes);
        }
        if ends && let Some(stream) = self.streams.get(id) {
            stream.outgoing_ended = true;
            self.finish_outgoing(id, out);
        }
    }

    /// Writes a piece of a body, and keeps the part that the windows do not allow.
    #[inline]
    pub(super) fn send_body(&mut self, id: StreamId, data: &[u8], ends: bool, out: &mut Vec<u8>) {
        let Some(stream) = self.streams.get(id) else {
            return;
        };
        let sent = if stream.unsent.is_empty() {
            self.sending.write_data(id.number, stream, data, ends, out)
        } else {
            0
        };
        if sent < data.len() || (ends && !stream.outgoing_ended) {
            stream.unsent.append(&data[sent..], ends);
            if !std::mem::replace(&mut stream.unsent.queued, true) {
                self.sending.waiting.push_back(id.slot);
            }
            self.streams.unsent_bytes += data.len() - sent;
        }
        self.finish_outgoing(id, out);
    }

    /// Resets a stream on behalf of the user.
    pub(super) fn reset(&mut self, id: StreamId, code: ErrorCode, out: &mut Vec<u8>) {
        if matches!(self.queued, Queued::End(ended) if ended == id) {
            self.queued = Queued::Nothing;
        }
        if self.streams.get(id).is_some() {
            frame::write_reset(out, id.number, code);
            self.streams.close(id, Closed::ResetByUs);
        }
    }

    /// Ends the connection with all open streams on behalf of the user.
    pub(super) fn give_up(&mut self, code: ErrorCode, out: &mut Vec<u8>) {
        frame::write_go_away(out, self.last_peer_stream(), code);
        self.going_away = true;
        self.queued = Queued::Nothing;
        for slot in 0..self.streams.slot_count() {
            if let Some(id) = self.streams.in_slot(slot) {
                self.streams.close(id, Closed::ResetByUs);
            }
        }
    }

    /// Continues all waiting bodies after a window has grown, each of them once, in queue order.
    pub(super) fn resume_all(&mut self, out: &mut Vec<u8>) {
        for _ in 0..self.sending.waiting.len() {
            let Some(slot) = self.sending.waiting.pop_front() else {
                return;
            };
            self.resume_slot(slot, out);
        }
    }

    /// Continues the body of a slot that was removed from the queue, and queues the slot again if
    /// it still has to wait.
    fn resume_slot(&mut self, slot: u32, out: &mut Vec<u8>) {
        self.streams.unqueue(slot);
        if let Some(id) = self.streams.in_slot(slot) {
            self.resume(id, out);
            if let Some(stream) = self.streams.get(id)
                && !stream.unsent.is_empty()
                && !std::mem::replace(&mut stream.unsent.queued, true)
            {
                self.sending.waiting.push_back(slot);
            }
        }
    }

    /// Continues the body of a stream after its window or the connection's has grown.
    pub(super) fn resume(&mut self, id: StreamId, out: &mut Vec<u8>) {
        let Some(stream) = self.streams.get(id) else {
            return;
        };
        if stream.unsent.is_empty() {
            return;
        }
        let mut unsent = std::mem::take(&mut stream.unsent);
        let data = &unsent.bytes[unsent.sent..];
        let sent = self
            .sending
            .write_data(id.number, stream, data, unsent.ends, out);
        unsent.sent += sent;
        if unsent.is_empty() {
            unsent.clear();
        }
        stream.unsent = unsent;
        self.streams.unsent_bytes -= sent;
        self.finish_outgoing(id, out);
    }

    /// On a server, closes a stream whose response is complete. The rest of a request that is still
    /// arriving is no longer needed (RFC 9113 8.1). A client closes a stream at the end of its
    /// response.
    #[inline]
    fn finish_outgoing(&mut self, id: StreamId, out: &mut Vec<u8>) {
        let Some(stream) = self.streams.get(id) else {
            return;
        };
        if self.role == Role::Client || !stream.outgoing_ended {
            return;
        }
        if stream.incoming == Incoming::Ended {
            self.streams.close(id, Closed::Ended);
            self.budgets.stream_finished();
        } else {
            frame::write_reset(out, id.number, ErrorCode::NO_ERROR);
            self.streams.close(id, Closed::ResetByUs);
        }
    }
}
