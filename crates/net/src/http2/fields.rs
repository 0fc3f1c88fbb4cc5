//! Collects the fields of a header block, and checks that they form a message (RFC 9113 8.2 and
//! 8.3).

use super::error::Malformed;
use super::hpack::ENTRY_OVERHEAD_BYTES;
use super::hpack::static_table::ENTRIES;
use crate::http1::decimal;

/// The pseudo-header fields (RFC 9113 8.3.1 and 8.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pseudo {
    Method,
    Scheme,
    Authority,
    Path,
    Status,
}

const PSEUDO_FIELDS: usize = 5;

/// A block is decoded up to this multiple of the limit on its fields, so that the table stays in
/// step with the peer's.
const DECODED_LIMITS: usize = 16;

/// The meaning of a field in the protocol. It is determined once, when the field arrives as a
/// literal, and stays with the field in the dynamic table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldKind {
    Regular,
    Pseudo(Pseudo),
    ContentLength,
    Te,
    Malformed(Malformed),
}

static STATIC_KINDS: [FieldKind; ENTRIES.len()] = static_kinds();

const fn static_kinds() -> [FieldKind; ENTRIES.len()] {
    let mut kinds = [FieldKind::Regular; ENTRIES.len()];
    let mut index = 1;
    while index < ENTRIES.len() {
        kinds[index] = match index {
            1 => FieldKind::Pseudo(Pseudo::Authority),
            2 | 3 => FieldKind::Pseudo(Pseudo::Method),
            4 | 5 => FieldKind::Pseudo(Pseudo::Path),
            6 | 7 => FieldKind::Pseudo(Pseudo::Scheme),
            8..=14 => FieldKind::Pseudo(Pseudo::Status),
            28 => FieldKind::ContentLength,
            57 => FieldKind::Malformed(Malformed::ConnectionField),
            _ => FieldKind::Regular,
        };
        index += 1;
    }
    kinds
}

impl FieldKind {
    #[inline]
    pub(super) fn of_static(index: usize) -> Self {
        STATIC_KINDS[index]
    }

    /// The kind of a field with this name. A name with upper-case letters is malformed (RFC 9113
    /// 8.2.1, 8.2.2).
    pub(super) fn of_name(name: &[u8]) -> Self {
        if name.first() == Some(&b':') {
            return match name {
                b":method" => Self::Pseudo(Pseudo::Method),
                b":scheme" => Self::Pseudo(Pseudo::Scheme),
                b":authority" => Self::Pseudo(Pseudo::Authority),
                b":path" => Self::Pseudo(Pseudo::Path),
                b":status" => Self::Pseudo(Pseudo::Status),
                _ => Self::Malformed(Malformed::UnknownPseudoField),
            };
        }
        if name.is_empty() || !name.iter().all(|&byte| IN_NAME[byte as usize]) {
            return Self::Malformed(Malformed::FieldName);
        }
        match name {
            b"content-length" => Self::ContentLength,
            b"te" => Self::Te,
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding"
            | b"upgrade" => Self::Malformed(Malformed::ConnectionField),
            _ => Self::Regular,
        }
    }

    /// The kind of a field with this value; `self` is the kind of its name (RFC 9113 8.2.1, 8.2.2).
    #[inline]
    pub(super) fn with_value(self, value: &[u8]) -> Self {
        let forbidden = value.iter().fold(false, |found, &byte| {
            found | matches!(byte, 0 | b'\n' | b'\r')
        });
        let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
        if forbidden || is_space(value.first()) || is_space(value.last()) {
            return Self::Malformed(Malformed::FieldValue);
        }
        match self {
            Self::Te if value != b"trailers" => Self::Malformed(Malformed::Te),
            kind => kind,
        }
    }
}

/// The bytes that a name may contain: those of a token (RFC 9110 5.6.2) except upper-case letters.
static IN_NAME: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let lower_or_digit = matches!(byte as u8, b'a'..=b'z' | b'0'..=b'9');
        let mark = matches!(
            byte as u8,
            b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~'
        );
        table[byte] = lower_or_digit || mark;
        byte += 1;
    }
    table
};

/// The position of a field in [`Fields::bytes`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    start: u32,
    name_end: u32,
    end: u32,
}

/// The fields of the last decoded block. The memory is reused for the next one.
#[derive(Debug, Default)]
pub(super) struct Fields {
    bytes: Vec<u8>,
    spans: Vec<Span>,
    pseudo: [Option<Span>; PSEUDO_FIELDS],
    pub(super) content_length: Option<u64>,
    list_bytes: usize,
    list_bytes_max: usize,
    /// True if the fields exceeded the limit, so that some of them are missing.
    pub(super) is_too_large: bool,
    malformed: Option<Malformed>,
}

impl Fields {
    /// Fields for blocks whose size, with 32 bytes added per field, is at most `list_bytes_max`
    /// (RFC 9113 6.5.2).
    pub(super) fn new(list_bytes_max: usize) -> Self {
        Self {
            list_bytes_max: list_bytes_max.min(u32::MAX as usize),
            ..Self::default()
        }
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
        self.pseudo = [None; PSEUDO_FIELDS];
        self.content_length = None;
        self.list_bytes = 0;
        self.is_too_large = false;
        self.malformed = None;
    }

    /// Adds a field from a table.
    #[inline]
    pub(super) fn push(&mut self, name: &[u8], value: &[u8], kind: FieldKind) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.close(start, start + name.len(), kind);
    }

    /// Returns the vector for a literal's name and value; [`Fields::close`] must follow.
    #[inline]
    pub(super) fn open(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds the field that was appended from `start` on. A field beyond the limit is dropped;
    /// decoding continues, because the dynamic table must stay in step with the peer's.
    #[inline]
    pub(super) fn close(&mut self, start: usize, name_end: usize, kind: FieldKind) {
        let end = self.bytes.len();
        self.list_bytes += end - start + ENTRY_OVERHEAD_BYTES;
        if self.list_bytes > self.list_bytes_max {
            self.is_too_large = true;
            self.bytes.truncate(start);
            return;
        }
        let span = Span {
            start: start as u32,
            name_end: name_end as u32,
            end: end as u32,
        };
        match kind {
            FieldKind::Regular | FieldKind::Te => self.spans.push(span),
            FieldKind::Pseudo(pseudo) => self.note_pseudo(pseudo, span),
            FieldKind::ContentLength => self.note_content_length(span),
            FieldKind::Malformed(reason) => self.note_malformed(reason),
        }
    }

    fn note_pseudo(&mut self, pseudo: Pseudo, span: Span) {
        if !self.spans.is_empty() {
            self.note_malformed(Malformed::PseudoFieldLate);
        }
        if self.pseudo[pseudo as usize].replace(span).is_some() {
            self.note_malformed(Malformed::PseudoFieldRepeated);
        }
    }

    fn note_content_length(&mut self, span: Span) {
        self.spans.push(span);
        match (decimal(self.value(span)), self.content_length) {
            (Some(length), None) => self.content_length = Some(length),
            (Some(length), Some(earlier)) if length == earlier => {}
            _ => self.note_malformed(Malformed::ContentLength),
        }
    }

    fn note_malformed(&mut self, reason: Malformed) {
        self.malformed.get_or_insert(reason);
    }

    /// Returns the limit on the size of the decoded fields if they exceed it, so that decoding
    /// stops. There is a limit because one byte of a block may refer to kilobytes of the table.
    #[inline]
    pub(super) fn endless(&self) -> Option<usize> {
        let limit = self.list_bytes_max.saturating_mul(DECODED_LIMITS);
        (self.is_too_large && self.list_bytes > limit).then_some(limit)
    }

    /// Checks that these are the fields of a request (RFC 9113 8.3.1), which may be CONNECT (8.5).
    pub(super) fn check_request(&self) -> Result<(), Malformed> {
        self.check_fields()?;
        let has = |pseudo: Pseudo| self.pseudo[pseudo as usize].is_some();
        if has(Pseudo::Status) {
            return Err(Malformed::PseudoFieldMisplaced);
        }
        let is_whole = if self.pseudo(Pseudo::Method) == b"CONNECT" {
            has(Pseudo::Authority) && !has(Pseudo::Scheme) && !has(Pseudo::Path)
        } else {
            has(Pseudo::Method) && has(Pseudo::Scheme) && !self.pseudo(Pseudo::Path).is_empty()
        };
        if is_whole {
            Ok(())
        } else {
            Err(Malformed::PseudoFieldMissing)
        }
    }

    /// Checks that these are the fields of a response (RFC 9113 8.3.2), and returns its status.
    #[inline]
    pub(super) fn check_response(&self) -> Result<u16, Malformed> {
        self.check_fields()?;
        let request_fields = &self.pseudo[..Pseudo::Status as usize];
        if request_fields.iter().any(Option::is_some) {
            return Err(Malformed::PseudoFieldMisplaced);
        }
        match *self.pseudo(Pseudo::Status) {
            [] => Err(Malformed::PseudoFieldMissing),
            [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] => {
                let digit = |byte: u8| u16::from(byte - b'0');
                Ok(100 * digit(a) + 10 * digit(b) + digit(c))
            }
            _ => Err(Malformed::Status),
        }
    }

    /// Checks that these are trailer fields (RFC 9113 8.1).
    pub(super) fn check_trailers(&self) -> Result<(), Malformed> {
        self.check_fields()?;
        if self.pseudo.iter().any(Option::is_some) {
            return Err(Malformed::PseudoFieldMisplaced);
        }
        Ok(())
    }

    fn check_fields(&self) -> Result<(), Malformed> {
        self.malformed.map_or(Ok(()), Err)
    }

    /// The value of a pseudo-header field; empty if it is missing.
    pub(super) fn pseudo(&self, pseudo: Pseudo) -> &[u8] {
        self.pseudo[pseudo as usize].map_or(&[], |span| self.value(span))
    }

    pub(super) fn spans(&self) -> &[Span] {
        &self.spans
    }

    pub(super) fn name(&self, span: Span) -> &[u8] {
        &self.bytes[span.start as usize..span.name_end as usize]
    }

    pub(super) fn value(&self, span: Span) -> &[u8] {
        &self.bytes[span.name_end as usize..span.end as usize]
    }
}
