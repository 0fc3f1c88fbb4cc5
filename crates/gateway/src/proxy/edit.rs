//! Applies policies to messages that have been collected completely.

use std::rc::Rc;

use gatebench_net::Io;

use super::client::Exchange;
use super::exchange::Core;
use crate::message::json::NotJson;
use crate::message::{Form, Local, Refusal};
use crate::soap::Fault;

/// The reason that a collected message is refused.
pub(crate) enum Refused {
    Refusal(Box<Refusal>),
    Fault(Fault),
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Box<Refusal>> for Refused {
    fn from(refusal: Box<Refusal>) -> Self {
        Self::Refusal(refusal)
    }
}

/// The state of a message that policies process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Edited {
    /// The policies are done, and the message may be forwarded.
    Done,
    /// A Saxon helper is processing the message.
    Parked,
}

impl Exchange {
    pub(crate) fn edit_request<I: Io>(&mut self, core: &mut Core<I>) -> Result<Edited, Refused> {
        let active = Rc::clone(&self.active);
        let Some(route) = self.route.map(|route| &active.compiled.routes[route]) else {
            return Ok(Edited::Done);
        };
        if let Some((operation, check)) = route.chain.operation(&self.notes) {
            operation.judge_body(check, &self.collected.body)?;
        }
        if self.request_form == Form::Json {
            let edited = self.collected.edit(&route.chain.request_json);
            edited.map_err(|NotJson| {
                let words =
                    "the body is invalid JSON or repeats an edited member; correct the request";
                Refusal::new(400, words)
            })?;
        }
        Ok(self.process_request(None, core)?)
    }

    pub(crate) fn edit_response<I: Io>(&mut self, core: &mut Core<I>) -> Result<Edited, Refused> {
        let active = Rc::clone(&self.active);
        let Some(route) = self.route.map(|route| &active.compiled.routes[route]) else {
            return Ok(Edited::Done);
        };
        let chain = &route.chain;
        if let Some((operation, _)) = chain.operation(&self.notes)
            && let Some(response) = self.response_check
        {
            operation.judge_response_body(response, &self.collected_response.body)?;
        }
        let response = &mut self.collected_response;
        match self.response_form {
            Form::Json => response.edit(&chain.response_json).map_err(|NotJson| {
                Refusal::new(
                    502,
                    "the upstream's response is invalid JSON or repeats an edited member",
                )
            })?,
            Form::Xml => chain.response_xslt.transform(response)?,
            Form::Other => {}
        }
        Ok(self.process_response(None, core)?)
    }

    pub(crate) fn write_fault(&mut self, fault: &Fault) {
        let mut local = Local::error(fault.status);
        local.standing = self.notes.standing;
        self.write_response(in_words_of(local, fault));
    }
}

/// Replaces the Content-Type and the body of a response with those of a fault.
pub(super) fn in_words_of<'a>(local: Local<'a>, fault: &'a Fault) -> Local<'a> {
    Local {
        content_type: fault.content_type,
        body: &fault.body,
        ..local
    }
}
