//! Messages on their way through the gateway: what a head says of its body, heads written for the
//! other side, edits of fields and of JSON, bodies kept until they are whole, and responses of the
//! gateway's own. It knows neither routes nor policies: whoever calls it says what to edit.

mod collect;
mod form;
mod forward;
mod headers;
pub(crate) mod json;
mod own;

pub(crate) use collect::Collected;
pub(crate) use form::{Body, Form, essence, form_of, is_empty, is_json, is_token};
pub(crate) use forward::{AnswerEdits, Destination, Relay, relay, write_request, write_response};
pub(crate) use headers::HeaderProgram;
pub(crate) use own::{
    CONTINUE, Challenge, Choice, Local, Pages, RateFields, Refusal, Standing, Toward, write_local,
};
