//! Checks whether a frame may come next, by its header alone.

use super::ProtocolError;
use super::connection::{Connection, Role};
use super::frame::{ACK, FrameHeader, FrameType, PADDED};

pub(super) struct Order {
    role: Role,
    is_first: bool,
    frame_bytes: u32,
    /// The stream whose header block must be continued.
    block_of: Option<u32>,
}

impl Order {
    pub(super) fn of(connection: &Connection) -> Self {
        Self {
            role: connection.role,
            is_first: !connection.receiving.settings_received,
            frame_bytes: connection.settings.frame_bytes,
            block_of: connection.partial.map(|partial| partial.stream),
        }
    }

    #[inline]
    pub(super) fn check(&self, header: &FrameHeader) -> Result<(), ProtocolError> {
        let frame = header.frame;
        if self.is_first && (frame != FrameType::SETTINGS || header.has(ACK)) {
            return Err(self.wrong_first(header));
        }
        if header.length > self.frame_bytes {
            return Err(ProtocolError::FrameTooLarge {
                frame,
                bytes: header.length,
                limit: self.frame_bytes,
            });
        }
        match self.block_of {
            Some(stream) if frame != FrameType::CONTINUATION || header.stream != stream => {
                Err(ProtocolError::BlockInterrupted { frame })
            }
            None if frame == FrameType::CONTINUATION => Err(ProtocolError::ContinuationUnexpected),
            _ if frame == FrameType::DATA && header.has(PADDED) && header.length == 0 => {
                Err(header.wrong_length())
            }
            _ => Ok(()),
        }
    }

    fn wrong_first(&self, header: &FrameHeader) -> ProtocolError {
        // The beginning of `HTTP/1.1 400 Bad Request`, read as the header of a frame.
        let begins_http = FrameHeader::parse(b"HTTP/1.1 ");
        let is_http = header.length == begins_http.length && header.frame == begins_http.frame;
        if self.role == Role::Client && is_http {
            return ProtocolError::Http1Response;
        }
        ProtocolError::FirstFrame {
            frame: header.frame,
        }
    }
}
