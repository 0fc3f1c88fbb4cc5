//! A load sent by agents on several machines.

use gatebench_agent::{AgentFailure, AgentReport, Agents, StartReport};
use gatebench_engine::{Control, Interval, Outcome};
use gatebench_model::{Blame as _, Place};
use gatebench_report::text::clean_lines;
use gatebench_runner::agents_record;
use gatebench_store::{AgentsRecord, MachineFacts};
use gatebench_testbed::probe::{Sampler, Scope};

use super::live::Seen;
use crate::commands::values::launcher;
use crate::exit::Exit;
use crate::failure::Failure;

/// The results of a load, agent by agent.
pub struct ByAgent {
    pub each: Vec<AgentReport>,
    /// The spread of the agents' start times; `None` if no agent reported a first request.
    pub start: Option<StartReport>,
    pub lost: Option<AgentFailure>,
    /// CPU time of this process during the load.
    pub cpu_ns: u64,
    /// Anonymous resident memory of this process at the end of the load.
    pub memory_bytes: u64,
}

pub fn connect(places: &[Place]) -> Result<Option<Agents>, Failure> {
    if places.is_empty() {
        return Ok(None);
    }
    Ok(Some(Agents::connect(places, &launcher()?, &[], None)?))
}

pub fn workers(agents: &Agents, cores: &[usize]) -> u32 {
    u32::try_from(agents.workers(cores)).unwrap_or(u32::MAX)
}

pub fn run(
    agents: &Agents,
    load: &gatebench_engine::Load,
    control: &Control,
    sink: impl FnMut(usize, &Interval),
) -> Result<(Outcome, ByAgent), Failure> {
    let mut own = Sampler::new(std::process::id(), Scope::Process);
    let before = own.sample();
    let conducted = agents.run(load, control, &[], sink)?;
    let after = own.sample();
    let by_agent = ByAgent {
        cpu_ns: after.cpu_ns.saturating_sub(before.cpu_ns),
        memory_bytes: after.rss_anon_bytes,
        each: conducted.agents,
        start: conducted.start,
        lost: conducted.failure,
    };
    Ok((conducted.outcome, by_agent))
}

impl ByAgent {
    pub fn record(&self) -> AgentsRecord {
        agents_record(&self.each, self.start)
    }

    /// Removes the state of this machine from the observations, because each agent reports the
    /// state of its own machine.
    pub fn seen(&self, seen: Seen) -> Seen {
        Seen {
            machine: MachineFacts::default(),
            ..seen
        }
    }

    pub fn failure(&self) -> Option<Failure> {
        let lost = self.lost.as_ref()?;
        let culprit = format!("agent {}", lost.agent);
        Some(Failure::said(
            Exit::Environment,
            culprit,
            clean_lines(&lost.to_string()).trim_end(),
            lost.error.remedy(),
        ))
    }
}
