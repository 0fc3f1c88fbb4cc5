//! Handles frames other than DATA (RFC 9113 6.2 to 6.10).

use super::connection::{Connection, PartialBlock, Queued, Role, Step};
use super::event::StreamId;
use super::frame::{
    self, ACK, END_HEADERS, END_STREAM, FrameHeader, FrameType, PRIORITY, WINDOW_BYTES_MAX,
};
use super::streams::Closed;
use super::{ErrorCode, Flood, ProtocolError, StreamError};

/// The result of a frame, with at most one immediate event.
pub(super) type Outcome = Result<Option<Step<'static>>, ProtocolError>;

impl Connection {
    /// Handles a complete frame whose header was checked.
    pub(super) fn on_frame(
        &mut self,
        header: &FrameHeader,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Outcome {
        match header.frame {
            FrameType::HEADERS => self.on_headers(header, payload, out),
            FrameType::CONTINUATION => self.on_continuation(header, payload, out),
            FrameType::PRIORITY => self.on_priority(header, payload, out),
            FrameType::RST_STREAM => self.on_reset(header, payload),
            FrameType::SETTINGS if header.has(ACK) => self.on_settings_ack(header),
            FrameType::SETTINGS => self.on_settings(header, payload, out),
            FrameType::PUSH_PROMISE => Err(ProtocolError::Push),
            FrameType::PING => self.on_ping(header, payload, out),
            FrameType::GOAWAY => self.on_go_away(header, payload),
            FrameType::WINDOW_UPDATE => self.on_window_update(header, payload, out),
            _ => self.budgets.spend(Flood::IdleFrames).map(|()| None),
        }
    }

    fn on_headers(&mut self, header: &FrameHeader, payload: &[u8], out: &mut Vec<u8>) -> Outcome {
        header.names_stream(true)?;
        let mut block = frame::without_padding(header, payload)?;
        if header.has(PRIORITY) {
            let (priority, rest) = block.split_at_checked(5).ok_or(header.wrong_length())?;
            check_dependency(header.stream, priority)?;
            block = rest;
        }
        let end_stream = header.has(END_STREAM);
        if header.has(END_HEADERS) {
            return self.on_block(header.stream, block, end_stream, out);
        }
        self.block.clear();
        self.partial = Some(PartialBlock {
            stream: header.stream,
            end_stream,
            continuations: 0,
        });
        self.extend_block(block)?;
        Ok(None)
    }

    fn on_continuation(
        &mut self,
        header: &FrameHeader,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Outcome {
        let Some(mut partial) = self.partial else {
            return Err(ProtocolError::ContinuationUnexpected);
        };
        partial.continuations += 1;
        let limit = self.limits.continuations;
        if partial.continuations > limit {
            return Err(ProtocolError::TooManyContinuations { limit });
        }
        self.extend_block(payload)?;
        if !header.has(END_HEADERS) {
            self.partial = Some(partial);
            return Ok(None);
        }
        self.partial = None;
        let block = std::mem::take(&mut self.block);
        let step = self.on_block(partial.stream, &block, partial.end_stream, out);
        self.block = block;
        step
    }

    fn extend_block(&mut self, fragment: &[u8]) -> Result<(), ProtocolError> {
        let limit = self.limits.block_bytes;
        if self.block.len() + fragment.len() > limit {
            return Err(ProtocolError::BlockTooLarge { limit });
        }
        self.block.extend_from_slice(fragment);
        Ok(())
    }

    /// Checks a PRIORITY frame, whose content is otherwise ignored (RFC 9113 5.3.2).
    fn on_priority(&mut self, header: &FrameHeader, payload: &[u8], out: &mut Vec<u8>) -> Outcome {
        self.budgets.spend(Flood::IdleFrames)?;
        header.names_stream(true)?;
        if payload.len() != 5 {
            return match self.streams.find(header.stream) {
                Some(id) => self.reset_for(id, StreamError::PriorityLength, out),
                None => Err(header.wrong_length()),
            };
        }
        check_dependency(header.stream, payload)?;
        Ok(None)
    }

    fn on_reset(&mut self, header: &FrameHeader, payload: &[u8]) -> Outcome {
        let code = ErrorCode(u32::from_be_bytes(exactly(header, payload)?));
        let Some(id) = self.stream_of(header)? else {
            return Ok(None);
        };
        self.note_reset()?;
        self.streams.close(id, Closed::ResetByPeer);
        Ok(Some(Step::Reset(id, code, None)))
    }

    fn on_settings_ack(&mut self, header: &FrameHeader) -> Outcome {
        header.names_stream(false)?;
        if header.length != 0 {
            return Err(header.wrong_length());
        }
        if self.receiving.settings_acknowledged {
            return Err(ProtocolError::AckUnexpected);
        }
        self.receiving.settings_acknowledged = true;
        self.receiving.stream_window_bytes = self.settings.stream_window_bytes;
        self.hpack.limit_table(self.settings.header_table_bytes);
        Ok(None)
    }

    fn on_settings(&mut self, header: &FrameHeader, payload: &[u8], out: &mut Vec<u8>) -> Outcome {
        header.names_stream(false)?;
        if !payload.len().is_multiple_of(6) {
            return Err(header.wrong_length());
        }
        self.budgets.spend(Flood::IdleFrames)?;
        let from_server = self.role == Role::Client;
        self.sending.peer.update(payload, from_server)?;
        let initial = i64::from(self.sending.peer.stream_window_bytes);
        let is_too_wide = |credit| initial + credit > i64::from(WINDOW_BYTES_MAX);
        if self.streams.iter().any(|stream| is_too_wide(stream.credit)) {
            return Err(ProtocolError::WindowOverflow);
        }
        self.sending.note_table_size();
        self.receiving.settings_received = true;
        frame::write_settings_ack(out);
        self.resume_all(out);
        Ok(Some(Step::Settings))
    }

    fn on_ping(&mut self, header: &FrameHeader, payload: &[u8], out: &mut Vec<u8>) -> Outcome {
        header.names_stream(false)?;
        let payload = exactly(header, payload)?;
        self.budgets.spend(Flood::IdleFrames)?;
        if !header.has(ACK) {
            frame::write_ping_ack(out, payload);
        }
        Ok(None)
    }

    fn on_go_away(&mut self, header: &FrameHeader, payload: &[u8]) -> Outcome {
        header.names_stream(false)?;
        let Some(([a, b, c, d, rest @ ..], _)) = payload.split_first_chunk::<8>() else {
            return Err(header.wrong_length());
        };
        self.budgets.spend(Flood::IdleFrames)?;
        let last_stream = u32::from_be_bytes([*a, *b, *c, *d]) & WINDOW_BYTES_MAX;
        if self.role == Role::Client {
            self.going_away = true;
            self.queued = Queued::Refused {
                last_stream,
                slot: 0,
            };
        }
        let code = ErrorCode(u32::from_be_bytes(*rest));
        Ok(Some(Step::GoAway(last_stream, code)))
    }

    fn on_window_update(
        &mut self,
        header: &FrameHeader,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Outcome {
        let increment = u32::from_be_bytes(exactly(header, payload)?) & WINDOW_BYTES_MAX;
        if header.stream == 0 {
            return self.widen(increment, out);
        }
        let Some(id) = self.stream_of(header)? else {
            return Ok(None);
        };
        let Some(stream) = self.streams.get(id) else {
            return Ok(None);
        };
        let error = if increment == 0 {
            StreamError::WindowIncrementZero
        } else {
            stream.credit += i64::from(increment);
            let window = i64::from(self.sending.peer.stream_window_bytes) + stream.credit;
            if window <= i64::from(WINDOW_BYTES_MAX) {
                self.resume(id, out);
                return Ok(None);
            }
            StreamError::WindowOverflow
        };
        self.reset_for(id, error, out)
    }

    /// Increases the connection's send window.
    fn widen(&mut self, increment: u32, out: &mut Vec<u8>) -> Outcome {
        if increment == 0 {
            return Err(ProtocolError::WindowIncrementZero);
        }
        self.sending.window += i64::from(increment);
        if self.sending.window > i64::from(WINDOW_BYTES_MAX) {
            return Err(ProtocolError::WindowOverflow);
        }
        self.resume_all(out);
        Ok(None)
    }

    /// Returns the stream of a frame, or `None` if the stream is closed.
    fn stream_of(&self, header: &FrameHeader) -> Result<Option<StreamId>, ProtocolError> {
        header.names_stream(true)?;
        let found = self.streams.find(header.stream);
        if found.is_none() && self.is_unopened(header.stream) {
            return Err(ProtocolError::StreamIdle {
                frame: header.frame,
                stream: header.stream,
            });
        }
        Ok(found)
    }

    /// Reports whether the stream was neither opened nor skipped (RFC 9113 5.1.1). Streams with
    /// even numbers belong to the server, which opens none. After a server's last GOAWAY, streams
    /// above `last_stream` count as opened, because their frames must be ignored (RFC 9113 6.8).
    pub(super) fn is_unopened(&self, number: u32) -> bool {
        let ignores_new = self.role == Role::Server && self.going_away;
        number.is_multiple_of(2) || (number > self.last_stream && !ignores_new)
    }
}

fn exactly<const N: usize>(header: &FrameHeader, payload: &[u8]) -> Result<[u8; N], ProtocolError> {
    payload.try_into().map_err(|_| header.wrong_length())
}

fn check_dependency(stream: u32, priority: &[u8]) -> Result<(), ProtocolError> {
    let dependency = priority
        .first_chunk()
        .map(|bytes| u32::from_be_bytes(*bytes));
    if dependency.is_some_and(|dependency| dependency & WINDOW_BYTES_MAX == stream) {
        return Err(ProtocolError::DependsOnItself { stream });
    }
    Ok(())
}
