//! SOAP/XML chains within an exchange.

use std::rc::Rc;

use gatebench_net::Io;
use gatebench_xml::saxon::Made;
use gatebench_xml::soap::{Fault, Passed, Paused, Progress};

use crate::client::Exchange;
use crate::exchange::Core;
use crate::live::Live;
use crate::local::{Choice, Local};
use crate::openapi::Refusal;
use crate::policy::Form;
use crate::policy::json::NotJson;
use crate::policy::soap::{Soap, take_over};
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

/// How far the policies have come with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Edited {
    /// It may go on.
    Done,
    /// A helper of Saxon's has it.
    Parked,
}

/// How far a message has come on its chain.
enum Walked {
    /// There is none.
    NoChain,
    /// It is through.
    Through(Passed),
    /// A helper of Saxon's has it.
    Parked,
}

impl Walked {
    /// What that means, where a message that is through is passed on by `pass`.
    fn then(self, pass: impl FnOnce(Passed)) -> Edited {
        match self {
            Self::NoChain => Edited::Done,
            Self::Through(passed) => {
                pass(passed);
                Edited::Done
            }
            Self::Parked => Edited::Parked,
        }
    }
}

impl Exchange {
    /// Does to a request that is whole what its policies do.
    pub(crate) fn edit_request<I: Io>(&mut self, core: &mut Core<I>) -> Result<Edited, Refused> {
        let live = Rc::clone(&self.live);
        let Some(route) = self.route.map(|route| &live.site.routes[route]) else {
            return Ok(Edited::Done);
        };
        if let Some((contract, check)) = route.chain.openapi.as_ref().zip(self.notes.operation) {
            contract.judge_body(check, self.collected.body())?;
        }
        self.collected.edit(&route.chain.request_json)?;
        Ok(self.process_request(None, core)?)
    }

    /// Takes a request along its SOAP/XML chain, or further along it with what a helper has made.
    pub(crate) fn process_request<I: Io>(
        &mut self,
        waited: Option<(Paused, Made)>,
        core: &mut Core<I>,
    ) -> Result<Edited, Fault> {
        let live = Rc::clone(&self.live);
        let Some(soap) = self.soap(&live) else {
            return Ok(Edited::Done);
        };
        let walked = self.walk(waited, core, |it, waited| {
            soap.process_request(&it.collected, &it.passage, waited)
        })?;
        Ok(walked.then(|passed| self.pass_request(soap, passed, core)))
    }

    fn pass_request<I>(&mut self, soap: &Soap, passed: Passed, core: &mut Core<I>) {
        let passed = soap.pass_request(&mut self.collected, &mut self.passage, passed);
        let Some(redirect) = passed else { return };
        self.collected.redirect(&redirect.path);
        if let Some(upstream) = redirect.upstream {
            let live = Rc::clone(&self.live);
            self.upstream = upstream;
            self.target = core.current.next_target(&live, upstream, core.now_ns);
        }
    }

    /// Does to an answer that is whole what policies do.
    pub(crate) fn edit_answer<I: Io>(&mut self, core: &mut Core<I>) -> Result<Edited, Refused> {
        let live = Rc::clone(&self.live);
        let Some(route) = self.route.map(|route| &live.site.routes[route]) else {
            return Ok(Edited::Done);
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
        Ok(self.process_answer(None, core)?)
    }

    /// As [`Self::process_request`], of an answer.
    pub(crate) fn process_answer<I: Io>(
        &mut self,
        waited: Option<(Paused, Made)>,
        core: &mut Core<I>,
    ) -> Result<Edited, Fault> {
        let live = Rc::clone(&self.live);
        let Some(soap) = self.soap(&live) else {
            return Ok(Edited::Done);
        };
        let walked = self.walk(waited, core, |it, waited| {
            soap.process_response(&it.collected_answer, it.status, &it.passage, waited)
        })?;
        Ok(walked.then(|passed| take_over(&mut self.collected_answer, passed)))
    }

    /// Goes along a chain until it ends or waits. Where there is no helper it does not wait, and goes on with that.
    fn walk<I: Io>(
        &mut self,
        mut waited: Option<(Paused, Made)>,
        core: &mut Core<I>,
        on: impl Fn(&Self, Option<(Paused, Made)>) -> Result<Option<Progress>, Fault>,
    ) -> Result<Walked, Fault> {
        loop {
            match on(self, waited.take())? {
                None => return Ok(Walked::NoChain),
                Some(Progress::Done(passed)) => return Ok(Walked::Through(passed)),
                Some(Progress::Waits(paused, order)) => waited = self.park(paused, order, core),
            }
            if waited.is_none() {
                return Ok(Walked::Parked);
            }
        }
    }

    fn soap<'l>(&self, live: &'l Live) -> Option<&'l Soap> {
        live.site.routes[self.route?].chain.soap.as_ref()
    }

    /// What a SOAP client is told where the gateway, or a policy that knows nothing of SOAP, refuses.
    pub(crate) fn fault_for(&self, choice: Choice, status: u16) -> Option<Fault> {
        if !matches!(
            choice,
            Choice::Error(_) | Choice::Refused | Choice::UpstreamTls | Choice::Unauthorized(_)
        ) {
            return None;
        }
        self.soap(&self.live)?
            .fault_of_status(status, &self.passage)
    }

    /// Puts the fault of a chain into the queue.
    pub(crate) fn write_fault(&mut self, fault: &Fault) {
        self.write_answer(Local::fault(fault, self.notes.standing));
    }
}
