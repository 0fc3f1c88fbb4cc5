//! Processes the messages of an exchange with the route's SOAP/XML chains.

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
        let route = self.route.map(|route| &active.compiled.routes[route]);
        let Some(soap) = route.and_then(|route| route.chain.request_soap()) else {
            return Ok(Edited::Done);
        };
        let passed = self.walk(waited, core, |it, waited| {
            soap.process_request(&it.collected, &it.passage, waited)
        })?;
        let Some(passed) = passed else {
            return Ok(Edited::Parked);
        };
        let target = soap.pass_request(&mut self.collected, &mut self.passage, passed);
        if let Some(redirect) = target {
            self.collected.redirect(&redirect.path);
            if let Some(upstream) = redirect.upstream {
                self.upstream = upstream;
                self.target = core
                    .current
                    .next_target(&active, upstream, &[], core.now_ns);
            }
        }
        Ok(Edited::Done)
    }

    pub(super) fn process_response<I: Io>(
        &mut self,
        waited: Option<(Paused, Made)>,
        core: &mut Core<I>,
    ) -> Result<Edited, Fault> {
        let active = Rc::clone(&self.active);
        let Some(soap) = self.soap(&active) else {
            return Ok(Edited::Done);
        };
        let passed = self.walk(waited, core, |it, waited| {
            soap.process_response(&it.collected_response, it.status, &it.passage, waited)
        })?;
        let Some(passed) = passed else {
            return Ok(Edited::Parked);
        };
        take_over(&mut self.collected_response, passed);
        Ok(Edited::Done)
    }

    /// Runs a chain until it ends, or returns `None` if it waits for a helper. If no helper is
    /// available, the chain continues with an error instead.
    fn walk<I: Io>(
        &mut self,
        mut waited: Option<(Paused, Made)>,
        core: &mut Core<I>,
        on: impl Fn(&Self, Option<(Paused, Made)>) -> Result<Progress, Fault>,
    ) -> Result<Option<Passed>, Fault> {
        loop {
            match on(self, waited.take())? {
                Progress::Done(passed) => return Ok(Some(passed)),
                Progress::Waits(paused, order) => waited = self.park(paused, order, core),
            }
            if waited.is_none() {
                return Ok(None);
            }
        }
    }

    fn soap<'l>(&self, active: &'l ActiveConfig) -> Option<&'l Soap> {
        active.compiled.routes[self.route?].chain.effective_soap()
    }

    /// Returns the fault that a SOAP client gets instead of an error response of the gateway or of
    /// a policy other than `soap`. Returns `None` for other responses and for JSON clients.
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
