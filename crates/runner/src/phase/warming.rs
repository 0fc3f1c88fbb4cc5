//! The warm-up of a load. If its length is not fixed, it lasts until the CPU time per request has
//! settled, within bounds.
//!
//! The necessary length is not known in advance: a compiler starts, a pool fills, a table grows.
//! The CPU time per request is therefore observed in bins of a tenth of a second ([`settled`]).

use gatebench_model::{HumanDuration, Phase, Shape};
use gatebench_stats::settled::{self, Total};
use gatebench_store::WarmUpRecord;

use super::bins::{BIN_NS, Glance};
use crate::context::TrialContext;
use crate::lockstep::Member;

/// The maximum warm-up of a gateway whose folder sets no maximum. A load may require a longer
/// warm-up.
pub(crate) const WARM_UP_MAX: HumanDuration = HumanDuration::from_millis(2_000);

/// Time from the decision to the start of the measurement, in nanoseconds. Workers read the
/// decision in their next round.
const AHEAD_NS: u64 = 10_000_000;

/// Time from the decision to the start if several loads start together, in nanoseconds. It is
/// longer than [`AHEAD_NS`], because each load must first read the agreed start.
const AGREED_AHEAD_NS: u64 = 60_000_000;

/// The maximum wait for other loads after a load's own warm-up.
const WAIT_MAX_NS: u64 = 120_000_000_000;

pub(crate) struct Warming<'a> {
    min_ns: u64,
    max_ns: u64,
    /// The lockstep, if several loads start their measurements together.
    lockstep: Option<&'a Member<'a>>,
    ticket: Option<u64>,
    settled: bool,
    glances: Vec<Glance>,
}

impl<'a> Warming<'a> {
    pub(crate) fn of(context: &'a TrialContext<'_>, phase: &Phase) -> Self {
        let min_ns = phase.warm_up.as_nanos();
        let folder = context.gateway.map(|gateway| &gateway.folder.spec);
        let own = folder.and_then(|spec| spec.warmup.as_ref());
        let max = own.map_or(WARM_UP_MAX, |warmup| warmup.max);
        let adapts = min_ns > 0 && context.gateway.is_some() && is_adaptive(context, phase);
        Self {
            min_ns,
            max_ns: min_ns.max(if adapts { max.as_nanos() } else { 0 }),
            lockstep: context.lockstep.as_ref().filter(|_| phase.side_by_side),
            ticket: None,
            settled: false,
            glances: Vec::new(),
        }
    }

    /// The maximum length of the warm-up, including the wait for other loads.
    pub(crate) fn at_most_ns(&self) -> u64 {
        match self.lockstep {
            Some(_) if self.is_adaptive() => self.max_ns + WAIT_MAX_NS,
            _ => self.max_ns,
        }
    }

    /// The length of the warm-up, if it is known in advance.
    pub(crate) fn fixed_ns(&self) -> Option<u64> {
        (!self.is_adaptive()).then_some(self.min_ns)
    }

    /// Reports whether the end of the warm-up is decided only during the warm-up.
    pub(crate) fn is_adaptive(&self) -> bool {
        self.max_ns > self.min_ns
    }

    /// The time of the next glance, counted from the start of the load.
    pub(crate) fn due_ns(&self) -> u64 {
        self.glances.len() as u64 * BIN_NS
    }

    /// Adds a glance that was taken `since_start_ns` after the start of the load. Returns the start
    /// of the measurement once it is decided.
    pub(crate) fn look(&mut self, glance: Glance, since_start_ns: u64) -> Option<u64> {
        self.glances.push(glance);
        // The decision must precede the end of the warm-up in the load generator.
        let is_over = since_start_ns + BIN_NS >= self.max_ns;
        if self.ticket.is_none() {
            let is_long_enough = since_start_ns + AHEAD_NS >= self.min_ns;
            self.settled = is_long_enough && has_settled(&self.glances);
            if !self.settled && !is_over {
                return None;
            }
        }
        let Some(lockstep) = self.lockstep else {
            return Some(glance.at_ns + AHEAD_NS);
        };
        let ticket = *self
            .ticket
            .get_or_insert_with(|| lockstep.is_ready(glance.at_ns + AGREED_AHEAD_NS));
        lockstep.begin_ns(ticket, glance.at_ns + AGREED_AHEAD_NS)
    }

    /// The outcome; `None` for a warm-up of fixed length.
    pub(crate) fn record(&self) -> Option<WarmUpRecord> {
        self.is_adaptive().then_some(WarmUpRecord {
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            settled: self.settled,
        })
    }
}

/// Reports whether the warm-up of a gateway lasts until the CPU time per request settles. The
/// warm-up has a fixed length for loads with think times or a fixed number of requests, and for
/// loads that follow those of the profile, such as the steps of a search, because the gateway is
/// already warm. It also has a fixed length for loads that agents send, in a soak, and in a run
/// whose requests carry no nonce.
fn is_adaptive(context: &TrialContext<'_>, phase: &Phase) -> bool {
    let is_step = !context.phases().iter().any(|it| it.name == phase.name);
    let paces_itself = match &phase.shape {
        Shape::Closed(closed) => closed.think.is_some() || closed.requests_max.is_some(),
        Shape::Open(open) => open.requests_max.is_some(),
    };
    // Agents get the length of the warm-up before the start.
    let is_local = context.agents.is_none();
    is_local
        && !is_step
        && !paces_itself
        && !context.plan.study.is_in_segments()
        && context.plan.is_traced()
}

/// Reports whether the CPU time per request has settled; false if the CPU time is unknown.
fn has_settled(glances: &[Glance]) -> bool {
    let total = |glance: &Glance| {
        Some(Total {
            responses: glance.responses,
            // The upstream's CPU time decides if the gateway's cannot be read.
            cpu_ns: glance.gateway_cpu_ns.or(glance.upstream_cpu_ns)?,
        })
    };
    let totals: Option<Vec<Total>> = glances.iter().map(total).collect();
    totals.is_some_and(|totals| settled::has_settled(&totals, BIN_NS as f64 / 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand requests in each of thirty bins. The gateway's cost halves in each bin; the
    /// upstream's is constant.
    fn glances(gateway: bool, upstream: bool) -> Vec<Glance> {
        let mut gateway_cpu_ns = 0_u64;
        let glance = |at: u64| {
            gateway_cpu_ns += 8_000_000_000_u64 >> at;
            Glance {
                at_ns: at * BIN_NS,
                responses: at * 1_000,
                gateway_cpu_ns: gateway.then_some(gateway_cpu_ns),
                upstream_cpu_ns: upstream.then_some(at * 5_000_000),
            }
        };
        (0..=30).map(glance).collect()
    }

    #[test]
    fn the_upstreams_cpu_time_decides_if_the_gateways_is_unknown() {
        assert!(!has_settled(&glances(true, true)));
        assert!(has_settled(&glances(false, true)));
        assert!(!has_settled(&glances(false, false)));
    }
}
