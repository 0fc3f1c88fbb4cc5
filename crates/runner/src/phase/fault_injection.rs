//! Lets one target of the upstream fail for a while under load, and counts the requests that each
//! target gets before, during and after the failure.

use gatebench_model::load::{Ill, TargetFailure};
use gatebench_store::{FailureRecord, TargetShare};

use crate::abort::Abort;
use crate::interrupt::Interrupt;
use crate::testbed::Testbed;
use crate::testbed::ledger;

/// A moment of the measurement, and what each target had seen by then.
#[derive(Debug)]
struct Mark {
    at_ns: u64,
    seen: Vec<u64>,
}

/// The failure of a target in a phase, while it is under way.
#[derive(Debug)]
pub(crate) struct FaultInjection<'a> {
    failure: &'a TargetFailure,
    interrupt: &'a Interrupt,
    before_load: Vec<u64>,
    began: Option<Mark>,
    over: Option<Mark>,
}

impl<'a> FaultInjection<'a> {
    /// Before the load.
    pub(crate) fn new(
        failure: &'a TargetFailure,
        testbed: &Testbed,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Abort> {
        Ok(Self {
            failure,
            interrupt,
            before_load: seen(testbed, interrupt)?,
            began: None,
            over: None,
        })
    }

    /// Lets the first target fail, or work again, when it is time.
    pub(crate) fn go_on(&mut self, testbed: &mut Testbed, now_ns: u64) -> Result<(), Abort> {
        if self.began.is_none() && now_ns >= self.failure.from.as_nanos() {
            let mut seen = seen(testbed, self.interrupt)?;
            let last = testbed.make_ill(self.failure, self.interrupt)?;
            // What it saw while the others were asked, it saw as well as ever.
            if let Some((first, last)) = seen.first_mut().zip(last) {
                *first = last.begun;
            }
            self.began = Some(Mark {
                at_ns: now_ns,
                seen,
            });
            return Ok(());
        }
        if let Some(began) = &self.began
            && self.over.is_none()
            && now_ns >= self.failure.until.as_nanos()
        {
            let mut seen = seen(testbed, self.interrupt)?;
            if self.failure.how == Ill::Refusing {
                // It is not there to be asked, and saw nothing since.
                seen.insert(0, began.seen.first().copied().unwrap_or(0));
            }
            self.over = Some(Mark {
                at_ns: now_ns,
                seen,
            });
            return testbed.make_well(self.failure.how, self.interrupt);
        }
        Ok(())
    }

    /// After the load, in which `ended` requests were answered or failed, the warm-up's among them; none
    /// where it was over before the failure was.
    pub(crate) fn record(
        self,
        testbed: &Testbed,
        ended: u64,
    ) -> Result<Option<FailureRecord>, Abort> {
        let Some((began, mut over)) = self.began.zip(self.over) else {
            return Ok(None);
        };
        let end = seen(testbed, self.interrupt)?;
        let during = gained(&began.seen, &over.seen);
        if self.failure.how == Ill::Refusing
            && let Some(first) = over.seen.first_mut()
        {
            // Its new process counts from nought.
            *first = 0;
        }
        let before = gained(&self.before_load, &began.seen);
        let after = gained(&over.seen, &end);
        let targets: Vec<TargetShare> = before
            .zip(during)
            .zip(after)
            .map(|((before, during), after)| TargetShare {
                before,
                during,
                after,
            })
            .collect();
        let saw: u64 = targets
            .iter()
            .map(|it| it.before + it.during + it.after)
            .sum();
        Ok(Some(FailureRecord {
            how: self.failure.how.as_str().into(),
            by_ns: self.failure.by.map(|by| by.as_nanos()),
            began_ns: began.at_ns,
            over_ns: over.at_ns,
            sent_again: saw.saturating_sub(ended),
            targets,
        }))
    }
}

/// Requests that each target that is up has seen.
pub(crate) fn seen(testbed: &Testbed, interrupt: &Interrupt) -> Result<Vec<u64>, Abort> {
    let targets = testbed.targets();
    let saw = |target| ledger::of_target(target, interrupt).map(|ledger| ledger.begun);
    targets.iter().map(saw).collect()
}

/// What each target gained from one moment to another.
pub(crate) fn gained(from: &[u64], to: &[u64]) -> std::vec::IntoIter<u64> {
    let pairs = from.iter().zip(to);
    let gained: Vec<u64> = pairs.map(|(from, to)| to.saturating_sub(*from)).collect();
    gained.into_iter()
}
