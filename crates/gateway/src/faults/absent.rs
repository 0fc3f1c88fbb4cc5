//! Replaces the faults in a build without them. This module does nothing and stores nothing.

use super::Delays;
use crate::client_ref::ClientRef;
use crate::config::Route;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {}

#[derive(Debug, Default)]
pub(crate) struct Injector {}

impl Injector {
    pub(crate) fn new(_: Faults) -> Self {
        Self {}
    }

    pub(crate) fn responded(&mut self, _status: u16) {}

    pub(crate) fn counts(&mut self) -> bool {
        true
    }

    pub(crate) fn counts_abandoned(&self) -> bool {
        true
    }

    pub(crate) fn counts_retries(&self) -> bool {
        false
    }

    pub(crate) fn strays(&mut self) -> bool {
        false
    }

    pub(crate) fn pop_due(&mut self, _now_ns: u64) -> Option<ClientRef> {
        None
    }

    pub(crate) fn sleep_until_ns(&self) -> Option<u64> {
        None
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hold {}

impl Hold {
    pub(crate) fn begin(&mut self, _: u64, _now_ns: u64, _: ClientRef, _: &mut Injector) {}

    pub(crate) fn is_held(self) -> bool {
        false
    }

    pub(crate) fn release(&mut self, _now_ns: u64) -> bool {
        false
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct RouteDelay;

pub(crate) fn delay_of(_: &Route) -> RouteDelay {
    RouteDelay
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct DelayTurns;

impl DelayTurns {
    pub(crate) fn new(_: RouteDelay) -> Self {
        Self
    }

    pub(crate) fn next(&mut self) -> Delays {
        Delays::default()
    }
}
