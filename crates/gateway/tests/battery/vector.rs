//! A vector: the bytes to send and the required verdict.

use std::fmt;

/// The placeholder for the vector's number, in the bytes sent and in those expected. Every number
/// has as many digits as the placeholder has characters.
pub const MARK: &str = "VVVVV";

/// The request after most vectors, which shows where the gateway considers them to end.
pub const AFTER: &str = "GET /after HTTP/1.1\r\nHost: h\r\nV: VVVVV\r\nConnection: close\r\n\r\n";

/// A request that may be read only as part of a body.
pub const HIDDEN: &str = "GET /hidden HTTP/1.1\r\nHost: h\r\nV: VVVVV\r\n\r\n";

#[derive(Clone, Debug)]
pub struct Vector {
    pub name: String,
    pub bytes: Vec<u8>,
    pub expect: Expect,
    /// True if the vector ends before its request does, so that the gateway waits until its
    /// timeout. The responses to such vectors are read after all others, so these vectors time out
    /// at the same time.
    pub waits: bool,
}

/// The required verdict on a vector, with the requests that the origin may read because of it.
#[derive(Clone, Debug)]
pub enum Expect {
    /// The origin reads these requests, and each gets a response.
    Passed(Vec<Seen>),
    /// The client gets an error, or its connection ends, and the origin reads at most these
    /// requests.
    Refused(Vec<Seen>),
    /// The standards allow both verdicts. The first request in the list is the one that may be
    /// refused.
    Either(Vec<Seen>),
    /// The error follows the request, which may get its response before the error arrives.
    Late(Vec<Seen>),
}

/// A request as read by the origin.
#[derive(Clone, PartialEq, Eq)]
pub struct Seen {
    /// `None` if the gateway may choose the target's form.
    pub target: Option<String>,
    pub body: Vec<u8>,
}

impl Vector {
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>, expect: Expect) -> Self {
        Self {
            name: name.into(),
            bytes: bytes.into(),
            expect,
            waits: false,
        }
    }

    pub fn waiting(self) -> Self {
        Self {
            waits: true,
            ..self
        }
    }
}

impl Seen {
    pub fn new(target: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            target: Some(target.into()),
            body: body.into(),
        }
    }

    pub fn vector(body: impl Into<Vec<u8>>) -> Self {
        Self::new("/v", body)
    }

    pub fn after() -> Self {
        Self::new("/after", "")
    }
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = self.target.as_deref().unwrap_or("any target");
        write!(f, "{target} \"{}\"", self.body.escape_ascii())
    }
}

impl Expect {
    /// The vector's request, with this body, and the request after it are both forwarded.
    pub fn passed(body: impl Into<Vec<u8>>) -> Self {
        Self::Passed(vec![Seen::vector(body), Seen::after()])
    }

    /// Like [`Self::passed`], but the vector may also be refused.
    pub fn either(body: impl Into<Vec<u8>>) -> Self {
        Self::Either(vec![Seen::vector(body), Seen::after()])
    }

    /// The vector is refused, and nothing after it is read as a request.
    pub fn refused() -> Self {
        Self::Refused(Vec::new())
    }

    /// The vector is refused, but its end is known, so the request after it may be served.
    pub fn declined() -> Self {
        Self::Refused(vec![Seen::after()])
    }

    pub fn requests(&self) -> &[Seen] {
        match self {
            Self::Passed(requests)
            | Self::Refused(requests)
            | Self::Either(requests)
            | Self::Late(requests) => requests,
        }
    }
}

pub fn marked(bytes: &[u8], number: usize) -> Vec<u8> {
    let digits = format!("{number:0width$}", width = MARK.len());
    let mut marked = bytes.to_vec();
    let mut at = 0;
    while let Some(found) = position(&marked[at..], MARK.as_bytes()) {
        at += found;
        marked[at..at + digits.len()].copy_from_slice(digits.as_bytes());
    }
    marked
}

pub fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|it| it == wanted)
}
