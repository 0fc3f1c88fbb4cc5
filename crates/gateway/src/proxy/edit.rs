//! What policies do to messages that are whole.

use std::rc::Rc;

use gatebench_net::Io;

use super::client::Exchange;
use super::exchange::Core;
use crate::message::json::NotJson;
use crate::message::{Form, Local, Refusal};
use crate::soap::{Fault, NotTransformed};

/// Why a message that was collected does not go on.
pub(crate) enum Refused {
    /// It is not the JSON it says it is.
    NotJson,
    /// A stylesheet makes nothing of it.
    NotTransformed,
    /// It is not what its OpenAPI document allows.
    Contract(Box<Refusal>),
    /// A chain has said so.
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

/// How far the policies have come with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Edited {
    /// It may go on.
    Done,
    /// A helper of Saxon's has it.
    Parked,
}

impl Exchange {
    /// Does to a request that is whole what its policies do.
    pub(crate) fn edit_request<I: Io>(&mut self, core: &mut Core<I>) -> Result<Edited, Refused> {
        let active = Rc::clone(&self.active);
        let Some(route) = self.route.map(|route| &active.compiled.routes[route]) else {
            return Ok(Edited::Done);
        };
        if let Some((contract, check)) = route.chain.openapi.as_ref().zip(self.notes.operation) {
            contract.judge_body(check, self.collected.body())?;
        }
        self.collected.edit(&route.chain.request_json)?;
        Ok(self.process_request(core)?)
    }

    /// Does to an answer that is whole what policies do.
    pub(crate) fn edit_answer<I: Io>(&mut self, core: &mut Core<I>) -> Result<Edited, Refused> {
        let active = Rc::clone(&self.active);
        let Some(route) = self.route.map(|route| &active.compiled.routes[route]) else {
            return Ok(Edited::Done);
        };
        if let Some((contract, check)) = route.chain.openapi.as_ref().zip(self.notes.operation)
            && let Some(answer) = self.answer_check
        {
            contract.judge_answer_body(check, answer, self.collected_answer.body())?;
        }
        match self.answer_form {
            Form::Json => self.collected_answer.edit(&route.chain.response_json)?,
            Form::Xml => route
                .chain
                .response_xslt
                .transform(&mut self.collected_answer)?,
            Form::Other => {}
        }
        Ok(self.process_answer(core)?)
    }

    /// Puts the fault of a chain into the queue.
    pub(crate) fn write_fault(&mut self, fault: &Fault) {
        let local = Local::error(fault.status).with_standing(self.notes.standing);
        self.write_answer(in_words_of(local, fault));
    }
}

/// The same in the words of a fault.
pub(super) fn in_words_of<'a>(local: Local<'a>, fault: &'a Fault) -> Local<'a> {
    local.with_body(fault.content_type, &fault.body)
}
