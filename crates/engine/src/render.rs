//! Renders requests before the start. Constant requests become bytes. Others become pieces of
//! bytes, between which values are written when a request is sent.

use std::collections::BTreeMap;
use std::sync::Arc;

use gatebench_model::{Body, Request};
use gatebench_net::trace::{HEX_BYTES, NONCE_HEADER, Nonce};

use crate::data::{DataError, DataSet};
use crate::sampler::Sampler;
use crate::template::Text;

#[derive(Clone, Debug)]
pub(crate) struct Rendered {
    wire: Wire,
    /// The parts of the request, for HTTP/2. Values are drawn by [`Rendered::draw`] before parts
    /// are written.
    pub(crate) parts: Parts,
    /// The sources whose values the request needs, without duplicates.
    sources: Vec<usize>,
    /// True if the response has no body, regardless of its headers.
    pub(crate) is_head: bool,
}

/// A request split into the parts that each protocol builds its messages from.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) method: String,
    /// The value of the Host header or `:authority`.
    pub(crate) authority: String,
    pub(crate) path: Text,
    /// The user's header fields, as written in the scenario.
    pub(crate) fields: Vec<(String, Text)>,
    pub(crate) body: Text,
    /// True if the head contains the length of the body, even if the length is 0.
    pub(crate) says_length: bool,
}

#[derive(Clone, Debug)]
enum Wire {
    Constant {
        bytes: Vec<u8>,
        /// The position of the nonce's 16 digits; `None` if the load is not traced.
        nonce_at: Option<usize>,
    },
    /// The message contains drawn values. The head is split at the nonce and ends before the
    /// framing field.
    Drawn {
        before_nonce: Text,
        after_nonce: Text,
        traced: bool,
    },
}

/// The placeholder in the rendered bytes that each request replaces with its own nonce.
const EMPTY_NONCE: [u8; HEX_BYTES] = [b'0'; HEX_BYTES];

impl Parts {
    fn compile(request: &Request, host: &str, data: &DataSet) -> Result<Self, DataError> {
        let path = Text::compile(&request.path, data)?;
        allows(&path, data, "the path", |byte| byte.is_ascii_graphic())?;
        let mut fields = Vec::with_capacity(request.headers.len());
        for (name, value) in request.fields() {
            let value = Text::compile(value, data)?;
            allows(&value, data, "a header", |byte| {
                matches!(byte, b'\t' | b' '..=b'~')
            })?;
            fields.push((name.to_owned(), value));
        }
        let body = match &request.body {
            None => Text::default(),
            Some(body) => match body.text() {
                Some(text) => Text::compile(text, data)?,
                None => Text::of_bytes(body.bytes()),
            },
        };
        let host = request.host().unwrap_or(host);
        Ok(Self::new(&request.method, host, path, fields, body))
    }

    fn new(method: &str, host: &str, path: Text, fields: Vec<(String, Text)>, body: Text) -> Self {
        let is_empty = body.constant().is_some_and(<[u8]>::is_empty);
        let expects_body = ["POST", "PUT", "PATCH"].contains(&method);
        Self {
            method: method.into(),
            authority: host.into(),
            path,
            fields,
            body,
            says_length: expects_body || !is_empty,
        }
    }

    /// Returns the HTTP/1.1 head in two parts, split at the nonce, which is the value of the second
    /// field. The framing field and the end of the head are missing.
    fn head(&self, traced: bool) -> (Text, Text) {
        let mut before = Text::of_bytes(self.method.as_bytes());
        before.push_bytes(b" ");
        before.push(&self.path);
        before.push_bytes(b" HTTP/1.1\r\nHost: ");
        before.push_bytes(self.authority.as_bytes());
        before.push_bytes(b"\r\n");
        let mut after = Text::default();
        if traced {
            before.push_bytes(format!("{NONCE_HEADER}: ").as_bytes());
            after.push_bytes(b"\r\n");
        }
        for (name, value) in &self.fields {
            after.push_bytes(name.as_bytes());
            after.push_bytes(b": ");
            after.push(value);
            after.push_bytes(b"\r\n");
        }
        (before, after)
    }

    fn slots(&self) -> impl Iterator<Item = crate::data::Slot> {
        let fields = self.fields.iter().flat_map(|(_, value)| value.slots());
        self.path.slots().chain(fields).chain(self.body.slots())
    }
}

/// Rejects values with bytes that are not allowed in their part of the head.
fn allows(
    text: &Text,
    data: &DataSet,
    place: &'static str,
    allowed: fn(&u8) -> bool,
) -> Result<(), DataError> {
    for slot in text.slots() {
        let is_wrong = |value: &&str| !value.as_bytes().iter().all(allowed);
        if let Some(value) = data.texts(slot).find(is_wrong) {
            return Err(DataError::Unsafe {
                name: data.sources[slot.source].name.clone(),
                place,
                value: value.into(),
            });
        }
    }
    Ok(())
}

impl Rendered {
    /// Renders a request, with a nonce header if the load is traced.
    ///
    /// # Errors
    /// Fails if a template of the request is invalid, names a source or column that `data` lacks,
    /// or names a source with values that are not allowed in that part of the request.
    pub(crate) fn new(
        request: &Request,
        host: &str,
        traced: bool,
        data: &DataSet,
    ) -> Result<Self, DataError> {
        Ok(Self::of_parts(Parts::compile(request, host, data)?, traced))
    }

    fn of_parts(parts: Parts, traced: bool) -> Self {
        let mut sources: Vec<usize> = parts.slots().map(|slot| slot.source).collect();
        sources.sort_unstable();
        sources.dedup();
        Self {
            wire: Wire::new(&parts, traced),
            sources,
            is_head: parts.method == "HEAD",
            parts,
        }
    }

    pub(crate) fn draw(&self, sampler: &mut Sampler) {
        sampler.advance(&self.sources);
    }

    /// Reports whether every request is the same except for its nonce.
    pub(crate) fn is_constant(&self) -> bool {
        self.sources.is_empty()
    }

    /// Fills `buffer` with the next request in HTTP/1.1. If the buffer already holds this request
    /// and the request is constant, only the nonce is rewritten.
    pub(crate) fn fill(
        &self,
        buffer: &mut Vec<u8>,
        holds_it: bool,
        nonce: Nonce,
        sampler: &mut Sampler,
    ) {
        match &self.wire {
            Wire::Constant { bytes, nonce_at } => {
                if !holds_it {
                    buffer.clear();
                    buffer.extend_from_slice(bytes);
                }
                if let Some(at) = *nonce_at {
                    buffer[at..at + HEX_BYTES].copy_from_slice(&nonce.to_hex());
                }
            }
            Wire::Drawn {
                before_nonce,
                after_nonce,
                traced,
            } => {
                self.draw(sampler);
                buffer.clear();
                before_nonce.write(sampler, buffer);
                if *traced {
                    buffer.extend_from_slice(&nonce.to_hex());
                }
                after_nonce.write(sampler, buffer);
                self.write_body(sampler, buffer);
            }
        }
    }

    /// Appends the framing field, the end of the head, and the body.
    fn write_body(&self, sampler: &mut Sampler, buffer: &mut Vec<u8>) {
        if let Some(body) = self.parts.body.constant() {
            end_head(buffer, self.parts.says_length.then_some(body.len()));
            buffer.extend_from_slice(body);
            return;
        }
        // The length precedes the body, so render the body into a separate buffer first.
        let mut scratch = std::mem::take(&mut sampler.scratch);
        scratch.clear();
        self.parts.body.write(sampler, &mut scratch);
        end_head(buffer, Some(scratch.len()));
        buffer.extend_from_slice(&scratch);
        sampler.scratch = scratch;
    }
}

/// Returns a request as a load would send it, with its templates filled from one draw of values,
/// for use outside a load.
///
/// # Errors
/// Fails, as a load does, if a template is invalid, names a source or column that `data` lacks, or
/// names a source with values that are not allowed in that part of the request.
pub fn sample(request: &Request, data: &Arc<DataSet>) -> Result<Request, DataError> {
    let rendered = Rendered::new(request, "", false, data)?;
    let mut sampler = Sampler::new(Arc::clone(data), 0, 0, 1);
    rendered.draw(&mut sampler);
    let bytes = |text: &Text| {
        let mut bytes = Vec::new();
        text.write(&sampler, &mut bytes);
        bytes
    };
    let text = |it: &Text| String::from_utf8_lossy(&bytes(it)).into_owned();
    let parts = &rendered.parts;
    let host = request.host().map(|host| ("Host".to_owned(), host.into()));
    let fields = parts.fields.iter();
    let headers: BTreeMap<_, _> = fields
        .map(|(name, value)| (name.clone(), text(value)))
        .chain(host)
        .collect();
    Ok(Request {
        path: text(&parts.path),
        headers,
        body: request.body.as_ref().map(|body| match body.text() {
            Some(_) => Body::new(bytes(&parts.body)),
            None => body.clone(),
        }),
        ..request.clone()
    })
}

impl Wire {
    fn new(parts: &Parts, traced: bool) -> Self {
        let (before_nonce, after_nonce) = parts.head(traced);
        let constants = (
            before_nonce.constant(),
            after_nonce.constant(),
            parts.body.constant(),
        );
        let (Some(before), Some(after), Some(body)) = constants else {
            return Self::Drawn {
                before_nonce,
                after_nonce,
                traced,
            };
        };
        let mut bytes = before.to_vec();
        let nonce_at = traced.then_some(bytes.len());
        if traced {
            bytes.extend_from_slice(&EMPTY_NONCE);
        }
        bytes.extend_from_slice(after);
        end_head(&mut bytes, parts.says_length.then_some(body.len()));
        bytes.extend_from_slice(body);
        Self::Constant { bytes, nonce_at }
    }
}

fn end_head(out: &mut Vec<u8>, length: Option<usize>) {
    use std::io::Write as _;
    if let Some(length) = length {
        let _ = write!(out, "Content-Length: {length}\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests;
