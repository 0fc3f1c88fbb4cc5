//! Header blocks as parts of messages (RFC 9113 8.1).

use super::connection::{Connection, Queued, Role, Step};
use super::control::Outcome;
use super::event::StreamId;
use super::frame::{self, FrameType};
use super::streams::{Closed, Incoming};
use super::{ErrorCode, Flood, Malformed, ProtocolError, StreamError};

impl Connection {
    /// Handles a complete header block. It is decoded even if its stream is closed, because the
    /// dynamic table must stay in step with the peer's.
    pub(super) fn on_block(
        &mut self,
        number: u32,
        block: &[u8],
        ends: bool,
        out: &mut Vec<u8>,
    ) -> Outcome {
        let limit = self.limits.block_bytes;
        if block.len() > limit {
            return Err(ProtocolError::BlockTooLarge { limit });
        }
        self.hpack.decode(block, &mut self.fields)?;
        let Some(id) = self.streams.find(number) else {
            return match self.role {
                Role::Client => self.on_late_block(number),
                Role::Server => self.on_new_stream(number, ends, out),
            };
        };
        let taken = match self.incoming(id) {
            Incoming::Head => self.take_response(id, ends),
            Incoming::Body => self.take_trailers(id, ends),
            Incoming::Ended => Err(StreamError::Ended),
        };
        match taken {
            Ok(step) => Ok(Some(step)),
            Err(error) => self.reset_for(id, error, out),
        }
    }

    fn incoming(&mut self, id: StreamId) -> Incoming {
        self.streams
            .get(id)
            .map_or(Incoming::Ended, |stream| stream.incoming)
    }

    /// Checks HEADERS or DATA on a stream that is not open. The frame is an error, unless the peer
    /// may have sent it before it knew that we had closed the stream (RFC 9113 5.1).
    pub(super) fn check_late(&self, frame: FrameType, stream: u32) -> Result<(), ProtocolError> {
        if self.is_unopened(stream) {
            return Err(ProtocolError::StreamIdle { frame, stream });
        }
        match self.streams.closed(stream) {
            Some(Closed::Ended | Closed::ResetByPeer) => {
                Err(ProtocolError::StreamEnded { frame, stream })
            }
            Some(Closed::ResetByUs) | None => Ok(()),
        }
    }

    /// A block that arrives too late is decoded but not used; the number of such blocks is limited.
    fn on_late_block(&mut self, number: u32) -> Outcome {
        self.check_late(FrameType::HEADERS, number)?;
        self.budgets.spend(Flood::IdleFrames)?;
        Ok(None)
    }

    /// Handles the beginning of a request (RFC 9113 5.1.1).
    fn on_new_stream(&mut self, number: u32, ends: bool, out: &mut Vec<u8>) -> Outcome {
        let last = self.last_stream;
        if number.is_multiple_of(2) || (number <= last && self.streams.closed(number).is_none()) {
            let stream = number;
            return Err(ProtocolError::StreamNumber { stream, last });
        }
        if number <= last {
            return self.on_late_block(number);
        }
        if self.going_away {
            self.budgets.spend(Flood::IdleFrames)?;
            return Ok(None);
        }
        self.last_stream = number;
        if self.streams.open_count() >= self.limits.streams as usize {
            return self.refuse(number, ErrorCode::REFUSED_STREAM, out);
        }
        if let Err(error) = self.check_request(ends) {
            return self.refuse(number, error.code(), out);
        }
        let id = self.streams.open(number, Incoming::Body);
        let body_left = self.fields.content_length;
        if let Some(stream) = self.streams.get(id) {
            stream.body_left = body_left;
        }
        if ends {
            self.end_incoming(id);
        }
        Ok(Some(Step::Head(id, 0)))
    }

    /// Resets a stream for which the user received no event.
    fn refuse(&mut self, number: u32, code: ErrorCode, out: &mut Vec<u8>) -> Outcome {
        self.note_reset()?;
        frame::write_reset(out, number, code);
        self.streams.remember(number, Closed::ResetByUs);
        Ok(None)
    }

    fn check_request(&self, ends: bool) -> Result<(), StreamError> {
        self.check_size()?;
        self.fields.check_request()?;
        if ends {
            check_end(self.fields.content_length)?;
        }
        Ok(())
    }

    fn check_size(&self) -> Result<(), StreamError> {
        if self.fields.is_too_large {
            let limit = self.limits.list_bytes;
            return Err(StreamError::FieldsTooLarge { limit });
        }
        Ok(())
    }

    #[inline]
    fn take_response(&mut self, id: StreamId, ends: bool) -> Result<Step<'static>, StreamError> {
        self.check_size()?;
        let status = self.fields.check_response()?;
        let Some(stream) = self.streams.get(id) else {
            return Err(StreamError::Ended);
        };
        if status < 200 {
            if status == 101 {
                return Err(Malformed::SwitchingProtocols.into());
            }
            if ends {
                return Err(StreamError::HeadMissing);
            }
            let limit = self.limits.informational;
            stream.informational += 1;
            if stream.informational > limit {
                return Err(StreamError::TooManyInformational { limit });
            }
            return Ok(Step::Informational(id, status));
        }
        let has_no_body = stream.is_head || matches!(status, 204 | 304);
        stream.incoming = Incoming::Body;
        stream.body_left = if has_no_body {
            Some(0)
        } else {
            self.fields.content_length
        };
        if ends {
            check_end(stream.body_left)?;
            self.end_incoming(id);
        }
        Ok(Step::Head(id, status))
    }

    fn take_trailers(&mut self, id: StreamId, ends: bool) -> Result<Step<'static>, StreamError> {
        if !ends {
            return Err(StreamError::TrailersWithoutEnd);
        }
        self.check_size()?;
        self.fields.check_trailers()?;
        let left = self.streams.get(id).and_then(|stream| stream.body_left);
        check_end(left)?;
        self.end_incoming(id);
        Ok(Step::Trailers(id))
    }

    /// Handles the end of the peer's message, and queues the event `End`.
    pub(super) fn end_incoming(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.get(id) {
            stream.incoming = Incoming::Ended;
            self.queued = Queued::End(id);
        }
    }
}

/// Checks that no byte of the body is missing when its message ends.
fn check_end(body_left: Option<u64>) -> Result<(), StreamError> {
    match body_left {
        Some(1..) => Err(StreamError::ContentLength),
        _ => Ok(()),
    }
}
