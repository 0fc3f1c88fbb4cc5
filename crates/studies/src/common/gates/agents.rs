//! Gates for a load that several agents send. The percentiles of all requests may hide a single
//! faulty agent, so each gate names the agents that it concerns.

use gatebench_report::Unit;
use gatebench_report::format::{counted, listed, percent, quantity};
use gatebench_store::AgentRecord;

use super::thresholds::{AGENT_P50_SHARE_MAX, LATENESS_P99_NS_MAX, STEAL_SHARE_MAX};
use super::{EVERYTHING, SPEED, View};
use crate::common::facts::{Aspect, Gate, PhaseKind, Reason};

fn each<'a>(view: &View<'a>) -> &'a [AgentRecord] {
    view.phase.agents.as_ref().map_or(&[], |it| &it.each)
}

/// Lists the agents for which `describe` returns a description, each followed by that description;
/// `None` if it returns `None` for all of them.
fn described(view: &View, describe: impl Fn(&AgentRecord) -> Option<String>) -> Option<String> {
    let found = each(view).iter();
    let found = found.filter_map(|agent| Some(format!("{} {}", agent.place, describe(agent)?)));
    let found: Vec<String> = found.collect();
    (!found.is_empty()).then(|| format!("{}.", listed(&found)))
}

/// A CPU limit stops an agent for the rest of the limit's period, which looks like latency.
pub(super) fn throttled(view: &View) -> Option<Reason> {
    let message = described(view, |agent| {
        let time = quantity(agent.throttled_ns as f64, Unit::Nanoseconds);
        (agent.throttled_ns > 0).then(|| format!("was stopped by a CPU limit for {time}"))
    })?;
    let message = format!("Agent {message}");
    let remedy =
        "Raise or remove the agent's CPU limit, or give the agent a smaller share of the load.";
    Some(view.invalid(Gate::Throttled, &EVERYTHING, message, remedy))
}

pub(super) fn steal(view: &View) -> Option<Reason> {
    let message = described(view, |agent| {
        let available_ns = agent.window_ns as f64 * f64::from(agent.workers);
        let share = agent.steal_ns as f64 / available_ns;
        (available_ns > 0.0 && share > STEAL_SHARE_MAX).then(|| {
            format!(
                "lost {} of its cores' time to the hypervisor",
                percent(share)
            )
        })
    })?;
    let message = format!("Agent {message}");
    let remedy = "Use a dedicated machine for the agent, or repeat the measurement when its host \
                  is quieter.";
    let spoils = [Aspect::Throughput, Aspect::Latency];
    Some(view.limited(Gate::Steal, &spoils, message, remedy))
}

pub(super) fn late(view: &View) -> Option<Reason> {
    (view.kind() == PhaseKind::Open).then_some(())?;
    let message = described(view, |agent| {
        let lateness_ns = agent.lateness_p99_ns? as f64;
        let time = quantity(lateness_ns, Unit::Nanoseconds);
        (lateness_ns > LATENESS_P99_NS_MAX)
            .then(|| format!("sent 1 % of its requests more than {time} late"))
    })?;
    let message = format!("Agent {message}");
    let remedy =
        "Give the agent more cores or a smaller share of the load, or allow more connections.";
    Some(view.limited(Gate::EngineLate, &[Aspect::Latency], message, remedy))
}

/// Names the agents that dropped arrivals, unless all of them did; the gate for the whole load does
/// not name any.
pub(super) fn dropped(view: &View) -> Option<Reason> {
    each(view).iter().any(|it| it.dropped == 0).then_some(())?;
    let message = described(view, |agent| {
        (agent.dropped > 0).then(|| format!("dropped {}", counted(agent.dropped, "arrival")))
    })?;
    let message = format!("Agent {message}");
    let remedy = "Lower the rate below saturation, or allow more connections.";
    let spoils = [Aspect::Latency, Aspect::Throughput, Aspect::CpuPerRequest];
    Some(view.invalid(Gate::ArrivalsDropped, &spoils, message, remedy))
}

/// io_uring and epoll have different costs and delays, so the figures of agents with different
/// event loops must not be added up.
pub(super) fn backends(view: &View) -> Option<Reason> {
    let first = each(view).first()?;
    let others_differ = each(view).iter().any(|it| it.backend != first.backend);
    others_differ.then_some(())?;
    let used = each(view)
        .iter()
        .map(|agent| format!("{} on {}", agent.backend, agent.place));
    let message = format!(
        "The agents used different event loops, which are not comparable: {}.",
        listed(&used.collect::<Vec<_>>())
    );
    let remedy = "Allow io_uring for all agents (kernel.io_uring_disabled, the seccomp profile of \
                  their pods), or use --backend epoll.";
    Some(view.invalid(Gate::AgentsDiffer, &SPEED, message, remedy))
}

/// An agent whose median differs from that of the others may have a different path to the target,
/// or run on a different kind of machine.
pub(super) fn medians(view: &View) -> Option<Reason> {
    let mut all: Vec<u64> = each(view)
        .iter()
        .filter_map(|it| it.response_p50_ns)
        .collect();
    all.sort_unstable();
    // A single deviating agent hardly affects the median of three or more agents.
    let usual = |agent: &AgentRecord| match all[..] {
        [] | [_] => None,
        [one, other] if agent.response_p50_ns == Some(one) => Some(other),
        [one, _] => Some(one),
        [..] => all.get(all.len() / 2).copied(),
    };
    let message = described(view, |agent| {
        let (own, others) = (agent.response_p50_ns?, usual(agent)?);
        let share = own.abs_diff(others) as f64 / others as f64;
        let time = |ns: u64| quantity(ns as f64, Unit::Nanoseconds);
        (others > 0 && share > AGENT_P50_SHARE_MAX).then(|| {
            let (own, others) = (time(own), time(others));
            format!("has a p50 of {own}, compared with {others} for the others")
        })
    })?;
    let message = format!("Agent {message}");
    let remedy = "Compare the agents' own figures, and use machines of the same type in the same \
                  zone, with the same path to the target.";
    Some(view.limited(Gate::AgentsDiffer, &[Aspect::Latency], message, remedy))
}
