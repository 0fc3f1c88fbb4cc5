//! The control path on the upstream's own listener, which no ledger counts.

use crate::answer::{Answer, Body, JSON};
use crate::ledger::Ledger;

/// `GET` answers the ledger as JSON ([`crate::Snapshot`]).
pub const LEDGER_PATH: &str = "/.gatebench/ledger";

/// `POST` begins the ledger anew and answers what it held until then.
pub const RESET_PATH: &str = "/.gatebench/ledger/reset";

/// Everything below belongs to control.
const RESERVED: &str = "/.gatebench/";

/// Whether a path belongs to control.
pub(crate) fn is_reserved(path: &str) -> bool {
    path.starts_with(RESERVED)
}

/// Answers a request to a reserved path.
pub(crate) fn answer(method: &str, path: &str, ledger: &Ledger, scratch: &mut Vec<u8>) -> Answer {
    match (path, method) {
        (LEDGER_PATH, "GET") => told(ledger, scratch),
        (LEDGER_PATH, _) => Answer::not_allowed("GET"),
        (RESET_PATH, "POST") => {
            let answer = told(ledger, scratch);
            ledger.reset();
            answer
        }
        (RESET_PATH, _) => Answer::not_allowed("POST"),
        _ => Answer::not_found(),
    }
}

fn told(ledger: &Ledger, scratch: &mut Vec<u8>) -> Answer {
    match serde_json::to_writer(scratch, &ledger.snapshot()) {
        Ok(()) => Answer::ok(JSON, Body::Scratch),
        Err(_) => Answer::error(500, "upstream: the ledger cannot be written as JSON\n"),
    }
}
