//! The events of an end as owned values that tests can compare.

use gatebench_net::http2::{
    Client, ErrorCode, Event, Head, Limits, ProtocolError, Server, Settings, StreamError, StreamId,
};

/// An event with its bytes; adjacent pieces of one body are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Informational(u32, u16),
    Head(u32, Box<SaidHead>),
    Body(u32, Vec<u8>),
    Trailers(u32, Vec<(String, Vec<u8>)>),
    End(u32),
    Reset(u32, ErrorCode, Option<StreamError>),
    Settings,
    GoAway(u32, ErrorCode),
}

/// Owned values of a [`Head`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SaidHead {
    pub(super) status: u16,
    pub(super) method: Vec<u8>,
    pub(super) path: Vec<u8>,
    pub(super) scheme: Vec<u8>,
    pub(super) authority: Vec<u8>,
    pub(super) fields: Vec<(String, Vec<u8>)>,
}

impl SaidHead {
    fn new(head: Head<'_>) -> Self {
        Self {
            status: head.status(),
            method: head.method().to_vec(),
            path: head.path().to_vec(),
            scheme: head.scheme().to_vec(),
            authority: head.authority().to_vec(),
            fields: owned_fields(head),
        }
    }
}

fn owned_fields(head: Head<'_>) -> Vec<(String, Vec<u8>)> {
    let fields = head.fields();
    fields
        .map(|field| (field.name.to_owned(), field.value.to_vec()))
        .collect()
}

impl Said {
    pub(super) fn of(event: Event<'_>) -> (Option<StreamId>, Self) {
        match event {
            Event::Informational { stream, head } => (
                Some(stream),
                Self::Informational(stream.number(), head.status()),
            ),
            Event::Head { stream, head } => (
                Some(stream),
                Self::Head(stream.number(), Box::new(SaidHead::new(head))),
            ),
            Event::Body { stream, bytes } => {
                assert!(!bytes.is_empty(), "pieces of bodies are never empty");
                (Some(stream), Self::Body(stream.number(), bytes.to_vec()))
            }
            Event::Trailers { stream, head } => (
                Some(stream),
                Self::Trailers(stream.number(), owned_fields(head)),
            ),
            Event::End { stream } => (Some(stream), Self::End(stream.number())),
            Event::Reset {
                stream,
                code,
                error,
            } => (Some(stream), Self::Reset(stream.number(), code, error)),
            Event::Settings => (None, Self::Settings),
            Event::GoAway { last_stream, code } => (None, Self::GoAway(last_stream, code)),
        }
    }
}

/// One end with all its events, and the bytes that it wrote and that have not been taken yet.
#[derive(Debug)]
pub(super) struct End<C> {
    pub(super) connection: C,
    pub(super) said: Vec<Said>,
    pub(super) out: Vec<u8>,
    pub(super) error: Option<ProtocolError>,
    /// The stream of each head.
    pub(super) streams: Vec<StreamId>,
}

/// The functions of [`Client`] and [`Server`] that [`End`] calls.
pub(super) trait Connection {
    fn preface(&self, out: &mut Vec<u8>);
    fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, ProtocolError>;
}

macro_rules! connection {
    ($end:ty) => {
        impl Connection for $end {
            fn preface(&self, out: &mut Vec<u8>) {
                <$end>::preface(self, out);
            }
            fn next<'a, 'i: 'a>(
                &'a mut self,
                input: &mut &'i [u8],
                out: &mut Vec<u8>,
            ) -> Result<Option<Event<'a>>, ProtocolError> {
                <$end>::next(self, input, out)
            }
        }
    };
}
connection!(Client);
connection!(Server);

impl End<Client> {
    pub(super) fn client(settings: Settings, limits: Limits) -> Self {
        Self::new(Client::new(settings, limits))
    }
}

impl End<Server> {
    pub(super) fn server(settings: Settings, limits: Limits) -> Self {
        Self::new(Server::new(settings, limits))
    }
}

impl<C: Connection> End<C> {
    fn new(connection: C) -> Self {
        let mut out = Vec::new();
        connection.preface(&mut out);
        Self {
            connection,
            said: Vec::new(),
            out,
            error: None,
            streams: Vec::new(),
        }
    }

    /// Feeds bytes until they are consumed or an error occurs. Asserts that the error persists.
    pub(super) fn feed(&mut self, mut input: &[u8]) {
        if self.error.is_some() {
            return;
        }
        loop {
            match self.connection.next(&mut input, &mut self.out) {
                Ok(Some(event)) => {
                    let (stream, said) = Said::of(event);
                    if let (Some(stream), Said::Head(..)) = (stream, &said) {
                        self.streams.push(stream);
                    }
                    match (self.said.last_mut(), said) {
                        (Some(Said::Body(number, body)), Said::Body(next, more))
                            if *number == next =>
                        {
                            body.extend(more);
                        }
                        (_, said) => self.said.push(said),
                    }
                }
                Ok(None) => break assert!(input.is_empty(), "all input is consumed"),
                Err(error) => {
                    self.error = Some(error);
                    let again = self.connection.next(&mut &b"x"[..], &mut Vec::new());
                    break assert_eq!(again.unwrap_err(), error, "the error persists");
                }
            }
        }
    }

    pub(super) fn take_said(&mut self) -> Vec<Said> {
        std::mem::take(&mut self.said)
    }

    pub(super) fn take_out(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }
}

/// Moves bytes between the ends, in pieces chosen by `cut`, until neither writes.
pub(super) fn carry(
    client: &mut End<Client>,
    server: &mut End<Server>,
    mut cut: impl FnMut(usize) -> usize,
) {
    while !client.out.is_empty() || !server.out.is_empty() {
        deliver(&client.take_out(), server, &mut cut);
        deliver(&server.take_out(), client, &mut cut);
    }
}

pub(super) fn deliver<C: Connection>(
    mut bytes: &[u8],
    to: &mut End<C>,
    mut cut: impl FnMut(usize) -> usize,
) {
    while !bytes.is_empty() {
        let (piece, rest) = bytes.split_at(cut(bytes.len()).clamp(1, bytes.len()));
        to.feed(piece);
        bytes = rest;
    }
}
