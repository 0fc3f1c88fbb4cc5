//! The decoder, which assigns each byte to a part of a message.

use super::chunked::{ChunkDecoder, ChunkStep};
use super::framing::Framing;
use super::head::Head;
use super::parse::{self, FieldSpan, HeadFacts};
use super::scan::HeadScan;
use super::{Limits, ProtocolError};

/// The messages that a decoder reads: a server reads requests, and a client reads responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Request,
    Response,
}

/// The next event in the bytes of a connection.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The head of a 1xx response was skipped; another response follows.
    Informational(u16),
    Head(Head<'a>),
    /// Bytes of the body, without chunk framing; never empty.
    Body(&'a [u8]),
    End,
}

/// Decodes the messages in one direction of a connection.
#[derive(Debug)]
pub struct Decoder {
    role: Role,
    limits: Limits,
    state: State,
    facts: HeadFacts,
    spans: Vec<FieldSpan>,
    collected: Vec<u8>,
    responses_head: bool,
    informational: u32,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Idle,
    /// After a CR where a request may begin: an empty line before a request is ignored (RFC 9112
    /// 2.2).
    EmptyLine,
    /// In a head whose end has not been found, usually because the head is split across inputs.
    Head(HeadScan),
    Length {
        left: u64,
    },
    Chunked(ChunkDecoder),
    UntilClose {
        allowed: u64,
    },
    /// The message is complete, but its end has not been reported.
    End,
    /// After the last message of the connection.
    Closed,
    Failed(ProtocolError),
}

/// An event that does not borrow the decoder's own bytes, so that the decoder's state can change
/// while the event exists.
enum Step<'i> {
    NeedMore,
    Informational(u16),
    Head(&'i [u8]),
    CollectedHead,
    Body(&'i [u8]),
    End,
}

impl Decoder {
    pub fn requests(limits: Limits) -> Self {
        Self::new(Role::Request, limits)
    }

    pub fn responses(limits: Limits) -> Self {
        Self::new(Role::Response, limits)
    }

    fn new(role: Role, mut limits: Limits) -> Self {
        limits.fields = limits.fields.min(Limits::FIELDS_MAX);
        limits.head_bytes = limits.head_bytes.min(u32::MAX as usize);
        Self {
            role,
            limits,
            state: State::Idle,
            facts: HeadFacts::default(),
            spans: Vec::new(),
            collected: Vec::new(),
            responses_head: false,
            informational: 0,
        }
    }

    pub fn role(&self) -> Role {
        self.role
    }

    /// Forgets the connection but keeps the memory, so that another connection can be read.
    pub fn reset(&mut self) {
        self.state = State::Idle;
        self.facts = HeadFacts::default();
        self.responses_head = false;
        self.informational = 0;
    }

    /// Sets whether the next response is to a HEAD request; such a response has no body (RFC 9112
    /// 6.3 item 1). Call this before the response is read. It applies only to the next final
    /// response; a client that pipelines calls it after each [`Event::End`].
    pub fn expect(&mut self, method_is_head: bool) {
        self.responses_head = method_is_head;
    }

    /// Returns the next event, and removes its bytes from the front of `input`. Returns `None` if
    /// more bytes are needed; all of `input` is then consumed. Some events need no bytes, so repeat
    /// the call until it returns `None`. Bytes after the last message of a connection are consumed
    /// and ignored (RFC 9112 9.6).
    ///
    /// # Errors
    /// The peer violated the protocol or exceeded a limit. Every later call returns the same error,
    /// until [`Decoder::reset`].
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Event<'a>>, ProtocolError> {
        let step = match self.step(input) {
            Ok(step) => step,
            Err(error) => {
                self.state = State::Failed(error);
                return Err(error);
            }
        };
        Ok(match step {
            Step::NeedMore => None,
            Step::Informational(status) => Some(Event::Informational(status)),
            Step::Head(bytes) => Some(Event::Head(Head::new(bytes, &self.spans, &self.facts))),
            Step::CollectedHead => Some(Event::Head(Head::new(
                &self.collected,
                &self.spans,
                &self.facts,
            ))),
            Step::Body(bytes) => Some(Event::Body(bytes)),
            Step::End => Some(Event::End),
        })
    }

    /// Handles the peer's FIN. Call it once [`Decoder::next`] has returned `None`.
    ///
    /// Returns true if the FIN ended a message whose body lasted until the close, and false if the
    /// FIN arrived between messages, where it is allowed.
    ///
    /// # Errors
    /// A message was cut off, or an error had occurred before.
    pub fn end_of_stream(&mut self) -> Result<bool, ProtocolError> {
        let ended = match self.state {
            State::Idle | State::EmptyLine if self.informational == 0 => Ok(false),
            State::Idle | State::EmptyLine | State::Head(_) => Err(ProtocolError::TruncatedHead),
            State::Length { .. } | State::Chunked(_) => Err(ProtocolError::TruncatedBody),
            State::UntilClose { .. } | State::End => Ok(true),
            State::Closed => Ok(false),
            State::Failed(error) => Err(error),
        };
        self.state = match ended {
            Ok(_) => State::Closed,
            Err(error) => State::Failed(error),
        };
        ended
    }

    /// Reports whether the connection may carry another message (RFC 9112 9.3), according to the
    /// last head that was read; `true` before the first.
    pub fn keep_alive(&self) -> bool {
        !self.facts.closes
    }

    /// Reports whether [`Event::End`] is next and needs no further byte, as after the last piece of
    /// a body of known length.
    pub fn has_end(&self) -> bool {
        matches!(self.state, State::End)
    }

    /// Reports whether the decoder is between messages and has read no part of the next one, so
    /// that closing now loses nothing.
    pub fn is_idle(&self) -> bool {
        self.informational == 0
            && matches!(self.state, State::Idle | State::EmptyLine | State::Closed)
    }

    fn step<'i>(&mut self, input: &mut &'i [u8]) -> Result<Step<'i>, ProtocolError> {
        loop {
            match self.state {
                State::Idle if input.is_empty() => return Ok(Step::NeedMore),
                State::Idle => {
                    if let Some(step) = self.begin(input)? {
                        return Ok(step);
                    }
                }
                State::EmptyLine => match input.split_first() {
                    None => return Ok(Step::NeedMore),
                    Some((b'\n', rest)) => {
                        *input = rest;
                        self.state = State::Idle;
                    }
                    Some(_) => return Err(ProtocolError::StartLine),
                },
                State::Head(scan) => return self.collect(scan, input),
                State::Length { left } => return Ok(self.read_length(left, input)),
                State::Chunked(chunks) => return self.read_chunked(chunks, input),
                State::UntilClose { allowed } => return self.read_until_close(allowed, input),
                State::End => {
                    self.state = if self.keep_alive() {
                        State::Idle
                    } else {
                        State::Closed
                    };
                    return Ok(Step::End);
                }
                State::Closed => {
                    *input = &[];
                    return Ok(Step::NeedMore);
                }
                State::Failed(error) => return Err(error),
            }
        }
    }

    /// Handles the possible beginning of a message. Usually the whole head is in `input` and is
    /// parsed there. For all other heads, including invalid ones, the end is found first, so that
    /// an error does not depend on how the bytes are split. Returns `None` if only the state
    /// changed.
    fn begin<'i>(&mut self, input: &mut &'i [u8]) -> Result<Option<Step<'i>>, ProtocolError> {
        let is_empty_line = input[0] == b'\r' && matches!(input.get(1), None | Some(b'\n'));
        if self.role == Role::Request && is_empty_line {
            *input = &input[1..];
            self.state = State::EmptyLine;
            return Ok(None);
        }
        let bytes: &'i [u8] = input;
        let bounded = &bytes[..bytes.len().min(self.limits.head_bytes)];
        let in_place = bounded[0] != b'\r' && bounded[0] != b'\n';
        if in_place && let Ok(Some(facts)) = self.parse(bounded) {
            let (head, rest) = bytes.split_at(facts.head_len);
            *input = rest;
            return self.accept(facts, Step::Head(head)).map(Some);
        }
        self.collected.clear();
        self.state = State::Head(HeadScan::default());
        Ok(None)
    }

    fn collect<'i>(
        &mut self,
        mut scan: HeadScan,
        input: &mut &'i [u8],
    ) -> Result<Step<'i>, ProtocolError> {
        let limit = self.limits.head_bytes;
        let bounded = &input[..input.len().min(limit - self.collected.len())];
        let end = scan.find_end(bounded, self.role)?;
        let (taken, rest) = input.split_at(end.unwrap_or(bounded.len()));
        *input = rest;
        self.collected.extend_from_slice(taken);
        debug_assert!(self.collected.len() <= limit);
        self.state = State::Head(scan);
        if end.is_some() {
            let collected = std::mem::take(&mut self.collected);
            let parsed = self.parse(&collected);
            self.collected = collected;
            let facts = parsed?.ok_or(ProtocolError::StartLine)?;
            return self.accept(facts, Step::CollectedHead);
        }
        if self.collected.len() < limit {
            return Ok(Step::NeedMore);
        }
        Err(match self.role {
            Role::Request if scan.in_first_line() => ProtocolError::TargetTooLong { limit },
            _ => ProtocolError::HeadTooLarge { limit },
        })
    }

    fn parse(&mut self, bytes: &[u8]) -> Result<Option<HeadFacts>, ProtocolError> {
        match self.role {
            Role::Request => parse::request(bytes, &self.limits, &mut self.spans),
            Role::Response => {
                parse::response(bytes, self.responses_head, &self.limits, &mut self.spans)
            }
        }
    }

    /// Returns `head`, or [`Step::Informational`] if the status in `facts` is 1xx.
    fn accept<'i>(&mut self, facts: HeadFacts, head: Step<'i>) -> Result<Step<'i>, ProtocolError> {
        if self.role == Role::Response && facts.status < 200 {
            return self.pass_informational(facts.status);
        }
        let limit = self.limits.body_bytes;
        self.state = match facts.framing {
            Framing::None | Framing::Length(0) => State::End,
            Framing::Length(length) if length > limit => {
                return Err(ProtocolError::BodyTooLarge { limit });
            }
            Framing::Length(left) => State::Length { left },
            Framing::Chunked => State::Chunked(ChunkDecoder::new(&self.limits)),
            Framing::UntilClose => State::UntilClose { allowed: limit },
        };
        self.facts = facts;
        self.informational = 0;
        self.responses_head = false;
        Ok(head)
    }

    fn pass_informational<'i>(&mut self, status: u16) -> Result<Step<'i>, ProtocolError> {
        if status == 101 {
            return Err(ProtocolError::SwitchingProtocols);
        }
        let limit = self.limits.informational;
        if self.informational >= limit {
            return Err(ProtocolError::TooManyInformational { limit });
        }
        self.informational += 1;
        self.state = State::Idle;
        Ok(Step::Informational(status))
    }

    fn read_length<'i>(&mut self, left: u64, input: &mut &'i [u8]) -> Step<'i> {
        if input.is_empty() {
            return Step::NeedMore;
        }
        let body = take_up_to(left, input);
        let left = left - body.len() as u64;
        self.state = if left == 0 {
            State::End
        } else {
            State::Length { left }
        };
        Step::Body(body)
    }

    fn read_chunked<'i>(
        &mut self,
        mut chunks: ChunkDecoder,
        input: &mut &'i [u8],
    ) -> Result<Step<'i>, ProtocolError> {
        let step = chunks.next(input, &self.limits)?;
        self.state = State::Chunked(chunks);
        match step {
            ChunkStep::NeedMore => Ok(Step::NeedMore),
            ChunkStep::Data(data) => Ok(Step::Body(data)),
            ChunkStep::End => {
                self.state = State::End;
                self.step(input)
            }
        }
    }

    fn read_until_close<'i>(
        &mut self,
        allowed: u64,
        input: &mut &'i [u8],
    ) -> Result<Step<'i>, ProtocolError> {
        if input.is_empty() {
            return Ok(Step::NeedMore);
        }
        if allowed == 0 {
            return Err(ProtocolError::BodyTooLarge {
                limit: self.limits.body_bytes,
            });
        }
        let body = take_up_to(allowed, input);
        self.state = State::UntilClose {
            allowed: allowed - body.len() as u64,
        };
        Ok(Step::Body(body))
    }
}

#[inline]
pub(crate) fn take_up_to<'i>(count: u64, input: &mut &'i [u8]) -> &'i [u8] {
    let count = usize::try_from(count).map_or(input.len(), |count| count.min(input.len()));
    let (taken, rest) = input.split_at(count);
    *input = rest;
    taken
}
