//! Requests rendered to bytes before the start.

use gatebench_model::Request;
use gatebench_net::http1::{BodyLength, write_request_head};
use gatebench_net::trace::{NONCE_HEADER, Nonce};

/// A request as it goes on the wire.
#[derive(Clone, Debug)]
pub(crate) struct Rendered {
    bytes: Vec<u8>,
    /// Where the nonce's 16 digits are.
    nonce_at: Option<usize>,
    /// Whether the answer has no body whatever its headers say.
    pub(crate) is_head: bool,
}

/// Stands in the rendered bytes where each request gets its own nonce.
const EMPTY_NONCE: [u8; 16] = [b'0'; 16];

impl Rendered {
    /// Renders a request, with a nonce header where the load is traced.
    pub(crate) fn new(request: &Request, host: &str, traced: bool) -> Self {
        let mut fields: Vec<(&str, &[u8])> = vec![("Host", host.as_bytes())];
        if traced {
            // Second of all, so that no user's header can be taken for it below.
            fields.push((NONCE_HEADER, &EMPTY_NONCE));
        }
        fields.extend(
            request
                .headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_bytes())),
        );
        let body = request.body.as_ref().map_or(&[][..], |body| body.bytes());
        let length =
            if body.is_empty() && !["POST", "PUT", "PATCH"].contains(&request.method.as_str()) {
                BodyLength::None
            } else {
                BodyLength::Length(body.len() as u64)
            };
        let mut bytes = Vec::new();
        write_request_head(&mut bytes, &request.method, &request.path, fields, length);
        let nonce_at = traced.then(|| {
            let head = format!("{NONCE_HEADER}: ");
            let name_at = memchr::memmem::find(&bytes, head.as_bytes());
            name_at.expect("the header was written above") + head.len()
        });
        bytes.extend_from_slice(body);
        Self {
            bytes,
            nonce_at,
            is_head: request.method == "HEAD",
        }
    }

    /// Fills `buffer` with the request. A buffer that already holds it only gets the new nonce.
    pub(crate) fn fill(&self, buffer: &mut Vec<u8>, holds_it: bool, nonce: Nonce) {
        if !holds_it {
            buffer.clear();
            buffer.extend_from_slice(&self.bytes);
        }
        if let Some(at) = self.nonce_at {
            buffer[at..at + EMPTY_NONCE.len()].copy_from_slice(&nonce.to_hex());
        }
    }
}
