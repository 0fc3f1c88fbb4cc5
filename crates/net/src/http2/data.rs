//! DATA frames and the windows that they reduce (RFC 9113 6.1, 6.9).

use super::connection::{Connection, IncomingData, Reading, Step};
use super::control::Outcome;
use super::event::StreamId;
use super::frame::{self, END_STREAM, FrameHeader, FrameType, PADDED};
use super::streams::Incoming;
use super::{Flood, ProtocolError, StreamError};
use crate::http1::take_up_to;

impl Connection {
    /// Checks a DATA frame whose payload follows.
    #[inline]
    pub(super) fn begin_data(
        &mut self,
        header: &FrameHeader,
        padding: u8,
        out: &mut Vec<u8>,
    ) -> Outcome {
        header.names_stream(true)?;
        let padding_left = if header.has(PADDED) {
            u32::from(padding)
        } else {
            0
        };
        let after_length = header.length - u32::from(header.has(PADDED));
        let Some(data_left) = after_length.checked_sub(padding_left) else {
            let frame = header.frame;
            return Err(ProtocolError::Padding { frame });
        };
        let mut data = IncomingData {
            stream: self.streams.find(header.stream),
            data_left,
            padding_left,
            window_bytes: header.length,
            end_stream: header.has(END_STREAM),
        };
        self.receiving.received = self.receiving.received.saturating_add(header.length);
        if self.receiving.received > self.settings.connection_window_bytes {
            return Err(ProtocolError::WindowExceeded);
        }
        if data_left == 0 && !data.end_stream {
            self.budgets.spend(Flood::EmptyData)?;
        }
        let Some(id) = data.stream else {
            self.check_late(FrameType::DATA, header.stream)?;
            self.reading = Reading::Data(data);
            return Ok(None);
        };
        if let Err(error) = self.admit_data(id, &data) {
            data.stream = None;
            self.reading = Reading::Data(data);
            return self.reset_for(id, error, out);
        }
        self.reading = Reading::Data(data);
        Ok(None)
    }

    /// Checks that the stream can accept the frame, and counts the frame's bytes.
    #[inline]
    fn admit_data(&mut self, id: StreamId, data: &IncomingData) -> Result<(), StreamError> {
        let Some(stream) = self.streams.get(id) else {
            return Err(StreamError::Ended);
        };
        match stream.incoming {
            Incoming::Head => return Err(StreamError::DataBeforeHead),
            Incoming::Body => {}
            Incoming::Ended => return Err(StreamError::Ended),
        }
        stream.received = stream.received.saturating_add(data.window_bytes);
        if stream.received > self.receiving.stream_window_bytes {
            return Err(StreamError::WindowExceeded);
        }
        if let Some(left) = stream.body_left {
            let left = left.checked_sub(u64::from(data.data_left));
            let left = left.ok_or(StreamError::ContentLength)?;
            if data.end_stream && left > 0 {
                return Err(StreamError::ContentLength);
            }
            stream.body_left = Some(left);
        }
        Ok(())
    }

    /// Consumes the part of the payload that is in `input`, which is not empty.
    #[inline]
    pub(super) fn read_data<'i>(
        &mut self,
        mut data: IncomingData,
        input: &mut &'i [u8],
    ) -> Option<Step<'i>> {
        let bytes = take_up_to(u64::from(data.data_left), input);
        data.data_left -= bytes.len() as u32;
        data.padding_left -= if data.data_left == 0 {
            take_up_to(u64::from(data.padding_left), input).len() as u32
        } else {
            0
        };
        // The user may have reset the stream between two pieces.
        data.stream = data.stream.filter(|id| self.streams.get(*id).is_some());
        self.reading = Reading::Data(data);
        match data.stream {
            Some(id) if !bytes.is_empty() => Some(Step::Body(id, bytes)),
            _ => None,
        }
    }

    /// Handles the end of the payload: increases windows that are half used, and ends the message
    /// if the frame has END_STREAM.
    #[inline]
    pub(super) fn end_data(&mut self, data: IncomingData, out: &mut Vec<u8>) -> Outcome {
        if is_half_used(
            self.receiving.received,
            self.settings.connection_window_bytes,
        ) {
            frame::write_window_update(out, 0, self.receiving.received);
            self.receiving.received = 0;
        }
        let Some(id) = data.stream else {
            return Ok(None);
        };
        if data.end_stream {
            self.end_incoming(id);
            return Ok(None);
        }
        self.top_up(id, out);
        Ok(None)
    }

    #[inline]
    fn top_up(&mut self, id: StreamId, out: &mut Vec<u8>) {
        if let Some(stream) = self.streams.get(id)
            && !stream.is_held
            && stream.incoming == Incoming::Body
            && is_half_used(stream.received, self.receiving.stream_window_bytes)
        {
            frame::write_window_update(out, id.number, stream.received);
            stream.received = 0;
        }
    }

    /// Pauses the peer on one stream, or lets it continue.
    pub(super) fn hold(&mut self, id: StreamId, is_held: bool, out: &mut Vec<u8>) {
        if let Some(stream) = self.streams.get(id) {
            stream.is_held = is_held;
        }
        self.top_up(id, out);
    }
}

fn is_half_used(received: u32, window_bytes: u32) -> bool {
    received > 0 && received >= window_bytes / 2
}
