//! Processes messages that pass through the gateway: interprets heads and writes them for the other
//! side, edits fields and JSON, collects bodies until they are complete, and writes the gateway's
//! own responses. The callers decide which edits apply.

mod collect;
mod form;
mod forward;
mod headers;
pub(crate) mod json;
mod own;

pub(crate) use collect::Collected;
pub(crate) use form::{Body, Form, essence, form_of, is_empty, is_json, is_token};
pub(crate) use forward::{Destination, Relay, ResponseEdits, relay, write_request, write_response};
pub(crate) use headers::HeaderProgram;
pub(crate) use own::{
    CONTINUE, Challenge, Choice, Digits, Local, Pages, RateFields, Refusal, Standing, Toward,
    write_local,
};
