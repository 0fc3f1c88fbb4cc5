//! HTTP/2 on one connection, with several concurrent exchanges.

use std::io::Write as _;

use gatebench_net::http2::{
    Block, Client, ErrorCode, Event, Limits, ProtocolError, Settings, StreamId, Variable,
};
use gatebench_net::trace::{HEX_BYTES, NONCE_HEADER, Nonce};

use crate::compiled::Compiled;
use crate::kept_body::Allowance;
use crate::render::Rendered;
use crate::response::{Exchange, Response};
use crate::sampler::Sampler;

pub(crate) struct Http2 {
    pub(crate) client: Client,
    streams: Vec<Stream>,
    /// Frames to be sent, for the layer below.
    pub(crate) frames: Vec<u8>,
    /// Slots whose streams have ended, each with the way its stream ended.
    pub(crate) ended: Vec<(usize, End)>,
    /// The number of concurrent requests that the load allows but this connection cannot begin,
    /// usually because the server allows fewer streams.
    pub(crate) parked: u32,
    allowance: Allowance,
}

/// A slot for a stream and its response. The slot is free if it has no stream identifier.
struct Stream {
    id: Option<StreamId>,
    response: Response,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Complete,
    Reset,
}

impl Http2 {
    pub(crate) fn new(streams: u32, allowance: Allowance) -> Self {
        let limits = Limits {
            streams,
            ..Limits::default()
        };
        let client = Client::new(Settings::default(), limits);
        let mut frames = Vec::new();
        client.preface(&mut frames);
        Self {
            client,
            streams: Vec::new(),
            frames,
            ended: Vec::new(),
            parked: 0,
            allowance,
        }
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.client.open_count() == 0 && self.ended.is_empty()
    }

    /// Does nothing if the server allows no further stream.
    pub(crate) fn begin(&mut self, block: &Block, body: &[u8], exchange: Exchange) {
        let Some(id) = self.client.request(block, body, &mut self.frames) else {
            return;
        };
        while self.streams.len() <= id.slot() {
            self.streams.push(Stream {
                id: None,
                response: Response::new(self.allowance.clone()),
            });
        }
        let stream = &mut self.streams[id.slot()];
        stream.id = Some(id);
        stream.response.begin(exchange);
    }

    /// Processes bytes received at `now_ns`. Streams that end are listed in `ended`.
    pub(crate) fn receive(
        &mut self,
        mut input: &[u8],
        compiled: &Compiled<'_>,
        now_ns: u64,
    ) -> Result<(), ProtocolError> {
        let traced = compiled.load.trace_tag.is_some();
        let checks = |response: &Response| &compiled.routes[response.exchange.route].checks;
        while let Some(event) = self.client.next(&mut input, &mut self.frames)? {
            match event {
                Event::Head { stream, head } => {
                    if let Some(response) = known(&mut self.streams, stream) {
                        response.exchange.first_byte_ns = now_ns;
                        let field = |name: &str| head.field(name);
                        response.head(head.status(), field, checks(response), traced);
                    }
                }
                Event::Body { stream, bytes } => {
                    if let Some(response) = known(&mut self.streams, stream) {
                        response.body(bytes, checks(response));
                    }
                }
                Event::End { stream } => {
                    if let Some(response) = known(&mut self.streams, stream) {
                        response.end(checks(response));
                        self.ended.push((stream.slot(), End::Complete));
                    }
                }
                Event::Reset { stream, .. } => {
                    if known(&mut self.streams, stream).is_some() {
                        self.ended.push((stream.slot(), End::Reset));
                    }
                }
                Event::Informational { .. }
                | Event::Trailers { .. }
                | Event::Settings
                | Event::GoAway { .. } => {}
            }
        }
        Ok(())
    }

    /// Frees a slot whose stream has ended, and returns its response.
    pub(crate) fn finish(&mut self, slot: usize) -> &Response {
        let stream = &mut self.streams[slot];
        stream.id = None;
        &stream.response
    }

    pub(crate) fn open(&self) -> impl Iterator<Item = (usize, &Exchange)> {
        let open = self.streams.iter().enumerate();
        open.filter(|(_, stream)| stream.id.is_some())
            .map(|(slot, stream)| (slot, &stream.response.exchange))
    }

    pub(crate) fn cancel(&mut self, slot: usize) {
        if let Some(id) = self.streams[slot].id {
            self.client.reset(id, ErrorCode::CANCEL, &mut self.frames);
            self.ended.push((slot, End::Reset));
        }
    }
}

/// Returns the response of a stream, or `None` if the stream no longer has a slot.
fn known(streams: &mut [Stream], id: StreamId) -> Option<&mut Response> {
    let stream = streams.get_mut(id.slot())?;
    (stream.id == Some(id)).then_some(&mut stream.response)
}

/// The header block and body of a route's requests, in memory that the worker reuses.
pub(crate) struct Message {
    block: Block,
    nonce: Option<Variable>,
    body: Vec<u8>,
    /// The names of the user's fields in lowercase, as HTTP/2 requires (RFC 9113 8.2.1).
    names: Vec<String>,
    /// A buffer for the value that is written into the block next.
    text: Vec<u8>,
}

impl Message {
    /// Renders the first message of a route. If no values are drawn, only the nonce changes after
    /// that.
    pub(crate) fn new(
        rendered: &Rendered,
        scheme: &str,
        traced: bool,
        sampler: &mut Sampler,
    ) -> Self {
        let parts = &rendered.parts;
        let mut message = Self {
            block: Block::request(&parts.method, scheme, &parts.authority, ""),
            nonce: None,
            body: Vec::new(),
            names: parts
                .fields
                .iter()
                .map(|(name, _)| name.to_ascii_lowercase())
                .collect(),
            text: Vec::new(),
        };
        message.draw(rendered, scheme, traced, sampler);
        message
    }

    /// Turns the message into the next request, with newly drawn values.
    pub(crate) fn draw(
        &mut self,
        rendered: &Rendered,
        scheme: &str,
        traced: bool,
        sampler: &mut Sampler,
    ) {
        let parts = &rendered.parts;
        let Self {
            block,
            nonce,
            body,
            names,
            text,
        } = self;
        rendered.draw(sampler);
        text.clear();
        parts.path.write(sampler, text);
        block.restart(&parts.method, scheme, &parts.authority, text);
        *nonce = traced.then(|| block.variable(NONCE_HEADER, &[b'0'; HEX_BYTES]));
        for (name, (_, value)) in names.iter().zip(&parts.fields) {
            text.clear();
            value.write(sampler, text);
            if !is_of_connection(name) {
                block.field(name, text);
            }
        }
        body.clear();
        parts.body.write(sampler, body);
        if parts.says_length {
            text.clear();
            let _ = write!(text, "{}", body.len());
            block.field("content-length", text);
        }
    }

    pub(crate) fn with(&mut self, nonce: Nonce) -> (&Block, &[u8]) {
        if let Some(variable) = &self.nonce {
            self.block.set(variable, &nonce.to_hex());
        }
        (&self.block, &self.body)
    }
}

/// Reports whether HTTP/2 forbids the field (RFC 9113 8.2.2). The name must be in lowercase.
fn is_of_connection(name: &str) -> bool {
    const FIELDS: [&str; 5] = [
        "connection",
        "keep-alive",
        "proxy-connection",
        "transfer-encoding",
        "upgrade",
    ];
    FIELDS.contains(&name)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gatebench_model::Request;
    use serde_json::json;

    use super::*;
    use crate::data::DataSet;

    #[test]
    fn drawing_again_allocates_nothing() {
        let request: Request = serde_json::from_value(json!({
            "method": "POST",
            "path": "/{{ id }}",
            "headers": {"X-Id": "{{id}}", "Connection": "close"},
            "body": "{{id}}",
        }))
        .unwrap();
        let sources = serde_json::from_value(json!({"id": {"sequence": {"from": 1000}}})).unwrap();
        let data = Arc::new(DataSet::new(&sources).unwrap());
        let rendered = Rendered::new(&request, "h:1", true, &data).unwrap();
        let mut sampler = Sampler::new(data, 1, 0, 1);
        let mut message = Message::new(&rendered, "http", true, &mut sampler);
        let mut places = Vec::new();
        for number in 0..100 {
            message.draw(&rendered, "http", true, &mut sampler);
            let (block, body) = message.with(Nonce(number));
            assert_eq!(body, (1001 + number).to_string().as_bytes());
            places.push((block.bytes().as_ptr(), body.as_ptr(), message.text.as_ptr()));
        }
        assert!(places[10..].iter().all(|place| *place == places[10]));
    }
}
