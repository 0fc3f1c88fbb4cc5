//! Changes a gateway during a measurement, once or repeatedly, and counts the requests of each
//! target between two changes of the weights.

use std::collections::VecDeque;

use gatebench_model::load::{CONFIGURE, GatewayChange, WEIGHTS};
use gatebench_model::{HumanDuration, ParityCase, Phase, Scenario};
use gatebench_net::clock;
use gatebench_store::{ChangeRecord, WeighedRecord};
use gatebench_testbed::{Interrupt, Running};

use crate::abort::Abort;
use crate::ledger;
use crate::parity::propagation::Propagation;

pub(crate) struct Reconfiguration<'a> {
    change: &'a GatewayChange,
    /// The case, if any, that proves that the first change took effect.
    case: Option<&'a ParityCase>,
    /// The lists of weights; empty for other changes.
    weights: &'a [Vec<u32>],
    interrupt: &'a Interrupt,
    due: VecDeque<HumanDuration>,
    record: Option<ChangeRecord>,
    propagation: Option<Propagation>,
    /// Each target's number of requests at the last change, or at the start of the measurement.
    seen: Option<Vec<u64>>,
    weighed: Vec<WeighedRecord>,
}

impl<'a> Reconfiguration<'a> {
    pub(crate) fn of(
        phase: &'a Phase,
        scenario: &'a Scenario,
        interrupt: &'a Interrupt,
    ) -> Option<Self> {
        let change = phase.change.as_ref()?;
        let later = scenario.later.as_ref();
        let case = later.and_then(|later| later.parity.first());
        Some(Self {
            change,
            case: case.filter(|_| change.action == CONFIGURE),
            weights: match change.action.as_str() {
                WEIGHTS => &scenario.weights,
                _ => &[],
            },
            interrupt,
            due: change.times(phase.measure).collect(),
            record: None,
            propagation: None,
            seen: None,
            weighed: Vec::new(),
        })
    }

    /// Makes the change that is due `since_ns` after the start of the measurement, if there is one.
    pub(crate) fn advance(&mut self, running: &mut Running, since_ns: u64) -> Result<(), Abort> {
        if !self.weights.is_empty() && self.seen.is_none() {
            self.seen = Some(ledger::begun(&running.upstream(), self.interrupt)?);
        }
        if self.due.front().is_none_or(|at| at.as_nanos() > since_ns) {
            return Ok(());
        }
        self.due.pop_front();
        self.weigh(running)?;
        let began_ns = clock::now_ns();
        let target = running.target().clone();
        running.change(&self.change.action)?;
        match &mut self.record {
            Some(record) => record.again_ns.push(since_ns),
            None => {
                self.record = Some(ChangeRecord {
                    action: self.change.action.clone(),
                    began_ns: since_ns,
                    took_ns: clock::now_ns() - began_ns,
                    ..ChangeRecord::default()
                });
                self.propagation = self.case.map(|it| Propagation::of(began_ns, target, it));
            }
        }
        Ok(())
    }

    /// Records each target's number of requests since the last change.
    fn weigh(&mut self, running: &Running) -> Result<(), Abort> {
        let Some(before) = &self.seen else {
            return Ok(());
        };
        let now = ledger::begun(&running.upstream(), self.interrupt)?;
        let weights = self.weights.iter().cycle().nth(self.weighed.len());
        self.weighed.push(WeighedRecord {
            weights: weights.cloned().unwrap_or_default(),
            requests: ledger::gained(before, &now),
        });
        self.seen = Some(now);
        Ok(())
    }

    /// Returns the record after the load; `None` if the load ended before the first change.
    pub(crate) fn record(mut self, running: &Running) -> Result<Option<ChangeRecord>, Abort> {
        let weighed = self.weigh(running);
        // The test requests must end even if the ledgers could not be read.
        let effective_ns = self.propagation.take().and_then(Propagation::end);
        weighed?;
        let (weighed, record) = (self.weighed, self.record);
        Ok(record.map(|record| ChangeRecord {
            effective_ns,
            weighed,
            ..record
        }))
    }
}
