//! httpbin's `/gzip`: a response that is always compressed.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::anything;
use crate::asked::Asked;
use crate::json;
use crate::response::{Body, JSON, Response};

/// The fields, the method and the origin of the request, compressed (RFC 9110 8.4.1.3).
pub(super) fn response(asked: &Asked<'_>, scratch: &mut Vec<u8>) -> Response {
    let mut plain = b"{\"gzipped\":true,\"headers\":".to_vec();
    anything::write_fields(&mut plain, asked);
    plain.extend_from_slice(b",\"method\":");
    json::write_string(&mut plain, asked.method);
    plain.extend_from_slice(b",\"origin\":");
    anything::write_origin(&mut plain, asked);
    plain.push(b'}');
    compress(scratch, &plain, Compression::default());
    Response {
        encoding: Some("gzip"),
        ..Response::ok(JSON, Body::Scratch)
    }
}

/// Appends the compressed bytes.
pub(super) fn compress(out: &mut Vec<u8>, plain: &[u8], level: Compression) {
    let mut encoder = GzEncoder::new(out, level);
    // Writing to a vector cannot fail.
    let _ = encoder.write_all(plain);
    let _ = encoder.finish();
}
