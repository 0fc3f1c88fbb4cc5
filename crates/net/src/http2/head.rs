//! The decoded head or trailers of a message.

use std::fmt;

use super::fields::{Fields, Pseudo};
use crate::http1::Field;

/// The head of a request or response, or trailers.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    fields: &'a Fields,
    status: u16,
}

impl<'a> Head<'a> {
    pub(super) fn new(fields: &'a Fields, status: u16) -> Self {
        Self { fields, status }
    }

    /// The status of a response, 100 to 999; 0 for a request and for trailers.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// `:method` of a request; empty for a response.
    pub fn method(&self) -> &'a [u8] {
        self.fields.pseudo(Pseudo::Method)
    }

    /// `:path` of a request, with its query; empty for a response and for CONNECT.
    pub fn path(&self) -> &'a [u8] {
        self.fields.pseudo(Pseudo::Path)
    }

    /// `:scheme` of a request; empty for a response and for CONNECT.
    pub fn scheme(&self) -> &'a [u8] {
        self.fields.pseudo(Pseudo::Scheme)
    }

    /// `:authority` of a request; empty if it is missing.
    pub fn authority(&self) -> &'a [u8] {
        self.fields.pseudo(Pseudo::Authority)
    }

    pub fn content_length(&self) -> Option<u64> {
        self.fields.content_length
    }

    /// Every regular field in wire order. Names are in lower case; values may contain control
    /// characters other than NUL, CR and LF.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = Field<'a>> + Clone + use<'a> {
        let fields = self.fields;
        fields.spans().iter().map(move |&span| Field {
            name: std::str::from_utf8(fields.name(span)).unwrap_or_default(),
            value: fields.value(span),
        })
    }

    /// The value of the first field with that name, ignoring case.
    pub fn field(&self, name: &str) -> Option<&'a [u8]> {
        let wanted = name.as_bytes();
        let mut spans = self.fields.spans().iter();
        let span = spans.find(|span| self.fields.name(**span).eq_ignore_ascii_case(wanted))?;
        Some(self.fields.value(*span))
    }
}

impl fmt::Debug for Head<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self
            .fields()
            .map(|field| (field.name, field.value.escape_ascii().to_string()));
        f.debug_struct("Head")
            .field("status", &self.status)
            .field("method", &self.method().escape_ascii().to_string())
            .field("path", &self.path().escape_ascii().to_string())
            .field("fields", &fields.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
