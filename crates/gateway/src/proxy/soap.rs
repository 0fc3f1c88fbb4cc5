//! SOAP/XML chains within an exchange.

use std::rc::Rc;

use gatebench_net::Io;

use super::client::Exchange;
use super::edit::Edited;
use super::exchange::Core;
use crate::compiled::ActiveConfig;
use crate::message::Choice;
use crate::soap::{Fault, Made, Passed, Paused, Progress, Soap, take_over};

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
    /// Takes a request along its SOAP/XML chain.
    pub(crate) fn process_request<I: Io>(&mut self, core: &mut Core<I>) -> Result<Edited, Fault> {
        self.go_on_with_request(None, core)
    }

    /// Takes a request further along its chain with what a helper has made.
    pub(super) fn go_on_with_request<I: Io>(
        &mut self,
        waited: Option<(Paused, Made)>,
        core: &mut Core<I>,
    ) -> Result<Edited, Fault> {
        let active = Rc::clone(&self.active);
        let Some(soap) = self.soap(&active) else {
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
            let active = Rc::clone(&self.active);
            self.upstream = upstream;
            self.target = core.current.next_target(&active, upstream, core.now_ns);
        }
    }

    /// As [`Self::process_request`], of an answer.
    pub(crate) fn process_answer<I: Io>(&mut self, core: &mut Core<I>) -> Result<Edited, Fault> {
        self.go_on_with_answer(None, core)
    }

    /// As [`Self::go_on_with_request`], of an answer.
    pub(super) fn go_on_with_answer<I: Io>(
        &mut self,
        waited: Option<(Paused, Made)>,
        core: &mut Core<I>,
    ) -> Result<Edited, Fault> {
        let active = Rc::clone(&self.active);
        let Some(soap) = self.soap(&active) else {
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

    fn soap<'l>(&self, active: &'l ActiveConfig) -> Option<&'l Soap> {
        active.compiled.routes[self.route?].chain.soap.as_ref()
    }

    /// What a SOAP client is told where the gateway, or a policy that knows nothing of SOAP, refuses.
    pub(crate) fn fault_for(&self, choice: Choice, status: u16) -> Option<Fault> {
        if !matches!(
            choice,
            Choice::Error(_) | Choice::Refused | Choice::UpstreamTls | Choice::Unauthorized(_)
        ) {
            return None;
        }
        self.soap(&self.active)?
            .fault_of_status(status, &self.passage)
    }
}
