//! The origin of every path: the request chooses the status and the size of its response.

use super::sized;
use crate::asked::Asked;
use crate::duration::parse_size_bytes;
use crate::response::{Body, Response, TEXT};

/// The size of a response if its request names none.
const BYTES: u64 = 2;

pub(super) fn response(asked: &Asked<'_>) -> Response {
    let bytes = asked.text("X-Response-Bytes");
    let status = asked.text("X-Response-Status");
    let response = sized(
        bytes.map_or(Some(BYTES), parse_size_bytes),
        TEXT,
        Body::Text,
    );
    match status.map_or(Some(200), |text| text.parse().ok()) {
        Some(status @ 200..=599) if response.status == 200 => Response { status, ..response },
        Some(200..=599) => response,
        _ => Response::error(400, "upstream: X-Response-Status is not from 200 to 599\n"),
    }
}
