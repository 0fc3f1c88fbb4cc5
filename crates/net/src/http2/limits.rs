//! Limits on the memory, output and work that a peer can cause.

use thiserror::Error;

use super::ProtocolError;

/// Bounds of one connection.
///
/// A connection holds at most one frame, one header block, its fields, the dynamic table, `streams`
/// entries, and the bytes of its own bodies that wait for the peer's windows. The last three limits
/// are budgets: finished streams refill them partly, and `refill_budgets` refills them completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Number of concurrently open streams, in either role; a server announces it. Default 1,024.
    pub streams: u32,
    /// Size of a header block in bytes before decoding. Default 64 KiB.
    pub block_bytes: usize,
    /// Number of CONTINUATION frames in a header block. Default 16.
    pub continuations: u32,
    /// Size of the decoded fields of a block in bytes, with 32 added for each field (RFC 9113
    /// 6.5.2). Default 64 KiB.
    pub list_bytes: usize,
    /// Number of informational (1xx) responses before a final one. Default 16.
    pub informational: u32,
    /// Number of frames that serve no request: SETTINGS other than acknowledgments, PING, PRIORITY,
    /// GOAWAY, unknown frames, and HEADERS of streams that were reset or that begin after the
    /// server's last GOAWAY frame. Default 1,000.
    pub idle_frames: u32,
    /// Number of empty DATA frames that do not end a stream. Default 100.
    pub empty_data: u32,
    /// Number of streams that a client resets, or that a server resets or refuses because of the
    /// client. Only servers count them. Default 1,000.
    pub resets: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            streams: 1024,
            block_bytes: 64 * 1024,
            continuations: 16,
            list_bytes: 64 * 1024,
            informational: 16,
            idle_frames: 1000,
            empty_data: 100,
            resets: 1000,
        }
    }
}

/// Input that serves no request and that a peer could send endlessly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Flood {
    /// The frames that [`Limits::idle_frames`] counts.
    #[error("frames that serve no request")]
    IdleFrames,
    #[error("empty DATA frames")]
    EmptyData,
    /// Streams that the peer opens and then resets, or causes this side to reset or refuse.
    #[error("streams that were reset")]
    Resets,
}

/// The remaining budgets. A connection may stay open for days, so a fixed limit for its whole
/// lifetime would be too low. Therefore, each finished stream and the caller's regular calls refill
/// the budgets.
#[derive(Debug)]
pub(super) struct Budgets {
    limits: [u32; 3],
    left: [u32; 3],
}

/// For each [`Flood`], the amount by which a finished stream refills its budget.
const REFILL_PER_STREAM: [u32; 3] = [4, 4, 1];

impl Budgets {
    pub(super) fn new(limits: &Limits) -> Self {
        let limits = [limits.idle_frames, limits.empty_data, limits.resets];
        Self {
            limits,
            left: limits,
        }
    }

    #[inline]
    pub(super) fn spend(&mut self, flood: Flood) -> Result<(), ProtocolError> {
        let left = &mut self.left[flood as usize];
        let limit = self.limits[flood as usize];
        *left = left
            .checked_sub(1)
            .ok_or(ProtocolError::Flood { flood, limit })?;
        Ok(())
    }

    /// Refills the budgets partly after a stream that ended normally.
    #[inline]
    pub(super) fn stream_finished(&mut self) {
        for ((left, limit), refill) in self.left.iter_mut().zip(self.limits).zip(REFILL_PER_STREAM)
        {
            *left = limit.min(left.saturating_add(refill));
        }
    }

    pub(super) fn refill(&mut self) {
        self.left = self.limits;
    }
}
