//! Makes the scheduled changes and the scheduled failure of a load. They are made on a separate
//! thread, because a change may take seconds, and samples must not wait for it. Only samples of a
//! gateway on another host wait, because a host handles one request after another.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use gatebench_model::Phase;
use gatebench_store::{ChangeRecord, FailureRecord};
use gatebench_testbed::Running;
use gatebench_upstream::Snapshot;

use super::fault_injection::FaultInjection;
use super::reconfiguration::Reconfiguration;
use super::watch::Shared;
use crate::abort::{Abort, Failure};
use crate::context::TrialContext;

/// The interval between checks for a change that is due.
const NAP: Duration = Duration::from_millis(5);

/// The processes of a load, which are locked while a change is made to them.
pub(crate) struct Processes<'a> {
    running: &'a mut Running,
    /// The first failure: the death of a process, or a failed change.
    death: Option<Failure>,
}

impl<'a> Processes<'a> {
    pub(crate) fn new(running: &'a mut Running) -> Mutex<Self> {
        Mutex::new(Self {
            running,
            death: None,
        })
    }

    /// Reports whether a process has died or a change has failed.
    pub(crate) fn check(&mut self) -> bool {
        if self.death.is_none() {
            self.death = Failure::of_death(self.running);
        }
        self.death.is_some()
    }

    pub(crate) fn take_death(&mut self) -> Option<Failure> {
        self.death.take()
    }
}

/// Locks the processes. Waits if a change is being made.
pub(crate) fn lock<'l, 'a>(processes: &'l Mutex<Processes<'a>>) -> MutexGuard<'l, Processes<'a>> {
    processes.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Default)]
pub(crate) struct Changes<'a> {
    pub(crate) reconfiguration: Option<Reconfiguration<'a>>,
    /// The failure of an upstream target or of the control plane during the load.
    pub(crate) fault_injection: Option<FaultInjection<'a>>,
}

/// The records of the changes made during a load.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    pub(crate) change: Option<ChangeRecord>,
    pub(crate) failure: Option<FailureRecord>,
    /// The ledger of the target that was killed, read just before the kill.
    pub(crate) killed: Option<Snapshot>,
}

impl<'a> Changes<'a> {
    /// Returns the changes and the failure of a phase. The direct variant and an attached gateway
    /// have none.
    pub(crate) fn of(
        context: &'a TrialContext<'_>,
        running: &Running,
        phase: &'a Phase,
    ) -> Result<Self, Abort> {
        if context.gateway.is_none() {
            return Ok(Self::default());
        }
        let failure = phase.failure.as_ref();
        let failure = failure.map(|it| FaultInjection::new(it, running, context.interrupt));
        Ok(Self {
            reconfiguration: Reconfiguration::of(phase, context.scenario, context.interrupt),
            fault_injection: failure.transpose()?,
        })
    }

    pub(crate) fn are_none(&self) -> bool {
        self.reconfiguration.is_none() && self.fault_injection.is_none()
    }

    /// Makes the changes until the load is over. A failed change ends the load.
    pub(crate) fn make(&mut self, processes: &Mutex<Processes<'_>>, shared: &Shared) {
        while !shared.is_over() {
            let mut processes = lock(processes);
            // The time is read under the lock, for which this thread may have waited.
            let since_ns = shared.since_begin_ns();
            let made = since_ns.map(|since_ns| self.advance(processes.running, since_ns));
            if let Some(Err(Abort::Failed(failure))) = made {
                processes.death.get_or_insert(failure);
                shared.control.stop();
            }
            drop(processes);
            thread::sleep(NAP);
        }
    }

    /// Makes the changes, and starts or ends the failure, if they are due.
    fn advance(&mut self, running: &mut Running, since_ns: u64) -> Result<(), Abort> {
        // The failure is handled first, because a change that is due when an outage ends needs the
        // control plane.
        if let Some(fault_injection) = &mut self.fault_injection {
            fault_injection.advance(running, since_ns)?;
        }
        match &mut self.reconfiguration {
            Some(reconfiguration) => reconfiguration.advance(running, since_ns),
            None => Ok(()),
        }
    }

    /// Returns the records after the load. `ended` is the number of requests that got a response or
    /// failed, including the warm-up.
    pub(crate) fn record(self, processes: &mut Processes<'_>, ended: u64) -> Changed {
        let running = &*processes.running;
        let change = self.reconfiguration.map(|it| it.record(running));
        let failure = self.fault_injection;
        let killed = failure.as_ref().and_then(|it| it.killed().cloned());
        let failure = failure.map(|it| it.record(running, ended));
        let death = &mut processes.death;
        Changed {
            change: change.and_then(|it| record_of(it, death)),
            failure: failure.and_then(|it| record_of(it, death)),
            killed,
        }
    }
}

/// Returns the record, if it could be made. An error is stored in `death`, unless it is an
/// interrupt or `death` already contains a failure.
fn record_of<T>(made: Result<Option<T>, Abort>, death: &mut Option<Failure>) -> Option<T> {
    made.unwrap_or_else(|abort| {
        if let Abort::Failed(failure) = abort {
            death.get_or_insert(failure);
        }
        None
    })
}
