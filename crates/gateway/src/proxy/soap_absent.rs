//! Replaces the processing of SOAP/XML chains in a build without the feature `soap`, where no
//! message has a chain.

use std::convert::Infallible;

use gatebench_net::{ConnId, Event, Io};

use super::client::Exchange;
use super::edit::Edited;
use super::exchange::Core;
use super::worker::Worker;
use crate::message::Choice;
use crate::soap::Fault;

impl Exchange {
    pub(super) fn process_request<I: Io>(
        &mut self,
        _waited: Option<Infallible>,
        _: &mut Core<I>,
    ) -> Result<Edited, Fault> {
        Ok(Edited::Done)
    }

    pub(super) fn process_response<I: Io>(
        &mut self,
        _waited: Option<Infallible>,
        _: &mut Core<I>,
    ) -> Result<Edited, Fault> {
        Ok(Edited::Done)
    }

    pub(crate) fn fault_for(&self, _: Choice, _status: u16) -> Option<Fault> {
        None
    }
}

impl<I: Io> Core<I> {
    pub(crate) fn line_of(&self, _: ConnId) -> Option<usize> {
        None
    }

    pub(crate) fn send_orders(&mut self) {}
}

impl<I: Io> Worker<I> {
    pub(crate) fn handle_line(&mut self, _at: usize, _: Event) {}

    pub(crate) fn line_due(&mut self, _at: usize) {}
}
