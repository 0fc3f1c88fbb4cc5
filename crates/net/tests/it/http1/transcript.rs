//! The events of a decoder as owned values that tests can compare.

use gatebench_net::http1::{Decoder, Event, Framing, Head, Limits, ProtocolError};

/// An event with its bytes; adjacent pieces of one body are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Informational(u16),
    Head(Box<SaidHead>),
    Body(Vec<u8>),
    End,
}

/// Owned values of a [`Head`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SaidHead {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) status: u16,
    pub(super) version_minor: u8,
    pub(super) framing: Framing,
    pub(super) keep_alive: bool,
    pub(super) expects_continue: bool,
    pub(super) fields: Vec<(String, Vec<u8>)>,
    pub(super) bytes: Vec<u8>,
}

impl SaidHead {
    fn new(head: Head<'_>) -> Self {
        let fields = head
            .fields()
            .map(|field| (field.name.to_owned(), field.value.to_vec()));
        Self {
            method: head.method().to_owned(),
            target: head.target().to_owned(),
            status: head.status(),
            version_minor: head.version_minor(),
            framing: head.framing(),
            keep_alive: head.keep_alive(),
            expects_continue: head.expects_continue(),
            fields: fields.collect(),
            bytes: head.bytes().to_vec(),
        }
    }
}

/// All events, and the error that ended them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Transcript {
    pub(super) said: Vec<Said>,
    pub(super) error: Option<ProtocolError>,
}

impl Transcript {
    /// Feeds `pieces` one after another until an error occurs.
    pub(super) fn of<'p>(
        decoder: &mut Decoder,
        pieces: impl IntoIterator<Item = &'p [u8]>,
    ) -> Self {
        let mut transcript = Self::default();
        for piece in pieces {
            if let Err(error) = transcript.feed(decoder, piece) {
                assert_eq!(
                    decoder.next(&mut &b"x"[..]).unwrap_err(),
                    error,
                    "the error persists"
                );
                transcript.error = Some(error);
                break;
            }
        }
        transcript
    }

    pub(super) fn feed(
        &mut self,
        decoder: &mut Decoder,
        mut input: &[u8],
    ) -> Result<(), ProtocolError> {
        while let Some(event) = decoder.next(&mut input)? {
            self.push(event);
        }
        assert!(input.is_empty(), "None means that all input is consumed");
        Ok(())
    }

    fn push(&mut self, event: Event<'_>) {
        match (event, self.said.last_mut()) {
            (Event::Body(bytes), Some(Said::Body(body))) => body.extend_from_slice(bytes),
            (Event::Body(bytes), _) => {
                assert!(!bytes.is_empty(), "a body event has bytes");
                self.said.push(Said::Body(bytes.to_vec()));
            }
            (Event::Informational(status), _) => self.said.push(Said::Informational(status)),
            (Event::Head(head), _) => self.said.push(Said::Head(Box::new(SaidHead::new(head)))),
            (Event::End, _) => self.said.push(Said::End),
        }
    }

    pub(super) fn heads(&self) -> impl Iterator<Item = &SaidHead> {
        self.said.iter().filter_map(|said| match said {
            Said::Head(head) => Some(&**head),
            _ => None,
        })
    }

    /// The bodies, one for each message that ended.
    pub(super) fn bodies(&self) -> Vec<Vec<u8>> {
        let mut bodies = Vec::new();
        let mut body = Vec::new();
        for said in &self.said {
            match said {
                Said::Body(bytes) => body = bytes.clone(),
                Said::End => bodies.push(std::mem::take(&mut body)),
                Said::Head(_) | Said::Informational(_) => {}
            }
        }
        bodies
    }
}

/// The transcript of a server's decoder for `bytes`; asserts that it is the same in one piece and
/// byte by byte.
pub(super) fn requests(limits: Limits, bytes: impl AsRef<[u8]>) -> Transcript {
    both_ways(|| Decoder::requests(limits), bytes.as_ref())
}

/// Like [`requests`], for a client's decoder.
pub(super) fn responses(limits: Limits, bytes: impl AsRef<[u8]>) -> Transcript {
    both_ways(|| Decoder::responses(limits), bytes.as_ref())
}

/// Like [`responses`], for the response to HEAD.
pub(super) fn response_to_head(bytes: impl AsRef<[u8]>) -> Transcript {
    let decoder = || {
        let mut decoder = Decoder::responses(Limits::default());
        decoder.expect(true);
        decoder
    };
    both_ways(decoder, bytes.as_ref())
}

fn both_ways(decoder: impl Fn() -> Decoder, bytes: &[u8]) -> Transcript {
    let whole = Transcript::of(&mut decoder(), [bytes]);
    let trickled = Transcript::of(&mut decoder(), bytes.chunks(1));
    assert_eq!(
        whole,
        trickled,
        "for {:?}",
        bytes.escape_ascii().to_string()
    );
    whole
}
