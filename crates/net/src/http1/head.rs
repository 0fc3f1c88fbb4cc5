//! The head of a message, parsed in place.

use std::fmt;

use super::framing::Framing;
use super::parse::{FieldSpan, HeadFacts};

/// One field line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The name as the peer wrote it; compare with [`str::eq_ignore_ascii_case`].
    pub name: &'a str,
    /// The value without surrounding white space; it need not be UTF-8. A value from HTTP/1.1
    /// contains no control character other than the tab; for HTTP/2, see
    /// [`crate::http2::Head::fields`].
    pub value: &'a [u8],
}

/// The head of a request or of a final response. It borrows the bytes that it was parsed from.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    bytes: &'a [u8],
    spans: &'a [FieldSpan],
    facts: &'a HeadFacts,
}

impl<'a> Head<'a> {
    pub(super) fn new(bytes: &'a [u8], spans: &'a [FieldSpan], facts: &'a HeadFacts) -> Self {
        Self {
            bytes,
            spans,
            facts,
        }
    }

    /// The method of a request as written; empty for a response.
    pub fn method(&self) -> &'a str {
        text(&self.bytes[..self.facts.method_len as usize])
    }

    /// The target of a request as it was sent (RFC 9112 3.2); empty for a response.
    pub fn target(&self) -> &'a str {
        if self.facts.target_len == 0 {
            return "";
        }
        let start = self.facts.method_len as usize + 1;
        text(&self.bytes[start..start + self.facts.target_len as usize])
    }

    /// The status of a response, 200 to 999; 0 for a request.
    pub fn status(&self) -> u16 {
        self.facts.status
    }

    /// The minor version of the message, 0 or 1.
    pub fn version_minor(&self) -> u8 {
        self.facts.version_minor
    }

    pub fn framing(&self) -> Framing {
        self.facts.framing
    }

    /// Reports whether the connection may carry another message after this one (RFC 9112 9.3).
    pub fn keep_alive(&self) -> bool {
        !self.facts.closes
    }

    /// Reports whether the client waits for `100 Continue` before it sends the body (RFC 9110
    /// 10.1.1).
    pub fn expects_continue(&self) -> bool {
        self.facts.expects_continue
    }

    /// Every field line in wire order.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = Field<'a>> + Clone + use<'a> {
        let bytes = self.bytes;
        self.spans.iter().map(move |span| Field {
            name: text(span.name(bytes)),
            value: span.value(bytes),
        })
    }

    /// The name and value of every field line as bytes, in wire order, for callers that only copy
    /// or compare them.
    pub fn raw_fields(
        &self,
    ) -> impl ExactSizeIterator<Item = (&'a [u8], &'a [u8])> + Clone + use<'a> {
        let bytes = self.bytes;
        self.spans
            .iter()
            .map(move |span| (span.name(bytes), span.value(bytes)))
    }

    /// Reports whether Connection lists names other than `close` and `keep-alive`, that is, fields
    /// that a proxy removes (RFC 9110 7.6.1).
    pub fn connection_lists_fields(&self) -> bool {
        self.facts.connection_lists_fields
    }

    /// The value of the first field with that name, ignoring case.
    pub fn field(&self, name: &str) -> Option<&'a [u8]> {
        let wanted = name.as_bytes();
        let span = self
            .spans
            .iter()
            .find(|span| span.name(self.bytes).eq_ignore_ascii_case(wanted))?;
        Some(span.value(self.bytes))
    }

    /// The whole head as sent, from the start line to the empty line.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

impl fmt::Debug for Head<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head")
            .field("bytes", &self.bytes.escape_ascii().to_string())
            .field("framing", &self.facts.framing)
            .field("keep_alive", &self.keep_alive())
            .finish_non_exhaustive()
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("methods, targets and names were parsed as UTF-8")
}
