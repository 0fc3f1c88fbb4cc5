//! Calls to an admin interface during a load, one after another, at predetermined times.

use std::thread;
use std::time::Duration;

use gatebench_model::Phase;
use gatebench_store::AdminLoadRecord;
use gatebench_testbed::gateway::AdminCalls;
use gatebench_testbed::{Interrupt, Running};

use super::call;
use crate::context::TrialContext;
use crate::phase::watch::Shared;

/// The maximum sleep between checks for the end of the load.
const NAP_NS: u64 = 20_000_000;

pub(crate) struct Calling<'a> {
    calls: AdminCalls,
    /// The number of the scenario's routes, not counting the one that the calls change.
    routes: u64,
    every_ns: u64,
    measure_ns: u64,
    interrupt: &'a Interrupt,
}

impl<'a> Calling<'a> {
    pub(crate) fn of(context: &TrialContext<'a>, running: &Running, phase: &Phase) -> Option<Self> {
        let every = context.scenario.admin.as_ref()?.under_load_every?;
        Some(Self {
            calls: running.started()?.admin.clone()?,
            routes: context.scenario.routes.len() as u64,
            every_ns: every.as_nanos(),
            measure_ns: phase.measure.as_nanos(),
            interrupt: context.interrupt,
        })
    }

    /// Makes the calls that are due during the measurement, the first one after one interval.
    /// Counts the calls that could not be made in time, and completes the last round, so that the
    /// created route does not remain.
    pub(crate) fn run(&self, shared: &Shared) -> AdminLoadRecord {
        let mut record = AdminLoadRecord {
            routes: self.routes,
            every_ns: self.every_ns,
            ..AdminLoadRecord::default()
        };
        let mut done = 0;
        while !shared.is_over() && due_ns(done, self.every_ns) < self.measure_ns {
            let due_ns = due_ns(done, self.every_ns);
            let since_ns = shared.since_begin_ns();
            match since_ns.map_or(NAP_NS, |since_ns| due_ns.saturating_sub(since_ns)) {
                0 => {
                    self.make(done, due_ns, shared, &mut record);
                    done += 1;
                }
                left_ns => thread::sleep(Duration::from_nanos(left_ns.min(NAP_NS))),
            }
        }
        if let Some(load_ns) = shared.since_begin_ns() {
            self.count_unmade(done, load_ns, &mut record);
        }
        self.end_round(done);
        record
    }

    /// Counts the calls that were due but not made by the end of the load; `done` calls were made.
    fn count_unmade(&self, done: usize, load_ns: u64, record: &mut AdminLoadRecord) {
        let calls = &self.calls.calls;
        let due = due_within(self.every_ns, self.measure_ns, load_ns);
        for number in done..due {
            let (verb, _) = &calls[number % calls.len()];
            *record.unmade.entry(*verb).or_default() += 1;
        }
    }

    /// Makes the call with this number, which is due `due_ns` after the start of the measurement.
    fn make(&self, number: usize, due_ns: u64, shared: &Shared, record: &mut AdminLoadRecord) {
        let calls = &self.calls.calls;
        let (verb, request) = &calls[number % calls.len()];
        match call(&self.calls, request, self.interrupt) {
            Ok(()) => {
                let ended_ns = shared.since_begin_ns().unwrap_or(due_ns);
                let took_ns = ended_ns.saturating_sub(due_ns);
                record.took_ns.entry(*verb).or_default().push(took_ns);
            }
            Err(why) => {
                *record.failed.entry(*verb).or_default() += 1;
                let failure = || format!("call {}, {}: {why}", number + 1, verb.as_str());
                record.failure.get_or_insert_with(failure);
            }
        }
    }

    /// Makes the remaining calls of the last round; `done` calls have been made in all rounds.
    /// Stops at the first failure.
    fn end_round(&self, done: usize) {
        for (_, request) in left(&self.calls.calls, done) {
            if call(&self.calls, request, self.interrupt).is_err() {
                return;
            }
        }
    }
}

/// Returns the time at which the call that follows `done` others is due, counted from the start of
/// the measurement.
fn due_ns(done: usize, every_ns: u64) -> u64 {
    every_ns.saturating_mul(done as u64 + 1)
}

/// Returns the number of calls that were due in the elapsed part of a measurement.
fn due_within(every_ns: u64, measure_ns: u64, load_ns: u64) -> usize {
    let due = (measure_ns.saturating_sub(1) / every_ns).min(load_ns / every_ns);
    usize::try_from(due).unwrap_or(usize::MAX)
}

/// Returns the remaining calls of the current round. `done` is the number of calls made in all
/// rounds.
fn left<T>(round: &[T], done: usize) -> &[T] {
    match done % round.len().max(1) {
        0 => &[],
        begun => &round[begun..],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_due_at_whole_intervals() {
        assert_eq!([0, 1, 9].map(|done| due_ns(done, 250)), [250, 500, 2_500]);
    }

    #[test]
    fn calls_that_slow_calls_prevented_are_counted() {
        // Calls are due at 250, 500 and 750, but not at the end of the measurement.
        assert_eq!(due_within(250, 1_000, 1_200), 3);
        assert_eq!(due_within(250, 1_000, 600), 2, "the load was stopped");
        assert_eq!(due_within(250, 100, 1_200), 0);
    }

    #[test]
    fn an_incomplete_round_is_completed() {
        let round = ["create", "read", "update", "delete"];
        assert_eq!(left(&round, 0), [""; 0]);
        assert_eq!(left(&round, 5), ["read", "update", "delete"]);
        assert_eq!(left(&round, 8), [""; 0]);
    }
}
