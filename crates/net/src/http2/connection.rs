//! The state of one end of a connection in either role, and the events derived from its bytes.

use super::event::{Event, StreamId};
use super::fields::Fields;
use super::frame::{self, PREFACE};
use super::hpack;
use super::intake::{Intake, Taken};
use super::limits::Budgets;
use super::order::Order;
use super::sending::Sending;
use super::settings::WINDOW_BYTES_INITIAL;
use super::streams::{Closed, Streams};
use super::{ErrorCode, Head, Limits, ProtocolError, Settings, StreamError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Client,
    Server,
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) role: Role,
    pub(super) limits: Limits,
    pub(super) settings: Settings,
    pub(super) budgets: Budgets,
    pub(super) streams: Streams,
    pub(super) sending: Sending,
    pub(super) receiving: Receiving,
    pub(super) hpack: hpack::Decoder,
    /// The fields of the last decoded block.
    pub(super) fields: Fields,
    /// The header block that CONTINUATION frames continue.
    pub(super) partial: Option<PartialBlock>,
    /// The buffer for the block in `partial`.
    pub(super) block: Vec<u8>,
    pub(super) reading: Reading,
    intake: Intake,
    pub(super) queued: Queued,
    /// The highest number of the streams that the client has opened.
    pub(super) last_stream: u32,
    /// True if no more streams are opened, because a server has sent its last GOAWAY or a client
    /// has received one.
    pub(super) going_away: bool,
    failed: Option<ProtocolError>,
}

#[derive(Debug)]
pub(super) struct Receiving {
    pub(super) settings_received: bool,
    pub(super) settings_acknowledged: bool,
    /// The full receive window of each stream.
    pub(super) stream_window_bytes: u32,
    /// Bytes of DATA payloads, including padding, since the connection's window was last increased.
    pub(super) received: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PartialBlock {
    pub(super) stream: u32,
    pub(super) end_stream: bool,
    pub(super) continuations: u32,
}

/// The part of the connection that the next byte belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reading {
    /// The client's preface, of which this number of bytes has arrived.
    Preface(usize),
    Frame,
    Data(IncomingData),
}

/// A DATA frame whose payload is being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct IncomingData {
    /// The stream of the bytes; if `None`, the bytes are discarded.
    pub(super) stream: Option<StreamId>,
    pub(super) data_left: u32,
    pub(super) padding_left: u32,
    /// The number of bytes by which the whole payload reduces the windows.
    pub(super) window_bytes: u32,
    pub(super) end_stream: bool,
}

/// Events that need no further bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Queued {
    Nothing,
    End(StreamId),
    /// GOAWAY arrived: streams above `last_stream` are dropped, one slot after another.
    Refused {
        last_stream: u32,
        slot: u32,
    },
}

/// An event that does not borrow the connection's own bytes, so that the connection's state can
/// change while the event exists.
#[derive(Debug)]
pub(super) enum Step<'i> {
    Informational(StreamId, u16),
    Head(StreamId, u16),
    Body(StreamId, &'i [u8]),
    Trailers(StreamId),
    End(StreamId),
    Reset(StreamId, ErrorCode, Option<StreamError>),
    Settings,
    GoAway(u32, ErrorCode),
}

impl Connection {
    pub(super) fn new(role: Role, settings: Settings, limits: Limits) -> Self {
        let settings = settings.clamped();
        Self {
            role,
            limits,
            settings,
            budgets: Budgets::new(&limits),
            streams: Streams::default(),
            sending: Sending::new(),
            receiving: Receiving {
                settings_received: false,
                settings_acknowledged: false,
                // Until the peer has our settings, it uses the initial window.
                stream_window_bytes: settings.stream_window_bytes.max(WINDOW_BYTES_INITIAL),
                received: 0,
            },
            hpack: hpack::Decoder::new(),
            fields: Fields::new(limits.list_bytes),
            partial: None,
            block: Vec::new(),
            reading: match role {
                Role::Client => Reading::Frame,
                Role::Server => Reading::Preface(0),
            },
            intake: Intake::default(),
            queued: Queued::Nothing,
            last_stream: 0,
            going_away: false,
            failed: None,
        }
    }

    /// Writes the bytes that must be sent first; see [`super::Client::preface`].
    pub(super) fn write_preface(&self, out: &mut Vec<u8>) {
        let streams = match self.role {
            Role::Client => {
                out.extend_from_slice(PREFACE);
                None
            }
            Role::Server => Some(self.limits.streams),
        };
        self.settings.write(streams, self.limits.list_bytes, out);
        let more = self.settings.connection_window_bytes - WINDOW_BYTES_INITIAL;
        if more > 0 {
            frame::write_window_update(out, 0, more);
        }
    }

    /// The next event; see [`super::Client::next`].
    pub(super) fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, ProtocolError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let step = match self.step(input, out) {
            Ok(Some(step)) => step,
            Ok(None) => return Ok(None),
            Err(error) => {
                self.failed = Some(error);
                frame::write_go_away(out, self.last_peer_stream(), error.code());
                return Err(error);
            }
        };
        Ok(Some(self.event(step)))
    }

    fn event<'a>(&'a self, step: Step<'a>) -> Event<'a> {
        let head = |status| Head::new(&self.fields, status);
        match step {
            Step::Informational(stream, status) => Event::Informational {
                stream,
                head: head(status),
            },
            Step::Head(stream, status) => Event::Head {
                stream,
                head: head(status),
            },
            Step::Body(stream, bytes) => Event::Body { stream, bytes },
            Step::Trailers(stream) => Event::Trailers {
                stream,
                head: head(0),
            },
            Step::End(stream) => Event::End { stream },
            Step::Reset(stream, code, error) => Event::Reset {
                stream,
                code,
                error,
            },
            Step::Settings => Event::Settings,
            Step::GoAway(last_stream, code) => Event::GoAway { last_stream, code },
        }
    }

    fn step<'i>(
        &mut self,
        input: &mut &'i [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Step<'i>>, ProtocolError> {
        loop {
            if let Some(step) = self.take_queued(out) {
                return Ok(Some(step));
            }
            let step = match self.reading {
                Reading::Preface(seen) => self.read_preface(seen, input)?,
                Reading::Data(data) if data.data_left == 0 && data.padding_left == 0 => {
                    self.reading = Reading::Frame;
                    self.end_data(data, out)?
                }
                _ if input.is_empty() => return Ok(None),
                Reading::Data(data) => self.read_data(data, input),
                Reading::Frame => self.read_frame(input, out)?,
            };
            if step.is_some() {
                return Ok(step);
            }
            let waits = matches!(self.reading, Reading::Preface(_));
            if waits && input.is_empty() {
                return Ok(None);
            }
        }
    }

    /// Returns the next event that remains from the previous frame.
    #[inline]
    fn take_queued(&mut self, out: &mut Vec<u8>) -> Option<Step<'static>> {
        match self.queued {
            Queued::Nothing => None,
            Queued::End(stream) => {
                self.queued = Queued::Nothing;
                if self.role == Role::Client {
                    self.finish_at_client(stream, out);
                }
                Some(Step::End(stream))
            }
            Queued::Refused { last_stream, slot } => self.refuse_from(last_stream, slot),
        }
    }

    /// Handles the end of a response. The rest of the request's body is no longer needed (RFC 9113
    /// 8.1).
    fn finish_at_client(&mut self, id: StreamId, out: &mut Vec<u8>) {
        let Some(stream) = self.streams.get(id) else {
            return;
        };
        if stream.outgoing_ended {
            self.streams.close(id, Closed::Ended);
        } else {
            frame::write_reset(out, id.number, ErrorCode::CANCEL);
            self.streams.close(id, Closed::ResetByUs);
        }
        self.budgets.stream_finished();
    }

    /// Drops the next stream above `last_stream`, starting at `slot` (RFC 9113 6.8).
    fn refuse_from(&mut self, last_stream: u32, slot: u32) -> Option<Step<'static>> {
        for slot in slot..self.streams.slot_count() {
            if let Some(id) = self.streams.in_slot(slot)
                && id.number > last_stream
            {
                let slot = slot + 1;
                self.queued = Queued::Refused { last_stream, slot };
                self.streams.close(id, Closed::ResetByUs);
                return Some(Step::Reset(id, ErrorCode::REFUSED_STREAM, None));
            }
        }
        self.queued = Queued::Nothing;
        None
    }

    fn read_preface<'i>(
        &mut self,
        seen: usize,
        input: &mut &'i [u8],
    ) -> Result<Option<Step<'i>>, ProtocolError> {
        let wanted = &PREFACE[seen..];
        let (got, rest) = input.split_at(wanted.len().min(input.len()));
        if !wanted.starts_with(got) {
            return Err(ProtocolError::Preface);
        }
        *input = rest;
        self.reading = if got.len() == wanted.len() {
            Reading::Frame
        } else {
            Reading::Preface(seen + got.len())
        };
        Ok(None)
    }

    #[inline]
    fn read_frame<'i>(
        &mut self,
        input: &mut &'i [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Step<'i>>, ProtocolError> {
        let order = Order::of(self);
        match self.intake.take(input, |header| order.check(header))? {
            Taken::NeedMore => Ok(None),
            Taken::Data { header, padding } => self.begin_data(&header, padding, out),
            Taken::Frame { header, payload } => self.on_frame(&header, payload, out),
            Taken::Held(header) => {
                let held = self.intake.take_held();
                let step = self.on_frame(&header, &held[frame::HEADER_BYTES..], out);
                self.intake.release(held);
                step
            }
        }
    }

    /// Resets a stream on which the peer made an error (RFC 9113 5.4.2).
    pub(super) fn reset_for(
        &mut self,
        id: StreamId,
        error: StreamError,
        out: &mut Vec<u8>,
    ) -> Result<Option<Step<'static>>, ProtocolError> {
        self.note_reset()?;
        frame::write_reset(out, id.number, error.code());
        self.streams.close(id, Closed::ResetByUs);
        Ok(Some(Step::Reset(id, error.code(), Some(error))))
    }

    /// Counts a stream whose reset the peer caused. A client does not count such streams, because
    /// it opens them itself.
    pub(super) fn note_reset(&mut self) -> Result<(), ProtocolError> {
        match self.role {
            Role::Client => Ok(()),
            Role::Server => self.budgets.spend(super::Flood::Resets),
        }
    }

    /// The highest stream that the peer opened; a server opens none, because push is disabled.
    pub(super) fn last_peer_stream(&self) -> u32 {
        match self.role {
            Role::Client => 0,
            Role::Server => self.last_stream,
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }
}
