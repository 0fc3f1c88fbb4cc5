//! SOAP/XML chains within an exchange.

use std::rc::Rc;

use gatebench_xml::soap::Fault;

use crate::client::Exchange;
use crate::exchange::Core;
use crate::local::{Choice, Local};
use crate::openapi::Refusal;
use crate::policy::Form;
use crate::policy::json::NotJson;
use crate::policy::xslt::{self, NotTransformed};

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

impl Exchange {
    /// Does to a request that is whole what its policies do.
    pub(crate) fn edit_request<I>(&mut self, core: &mut Core<I>) -> Result<(), Refused> {
        let live = Rc::clone(&self.live);
        let Some(route) = self.route.map(|route| &live.site.routes[route]) else {
            return Ok(());
        };
        if let Some((contract, check)) = route.chain.openapi.as_ref().zip(self.notes.operation) {
            contract.judge_body(check, self.collected.body())?;
        }
        self.collected.edit(&route.chain.request_json)?;
        let Some(soap) = &route.chain.soap else {
            return Ok(());
        };
        if let Some(redirect) = soap.process_request(&mut self.collected, &mut self.passage)? {
            self.collected.redirect(&redirect.path);
            if let Some(upstream) = redirect.upstream {
                self.upstream = upstream;
                self.target = core.current.next_target(&live, upstream, core.now_ns);
            }
        }
        Ok(())
    }

    /// Does to an answer that is whole what policies do.
    pub(crate) fn edit_answer(&mut self) -> Result<(), Refused> {
        let live = Rc::clone(&self.live);
        let Some(route) = self.route.map(|route| &live.site.routes[route]) else {
            return Ok(());
        };
        if let Some((contract, check)) = route.chain.openapi.as_ref().zip(self.notes.operation)
            && let Some(answer) = self.answer_check
        {
            contract.judge_answer_body(check, answer, self.collected_answer.body())?;
        }
        match self.answer_form {
            Form::Json => self.collected_answer.edit(&route.chain.response_json)?,
            Form::Xml => xslt::transform(&route.chain.response_xslt, &mut self.collected_answer)?,
            Form::Other => {}
        }
        if let Some(soap) = &route.chain.soap {
            soap.process_response(&mut self.collected_answer, self.status, &self.passage)?;
        }
        Ok(())
    }

    /// What a SOAP client is told where the gateway, or a policy that knows nothing of SOAP, refuses.
    pub(crate) fn fault_for(&self, choice: Choice, status: u16) -> Option<Fault> {
        if !matches!(
            choice,
            Choice::Error(_) | Choice::Refused | Choice::UpstreamTls | Choice::Unauthorized(_)
        ) {
            return None;
        }
        let soap = self.live.site.routes[self.route?].chain.soap.as_ref()?;
        soap.fault_of_status(status, &self.passage)
    }

    /// Puts the fault of a chain into the queue.
    pub(crate) fn write_fault(&mut self, fault: &Fault) {
        self.write_answer(Local::fault(fault, self.notes.standing));
    }
}
