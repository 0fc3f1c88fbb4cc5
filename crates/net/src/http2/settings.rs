//! SETTINGS (RFC 9113 6.5), both ours and the peer's.

use super::ProtocolError;
use super::frame::{self, FRAME_BYTES_MIN, FrameType, WINDOW_BYTES_MAX};

const HEADER_TABLE_SIZE: u16 = 0x1;
const ENABLE_PUSH: u16 = 0x2;
const MAX_CONCURRENT_STREAMS: u16 = 0x3;
pub(super) const INITIAL_WINDOW_SIZE: u16 = 0x4;
const MAX_FRAME_SIZE: u16 = 0x5;
const MAX_HEADER_LIST_SIZE: u16 = 0x6;

/// The size of every window before any settings (RFC 9113 6.9.2).
pub(super) const WINDOW_BYTES_INITIAL: u32 = 65_535;

/// The size of the header compression table before any settings (RFC 9113 6.5.2).
pub(super) const TABLE_BYTES_INITIAL: u32 = 4096;

/// The largest value of SETTINGS_MAX_FRAME_SIZE.
const FRAME_BYTES_MAX: u32 = (1 << 24) - 1;

/// The settings that we announce to a peer, in addition to those that follow from
/// [`super::Limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The number of DATA bytes that the peer may send on one stream before a WINDOW_UPDATE, 1 to
    /// 2³¹−1. Default 1 GiB, so the windows do not delay the peer.
    pub stream_window_bytes: u32,
    /// The number of DATA bytes that the peer may send on all streams together before a
    /// WINDOW_UPDATE, 65,535 to 2³¹−1. Default 1 GiB.
    pub connection_window_bytes: u32,
    /// The maximum payload of a frame in bytes, 16,384 to 2²⁴−1. Default 16,384.
    pub frame_bytes: u32,
    /// The size of the header compression table in bytes. Default 4,096.
    pub header_table_bytes: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            stream_window_bytes: 1 << 30,
            connection_window_bytes: 1 << 30,
            frame_bytes: FRAME_BYTES_MIN,
            header_table_bytes: TABLE_BYTES_INITIAL,
        }
    }
}

impl Settings {
    pub(super) fn clamped(self) -> Self {
        Self {
            stream_window_bytes: self.stream_window_bytes.clamp(1, WINDOW_BYTES_MAX),
            connection_window_bytes: self
                .connection_window_bytes
                .clamp(WINDOW_BYTES_INITIAL, WINDOW_BYTES_MAX),
            frame_bytes: self.frame_bytes.clamp(FRAME_BYTES_MIN, FRAME_BYTES_MAX),
            header_table_bytes: self.header_table_bytes,
        }
    }

    /// Writes the first SETTINGS frame. `streams` is the number of streams that clients may open. A
    /// client passes `None`, and the frame then disables push instead.
    pub(super) fn write(&self, streams: Option<u32>, list_bytes: usize, out: &mut Vec<u8>) {
        let list_bytes = u32::try_from(list_bytes).unwrap_or(u32::MAX);
        let of_role = match streams {
            Some(streams) => (MAX_CONCURRENT_STREAMS, streams),
            None => (ENABLE_PUSH, 0),
        };
        let all = [
            of_role,
            (HEADER_TABLE_SIZE, self.header_table_bytes),
            (INITIAL_WINDOW_SIZE, self.stream_window_bytes),
            (MAX_FRAME_SIZE, self.frame_bytes),
            (MAX_HEADER_LIST_SIZE, list_bytes),
        ];
        frame::write_header(out, all.len() * 6, FrameType::SETTINGS, 0, 0);
        for (id, value) in all {
            out.extend_from_slice(&id.to_be_bytes());
            out.extend_from_slice(&value.to_be_bytes());
        }
    }
}

/// The peer's settings, which limit our output.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerSettings {
    /// The number of streams that we may open; unlimited until the peer states a number.
    pub(super) streams: u32,
    pub(super) stream_window_bytes: u32,
    pub(super) frame_bytes: u32,
    pub(super) header_table_bytes: u32,
}

impl Default for PeerSettings {
    fn default() -> Self {
        Self {
            streams: u32::MAX,
            stream_window_bytes: WINDOW_BYTES_INITIAL,
            frame_bytes: FRAME_BYTES_MIN,
            header_table_bytes: TABLE_BYTES_INITIAL,
        }
    }
}

impl PeerSettings {
    /// Adopts the payload of a SETTINGS frame, whose length was checked. Unknown settings and those
    /// that do not concern us are ignored.
    pub(super) fn update(
        &mut self,
        payload: &[u8],
        from_server: bool,
    ) -> Result<(), ProtocolError> {
        for setting in payload.as_chunks::<6>().0 {
            let [a, b, rest @ ..] = *setting;
            let id = u16::from_be_bytes([a, b]);
            let value = u32::from_be_bytes(rest);
            let is_possible = match id {
                ENABLE_PUSH => value == 0 || (value == 1 && !from_server),
                INITIAL_WINDOW_SIZE => value <= WINDOW_BYTES_MAX,
                MAX_FRAME_SIZE => (FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&value),
                _ => true,
            };
            if !is_possible {
                return Err(ProtocolError::SettingValue { id, value });
            }
            match id {
                HEADER_TABLE_SIZE => self.header_table_bytes = value,
                MAX_CONCURRENT_STREAMS => self.streams = value,
                INITIAL_WINDOW_SIZE => self.stream_window_bytes = value,
                MAX_FRAME_SIZE => self.frame_bytes = value,
                _ => {}
            }
        }
        Ok(())
    }
}
