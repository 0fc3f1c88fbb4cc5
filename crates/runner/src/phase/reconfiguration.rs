//! Changes a gateway while it is measured, once or repeatedly, and counts the requests that each
//! target gets between two changes of the weights.

use std::collections::VecDeque;

use gatebench_model::load::{CONFIGURE, GatewayChange, WEIGHTS};
use gatebench_model::{HumanDuration, ParityCase, Phase, Scenario};
use gatebench_net::clock;
use gatebench_store::{ChangeRecord, WeighedRecord};

use super::fault_injection::{gained, seen};
use crate::abort::Abort;
use crate::interrupt::Interrupt;
use crate::parity::propagation::Propagation;
use crate::testbed::Testbed;

/// The changes of a phase, while they are under way.
pub(crate) struct Reconfiguration<'a> {
    change: &'a GatewayChange,
    /// How it is seen that the first one is done, where it can be seen.
    case: Option<&'a ParityCase>,
    /// The lists of weights; empty where the change is another one.
    weights: &'a [Vec<u32>],
    interrupt: &'a Interrupt,
    due: VecDeque<HumanDuration>,
    record: Option<ChangeRecord>,
    propagation: Option<Propagation>,
    /// What each target had seen at the last change, or at the begin of the measurement.
    seen: Option<Vec<u64>>,
    weighed: Vec<WeighedRecord>,
}

impl<'a> Reconfiguration<'a> {
    /// What is done in a phase of a scenario; none where nothing is.
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

    /// Does what is due so long after the begin of the measurement.
    pub(crate) fn go_on(&mut self, testbed: &mut Testbed, since_ns: u64) -> Result<(), Abort> {
        if !self.weights.is_empty() && self.seen.is_none() {
            self.seen = Some(seen(testbed, self.interrupt)?);
        }
        if self.due.front().is_none_or(|at| at.as_nanos() > since_ns) {
            return Ok(());
        }
        self.due.pop_front();
        self.weigh(testbed)?;
        let began_ns = clock::now_ns();
        let asked = self.case.zip(testbed.target());
        testbed.change(&self.change.action)?;
        match &mut self.record {
            Some(record) => record.again_ns.push(since_ns),
            None => {
                self.record = Some(ChangeRecord {
                    action: self.change.action.clone(),
                    began_ns: since_ns,
                    took_ns: clock::now_ns() - began_ns,
                    ..ChangeRecord::default()
                });
                self.propagation = asked.map(|(case, wire)| Propagation::of(began_ns, wire, case));
            }
        }
        Ok(())
    }

    /// Notes what each target had since the last change.
    fn weigh(&mut self, testbed: &Testbed) -> Result<(), Abort> {
        let Some(before) = &self.seen else {
            return Ok(());
        };
        let now = seen(testbed, self.interrupt)?;
        let weights = self.weights.iter().cycle().nth(self.weighed.len());
        self.weighed.push(WeighedRecord {
            weights: weights.cloned().unwrap_or_default(),
            requests: gained(before, &now).collect(),
        });
        self.seen = Some(now);
        Ok(())
    }

    /// After the load; none where it was over before anything was due.
    pub(crate) fn record(mut self, testbed: &Testbed) -> Result<Option<ChangeRecord>, Abort> {
        let weighed = self.weigh(testbed);
        // The asking ends here, whatever comes of the rest.
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
