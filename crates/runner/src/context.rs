//! The context of a trial: its part of the plan, the resolved gateway, and the observer.
//!
//! This module must not start anything.

use gatebench_agent::Agents;
use gatebench_model::{Culprit, Phase, Placement, Plan, Scenario, Trial, Variant};
use gatebench_net::Backend;
use gatebench_store::TrialRecord;
use gatebench_testbed::gateway::FoundGateway;
use gatebench_testbed::{Interrupt, Testbed};

use crate::abort::Abort;
use crate::external::PreparedGenerator;
use crate::lockstep::Member;
use crate::outputs::TrialFeed;
use crate::progress::{Observer, Progress, Step};

pub(crate) struct TrialContext<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) trial: &'a Trial,
    pub(crate) scenario: &'a Scenario,
    pub(crate) variant: &'a Variant,
    /// `None` for the direct variant and for an attached gateway.
    pub(crate) gateway: Option<&'a FoundGateway>,
    pub(crate) testbed: &'a Testbed,
    /// The agents (load generators outside this process), if they send the loads.
    pub(crate) agents: Option<&'a Agents>,
    /// The external load generator that replaces the built-in one.
    pub(crate) engine: Option<&'a PreparedGenerator>,
    pub(crate) backend: Option<Backend>,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) observer: &'a dyn Observer,
    pub(crate) outputs: Option<TrialFeed<'a>>,
    /// The completed repeats of the search that this trial continues, ordered by start time.
    pub(crate) earlier: Vec<TrialRecord>,
    pub(crate) first_tag: u16,
    /// This trial's membership in the lockstep of its block, if the block's trials run together.
    pub(crate) lockstep: Option<Member<'a>>,
}

/// The cores of this machine that a trial uses.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrialCores {
    pub(crate) all: Vec<usize>,
    pub(crate) gateway: Vec<usize>,
    /// The gateway's cores, if no other part of the run uses them or their sibling threads.
    pub(crate) gateway_alone: Option<Vec<usize>>,
}

/// Returns the cores in `gateway` and the cores of the load generator and the upstream, sorted and
/// without duplicates. The cores in `gateway` are omitted if the gateway runs on another host.
pub(crate) fn local_cores(placement: &Placement, gateway: &[usize]) -> Vec<usize> {
    let gateway = match placement.gateway_is_elsewhere {
        true => &[],
        false => gateway,
    };
    let mut cores = [gateway, &placement.engine, &placement.upstream].concat();
    cores.sort_unstable();
    cores.dedup();
    cores
}

impl<'a> TrialContext<'a> {
    pub(crate) fn target_culprit(&self) -> Culprit {
        match self.variant {
            Variant::Direct => Culprit::Upstream,
            variant => Culprit::Gateway(variant.label().into()),
        }
    }

    /// Reports whether the first load of a gateway begins at the gateway's first correct response.
    pub(crate) fn is_cold(&self) -> bool {
        self.plan.load_of(&self.trial.scenario).cold
    }

    pub(crate) fn phases(&self) -> &'a [Phase] {
        &self.plan.load_of(&self.trial.scenario).phases
    }

    pub(crate) fn cores(&self) -> TrialCores {
        let placement = &self.plan.placement;
        let gateway = match placement.gateway_is_elsewhere {
            true => &[][..],
            false => self.gateway_cores(),
        };
        let is_alone = placement.gateway_is_alone() && self.lockstep.is_none();
        TrialCores {
            all: local_cores(placement, gateway),
            gateway: gateway.to_vec(),
            gateway_alone: Some(gateway.to_vec()).filter(|cores| is_alone && !cores.is_empty()),
        }
    }

    /// Returns the cores of the gateway; empty if gatebench starts no gateway.
    pub(crate) fn gateway_cores(&self) -> &'a [usize] {
        self.variant
            .setup()
            .map_or(&[], |setup| setup.gateway_cores(&self.plan.placement))
    }

    /// Waits for the other trials of the block, if they run together.
    pub(crate) fn meet(&self) -> Result<(), Abort> {
        let lockstep = self.lockstep.as_ref();
        lockstep.map_or(Ok(()), |it| it.meet(self.interrupt))
    }

    pub(crate) fn step(&self, step: Step) -> Result<(), Abort> {
        self.interrupt.check()?;
        self.observer.observe(Progress::StepStarted(step));
        Ok(())
    }
}
