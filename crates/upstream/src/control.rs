//! The control paths, which share the upstream's listener. The ledger does not count requests for
//! them.

use serde::Serialize;

use crate::ledger::Ledger;
use crate::response::{Body, JSON, Response, TEXT};

/// `GET` returns the ledger as JSON ([`crate::Snapshot`]).
pub const LEDGER_PATH: &str = "/.gatebench/ledger";

/// `POST` returns the ledger and resets it.
pub const RESET_PATH: &str = "/.gatebench/ledger/reset";

/// `POST` to this path, followed by a state, sets the state of the origin: `well`, `resetting`, or
/// `slow/200` for a delay of 200 ms. The pathology origin ignores its state.
pub const HEALTH_PATH: &str = "/.gatebench/health/";

const RESERVED: &str = "/.gatebench/";

pub(crate) fn is_reserved(path: &str) -> bool {
    path.starts_with(RESERVED)
}

pub(crate) fn response(
    method: &str,
    path: &str,
    ledger: &Ledger,
    scratch: &mut Vec<u8>,
) -> Response {
    match (path, method) {
        (LEDGER_PATH, "GET") => as_json(&ledger.snapshot(), NO_LEDGER, scratch),
        (LEDGER_PATH, _) => Response::not_allowed("GET"),
        (RESET_PATH, "POST") => {
            let response = as_json(&ledger.snapshot(), NO_LEDGER, scratch);
            ledger.reset();
            response
        }
        (RESET_PATH, _) => Response::not_allowed("POST"),
        (path, method) if path.starts_with(HEALTH_PATH) => {
            if method != "POST" {
                return Response::not_allowed("POST");
            }
            match ledger.health.set(&path[HEALTH_PATH.len()..]) {
                true => Response::ok(TEXT, Body::Static(b"ok")),
                false => Response::not_found(),
            }
        }
        _ => Response::not_found(),
    }
}

const NO_LEDGER: &str = "upstream: the ledger cannot be written as JSON\n";

/// Returns a response with the value as JSON or, if it cannot be written as JSON, with status 500
/// and the text `refusal`.
pub(crate) fn as_json(
    value: &impl Serialize,
    refusal: &'static str,
    scratch: &mut Vec<u8>,
) -> Response {
    match serde_json::to_writer(scratch, value) {
        Ok(()) => Response::ok(JSON, Body::Scratch),
        Err(_) => Response::error(500, refusal),
    }
}
