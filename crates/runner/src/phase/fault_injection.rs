//! Makes one target of the upstream, or the gateway's control plane, fail for a while under load,
//! and counts the requests of each target before, during and after the failure.

use gatebench_model::load::{FailingPart, Ill, PartFailure};
use gatebench_store::{FailureRecord, TargetShare};
use gatebench_testbed::{Interrupt, Running};
use gatebench_upstream::Snapshot;

use crate::abort::Abort;
use crate::ledger;

/// A time in the measurement, and the number of requests that each target had received by then.
#[derive(Debug)]
struct Mark {
    at_ns: u64,
    seen: Vec<u64>,
}

#[derive(Debug)]
pub(crate) struct FaultInjection<'a> {
    failure: &'a PartFailure,
    interrupt: &'a Interrupt,
    before_load: Vec<u64>,
    began: Option<Mark>,
    over: Option<Mark>,
    /// The ledger of the target that is killed, read just before the kill.
    killed: Option<Snapshot>,
}

impl<'a> FaultInjection<'a> {
    /// Prepares a failure, and reads the ledgers before the load.
    pub(crate) fn new(
        failure: &'a PartFailure,
        running: &Running,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Abort> {
        Ok(Self {
            failure,
            interrupt,
            before_load: ledger::begun(&running.upstream(), interrupt)?,
            began: None,
            over: None,
            killed: None,
        })
    }

    /// Starts or ends the failure, if that is due `at_ns` after the start of the measurement.
    pub(crate) fn advance(&mut self, running: &mut Running, at_ns: u64) -> Result<(), Abort> {
        if self.began.is_none() && at_ns >= self.failure.from.as_nanos() {
            let mut seen = ledger::begun(&running.upstream(), self.interrupt)?;
            self.start(running)?;
            // The target was still working while the ledgers were read, so the count that was read
            // just before the kill is used.
            if let Some((first, killed)) = seen.first_mut().zip(self.killed.as_ref()) {
                *first = killed.begun;
            }
            self.began = Some(Mark { at_ns, seen });
            return Ok(());
        }
        if let Some(began) = &self.began
            && self.over.is_none()
            && at_ns >= self.failure.until.as_nanos()
        {
            let mut seen = ledger::begun(&running.upstream(), self.interrupt)?;
            if self.kills_target() {
                // The target is down, so its count has not changed.
                seen.insert(0, began.seen.first().copied().unwrap_or(0));
            }
            self.over = Some(Mark { at_ns, seen });
            return self.end(running);
        }
        Ok(())
    }

    /// Reports whether the process of the first target is killed.
    fn kills_target(&self) -> bool {
        self.failure.part == FailingPart::Target && self.failure.how == Ill::Refusing
    }

    fn start(&mut self, running: &mut Running) -> Result<(), Abort> {
        if self.failure.part == FailingPart::ControlPlane {
            running.kill_control_plane();
            return Ok(());
        }
        let targets = running.upstream();
        let Some(first) = targets.first() else {
            return Ok(());
        };
        let by_ms = self.failure.by.unwrap_or_default().0.as_millis();
        match self.failure.how {
            Ill::Slow => ledger::make(first, &format!("slow/{by_ms}"), self.interrupt),
            Ill::Resetting => ledger::make(first, "resetting", self.interrupt),
            Ill::Refusing => {
                self.killed = Some(ledger::of_target(first, self.interrupt)?);
                running.kill_first_target();
                Ok(())
            }
        }
    }

    fn end(&self, running: &mut Running) -> Result<(), Abort> {
        if self.failure.part == FailingPart::ControlPlane {
            return Ok(running.start_control_plane_again()?);
        }
        if self.kills_target() {
            return Ok(running.start_first_target_again()?);
        }
        match running.upstream().first() {
            Some(first) => ledger::make(first, "well", self.interrupt),
            None => Ok(()),
        }
    }

    pub(crate) fn killed(&self) -> Option<&Snapshot> {
        self.killed.as_ref()
    }

    /// Returns the record after the load; `None` if the load ended before the failure was over.
    /// `ended` is the number of requests that got a response or failed, including the warm-up.
    pub(crate) fn record(
        self,
        running: &Running,
        ended: u64,
    ) -> Result<Option<FailureRecord>, Abort> {
        let kills_target = self.kills_target();
        let Some((began, mut over)) = self.began.zip(self.over) else {
            return Ok(None);
        };
        let end = ledger::begun(&running.upstream(), self.interrupt)?;
        let during = ledger::gained(&began.seen, &over.seen);
        if kills_target && let Some(first) = over.seen.first_mut() {
            // The new process counts from zero.
            *first = 0;
        }
        let before = ledger::gained(&self.before_load, &began.seen).into_iter();
        let after = ledger::gained(&over.seen, &end);
        let shares = before.zip(during).zip(after);
        let share = |((before, during), after)| TargetShare {
            before,
            during,
            after,
        };
        let targets: Vec<TargetShare> = shares.map(share).collect();
        let of_target = |it: &TargetShare| it.before + it.during + it.after;
        let saw: u64 = targets.iter().map(of_target).sum();
        Ok(Some(FailureRecord {
            part: self.failure.part,
            how: self.failure.how.as_str().into(),
            by_ns: self.failure.by.map(|by| by.as_nanos()),
            began_ns: began.at_ns,
            over_ns: over.at_ns,
            sent_again: saw.saturating_sub(ended),
            targets,
        }))
    }
}
