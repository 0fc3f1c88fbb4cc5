//! The faults of a gateway, and of each of its workers.

use super::flaws::{Flawed, Leak};
use super::handicap::{Burden, Handicap};
use super::hold::Holds;
use crate::client_ref::ClientRef;

/// The faults of every worker; none by default. Known delays are settings of routes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// Extra work for each response.
    pub handicap: Option<Handicap>,
    /// Memory that is never released.
    pub leak: Option<Leak>,
    /// The share of errors (0.01 is 1 %) that the next request of the same worker gets as well.
    pub stray_errors: Option<f64>,
}

/// The faults of one worker.
#[derive(Debug, Default)]
pub(crate) struct Injector {
    burden: Option<Burden>,
    flawed: Flawed,
    pub(super) holds: Holds,
}

impl Injector {
    pub(crate) fn new(faults: Faults) -> Self {
        Self {
            burden: faults.handicap.map(Burden::new),
            flawed: Flawed::new(faults),
            holds: Holds::default(),
        }
    }

    /// Counts a response with that status.
    pub(crate) fn responded(&mut self, status: u16) {
        if let Some(burden) = &mut self.burden {
            burden.bear();
        }
        self.flawed.responded(status);
    }

    /// Reports whether the request that has just arrived gets the error of another one.
    pub(crate) fn strays(&mut self) -> bool {
        self.flawed.strays()
    }

    /// Returns the next connection whose hold has ended by `now_ns`.
    pub(crate) fn pop_due(&mut self, now_ns: u64) -> Option<ClientRef> {
        self.holds.pop_due(now_ns)
    }

    /// Returns the time until which the loop may sleep so that the next hold ends in time.
    pub(crate) fn sleep_until_ns(&self) -> Option<u64> {
        self.holds.sleep_until_ns()
    }
}
