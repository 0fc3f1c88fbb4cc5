//! The edits that policies make to whole messages.

use std::rc::Rc;

use gatebench_net::Io;

use super::client::Exchange;
use super::exchange::Core;
use crate::message::json::NotJson;
use crate::message::{Form, Local, Refusal};
use crate::soap::{Fault, NotTransformed};

/// The reason why a collected message is refused.
pub(crate) enum Refused {
    /// It is not JSON although its head says so.
    NotJson,
    /// A stylesheet could not transform it.
    NotTransformed,
    /// It violates its OpenAPI document.
    Contract(Box<Refusal>),
    /// A chain reported the fault.
    Fault(Fault),
}

impl From<NotJson> for Refused {
    fn from(_: NotJson) -> Self {
        Self::NotJson
    }
}

impl From<NotTransformed> for Refused {
    fn from(_: NotTransformed) -> Self {
        Self::NotTransformed
    }
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Box<Refusal>> for Refused {
    fn from(refusal: Box<Refusal>) -> Self {
        Self::Contract(refusal)
    }
}

/// The progress of the policies on a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Edited {
    /// The policies are done, and the message may be passed on.
    Done,
    /// A Saxon helper is processing the message.
    Parked,
}

impl Exchange {
    /// Applies the policies of a request to it once it is complete.
    pub(crate) fn edit_request<I: Io>(&mut self, core: &mut Core<I>) -> Result<Edited, Refused> {
        let active = Rc::clone(&self.active);
        let Some(route) = self.route.map(|route| &active.compiled.routes[route]) else {
            return Ok(Edited::Done);
        };
        if let Some((contract, check)) = route.chain.openapi.as_ref().zip(self.notes.operation) {
            contract.judge_body(check, self.collected.body())?;
        }
        self.collected.edit(&route.chain.request_json)?;
        Ok(self.process_request(None, core)?)
    }

    /// Applies the policies to a response once it is complete.
    pub(crate) fn edit_response<I: Io>(&mut self, core: &mut Core<I>) -> Result<Edited, Refused> {
        let active = Rc::clone(&self.active);
        let Some(route) = self.route.map(|route| &active.compiled.routes[route]) else {
            return Ok(Edited::Done);
        };
        if let Some((contract, check)) = route.chain.openapi.as_ref().zip(self.notes.operation)
            && let Some(response) = self.response_check
        {
            contract.judge_response_body(check, response, self.collected_response.body())?;
        }
        match self.response_form {
            Form::Json => self.collected_response.edit(&route.chain.response_json)?,
            Form::Xml => route
                .chain
                .response_xslt
                .transform(&mut self.collected_response)?,
            Form::Other => {}
        }
        Ok(self.process_response(None, core)?)
    }

    /// Queues the fault of a chain.
    pub(crate) fn write_fault(&mut self, fault: &Fault) {
        let local = Local::error(fault.status).with_standing(self.notes.standing);
        self.write_response(in_words_of(local, fault));
    }
}

/// Returns the response with the text of a fault.
pub(super) fn in_words_of<'a>(local: Local<'a>, fault: &'a Fault) -> Local<'a> {
    local.with_body(fault.content_type, &fault.body)
}
