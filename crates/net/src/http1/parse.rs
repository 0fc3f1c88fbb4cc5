//! Parses one complete head: httparse reads the lines, and this file interprets them.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Request, Response, Status};

use super::framing::{FieldFacts, Framing};
use super::{Limits, ProtocolError};

#[derive(Clone, Copy, Debug)]
pub(super) struct FieldSpan {
    name_start: u32,
    name_end: u32,
    value_start: u32,
    value_end: u32,
}

impl FieldSpan {
    fn new(base: usize, header: &Header<'_>) -> Self {
        let name_start = header.name.as_ptr().addr() - base;
        let value_start = header.value.as_ptr().addr() - base;
        // Heads are limited by `Limits::head_bytes`, which the decoder keeps below 4 GiB.
        Self {
            name_start: name_start as u32,
            name_end: (name_start + header.name.len()) as u32,
            value_start: value_start as u32,
            value_end: (value_start + header.value.len()) as u32,
        }
    }

    pub(super) fn name<'a>(&self, head: &'a [u8]) -> &'a [u8] {
        &head[self.name_start as usize..self.name_end as usize]
    }

    pub(super) fn value<'a>(&self, head: &'a [u8]) -> &'a [u8] {
        &head[self.value_start as usize..self.value_end as usize]
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeadFacts {
    pub(super) head_len: usize,
    pub(super) method_len: u32,
    pub(super) target_len: u32,
    pub(super) status: u16,
    pub(super) version_minor: u8,
    pub(super) framing: Framing,
    /// True if no other message follows on the connection.
    pub(super) closes: bool,
    pub(super) expects_continue: bool,
    pub(super) connection_lists_fields: bool,
}

/// Space for the fields of one head, on the stack, not initialized in advance.
type Slots<'b> = [MaybeUninit<Header<'b>>; Limits::FIELDS_MAX];

/// Parses a request's head at the front of `bytes`; `None` if its end has not arrived.
pub(super) fn request(
    bytes: &[u8],
    limits: &Limits,
    spans: &mut Vec<FieldSpan>,
) -> Result<Option<HeadFacts>, ProtocolError> {
    let mut slots: Slots<'_> = [const { MaybeUninit::uninit() }; Limits::FIELDS_MAX];
    let mut request = Request::new(&mut []);
    let parsed = request.parse_with_uninit_headers(bytes, &mut slots[..limits.fields]);
    let head_len = match parsed.map_err(|error| request_error(error, bytes, limits))? {
        Status::Complete(head_len) => head_len,
        Status::Partial => return Ok(None),
    };
    let (Some(method), Some(target), Some(version_minor)) =
        (request.method, request.path, request.version)
    else {
        return Err(ProtocolError::StartLine);
    };
    let mut fields = FieldFacts::default();
    read_fields(&bytes[..head_len], request.headers, spans, |name, value| {
        fields.note_in_request(name, value)
    })?;
    if method == "CONNECT" {
        return Err(ProtocolError::Connect);
    }
    let framing = fields.request_framing(version_minor)?;
    Ok(Some(HeadFacts {
        head_len,
        method_len: method.len() as u32,
        target_len: target.len() as u32,
        version_minor,
        framing,
        closes: !fields.persists(version_minor, framing),
        expects_continue: fields.expects_continue(version_minor),
        connection_lists_fields: fields.lists_fields,
        ..HeadFacts::default()
    }))
}

/// Parses a response's head at the front of `bytes`; `None` if its end has not arrived.
pub(super) fn response(
    bytes: &[u8],
    responses_head: bool,
    limits: &Limits,
    spans: &mut Vec<FieldSpan>,
) -> Result<Option<HeadFacts>, ProtocolError> {
    let mut slots: Slots<'_> = [const { MaybeUninit::uninit() }; Limits::FIELDS_MAX];
    let mut response = Response::new(&mut []);
    let slots = &mut slots[..limits.fields];
    let parsed =
        ParserConfig::default().parse_response_with_uninit_headers(&mut response, bytes, slots);
    let head_len = match parsed.map_err(|error| response_error(error, limits))? {
        Status::Complete(head_len) => head_len,
        Status::Partial => return Ok(None),
    };
    let (Some(status @ 100..), Some(version_minor)) = (response.code, response.version) else {
        return Err(ProtocolError::Status);
    };
    let bodyless = responses_head || matches!(status, 100..=199 | 204 | 304);
    let mut fields = FieldFacts::of_response(bodyless);
    read_fields(
        &bytes[..head_len],
        response.headers,
        spans,
        |name, value| fields.note(name, value),
    )?;
    let framing = fields.response_framing(version_minor)?;
    Ok(Some(HeadFacts {
        head_len,
        status,
        version_minor,
        framing,
        closes: !fields.persists(version_minor, framing),
        connection_lists_fields: fields.lists_fields,
        ..HeadFacts::default()
    }))
}

/// Records the positions of the fields, and passes each field to `note`. Also checks that each line
/// of the head ends with CRLF, because httparse also accepts LF alone: the second byte before a
/// field's name must be the CR of the previous line, and the head must end with two CRLFs.
#[inline]
fn read_fields(
    head: &[u8],
    headers: &[Header<'_>],
    spans: &mut Vec<FieldSpan>,
    mut note: impl FnMut(&str, &[u8]) -> Result<(), ProtocolError>,
) -> Result<(), ProtocolError> {
    let base = head.as_ptr().addr();
    spans.clear();
    spans.reserve(headers.len());
    let mut lines_end_well = head.ends_with(b"\r\n\r\n");
    for header in headers {
        let span = FieldSpan::new(base, header);
        lines_end_well &= head.get((span.name_start as usize).wrapping_sub(2)) == Some(&b'\r');
        spans.push(span);
        note(header.name, header.value)?;
    }
    if lines_end_well {
        Ok(())
    } else {
        Err(ProtocolError::BareLineFeed)
    }
}

fn request_error(error: httparse::Error, bytes: &[u8], limits: &Limits) -> ProtocolError {
    if error != httparse::Error::Version {
        return common_error(error, limits);
    }
    let line = bytes
        .split(|&byte| byte == b'\r')
        .next()
        .unwrap_or_default();
    let version = line.split(|&byte| byte == b' ').nth(2).unwrap_or_default();
    match version.strip_prefix(b"HTTP/") {
        Some([b'0'..=b'9', ..]) => ProtocolError::Version,
        _ => ProtocolError::StartLine,
    }
}

/// Converts an error in a response's head. [`super::scan::HeadScan`] has already checked the bytes
/// before the minor version.
fn response_error(error: httparse::Error, limits: &Limits) -> ProtocolError {
    match error {
        httparse::Error::Version => ProtocolError::Version,
        other => common_error(other, limits),
    }
}

fn common_error(error: httparse::Error, limits: &Limits) -> ProtocolError {
    match error {
        httparse::Error::HeaderName => ProtocolError::FieldName,
        httparse::Error::HeaderValue => ProtocolError::FieldValue,
        httparse::Error::NewLine => ProtocolError::BareCarriageReturn,
        httparse::Error::Status => ProtocolError::Status,
        httparse::Error::Token | httparse::Error::Version => ProtocolError::StartLine,
        httparse::Error::TooManyHeaders => ProtocolError::TooManyFields {
            limit: limits.fields,
        },
    }
}
