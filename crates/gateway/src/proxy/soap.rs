//! SOAP/XML chains within an exchange.

use std::rc::Rc;

use gatebench_net::Io;

use super::client::Exchange;
use super::edit::Edited;
use super::exchange::Core;
use crate::compiled::ActiveConfig;
use crate::message::Choice;
use crate::soap::{Fault, Made, Passed, Paused, Progress, Soap, take_over};

impl Exchange {
    /// Processes a request along its SOAP/XML chain, from the beginning or from the step that
    /// waited for a helper.
    pub(super) fn process_request<I: Io>(
        &mut self,
        waited: Option<(Paused, Made)>,
        core: &mut Core<I>,
    ) -> Result<Edited, Fault> {
        let active = Rc::clone(&self.active);
        let Some(soap) = self.soap(&active) else {
            return Ok(Edited::Done);
        };
        let (edited, passed) = self.walk(waited, core, |it, waited| {
            soap.process_request(&it.collected, &it.passage, waited)
        })?;
        if let Some(passed) = passed {
            self.pass_request(soap, passed, core);
        }
        Ok(edited)
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

    /// Does the same with a response.
    pub(super) fn process_response<I: Io>(
        &mut self,
        waited: Option<(Paused, Made)>,
        core: &mut Core<I>,
    ) -> Result<Edited, Fault> {
        let active = Rc::clone(&self.active);
        let Some(soap) = self.soap(&active) else {
            return Ok(Edited::Done);
        };
        let (edited, passed) = self.walk(waited, core, |it, waited| {
            soap.process_response(&it.collected_response, it.status, &it.passage, waited)
        })?;
        if let Some(passed) = passed {
            take_over(&mut self.collected_response, passed);
        }
        Ok(edited)
    }

    /// Processes a chain until it ends or waits. If there is no helper, it continues with that
    /// error instead of waiting.
    fn walk<I: Io>(
        &mut self,
        mut waited: Option<(Paused, Made)>,
        core: &mut Core<I>,
        on: impl Fn(&Self, Option<(Paused, Made)>) -> Result<Option<Progress>, Fault>,
    ) -> Result<(Edited, Option<Passed>), Fault> {
        loop {
            match on(self, waited.take())? {
                None => return Ok((Edited::Done, None)),
                Some(Progress::Done(passed)) => return Ok((Edited::Done, Some(passed))),
                Some(Progress::Waits(paused, order)) => waited = self.park(paused, order, core),
            }
            if waited.is_none() {
                return Ok((Edited::Parked, None));
            }
        }
    }

    fn soap<'l>(&self, active: &'l ActiveConfig) -> Option<&'l Soap> {
        active.compiled.routes[self.route?].chain.soap.as_ref()
    }

    /// Returns the fault for a SOAP client if the gateway, or a policy other than SOAP, refuses its
    /// request.
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
