//! The warm-up of a load: until the CPU time per request has settled, within bounds.
//!
//! The duration of a warm-up is not known beforehand: a compiler starts, a pool fills, a table
//! grows. So the warm-up is observed in bins of a tenth of a second, and ends when its last third
//! costs the same as the third before. Thirds, because a falling cost falls ever more slowly.
//! Kalibera and Jones (*Rigorous Benchmarking in Reasonable Time*, ISMM 2013) show why no fixed
//! time is enough.

use gatebench_model::{Phase, Shape, Span};
use gatebench_store::WarmUpRecord;

use crate::bins::{BIN_NS, Glance};
use crate::company::Member;
use crate::trial::Scene;

/// The longest warm-up of a gateway whose folder sets none.
pub(crate) const WARM_UP_MAX: Span = Span::from_millis(2_000);

/// The fewest bins to judge a warm-up by: two for each third.
const BINS_MIN: usize = 6;

/// The largest difference of two thirds: the drift allowed for the throughput of a steady phase.
const CHANGE_MAX: f64 = 0.05;

/// The fewest responses of a third that give a cost per request.
const RESPONSES_MIN: u64 = 30;

/// Time from the decision to the start of the measurement. Workers see it in their next round.
const AHEAD_NS: u64 = 10_000_000;

/// The same for several loads, each of which must see the agreement.
const AGREED_AHEAD_NS: u64 = 60_000_000;

/// The longest wait for other loads after a load's own warm-up.
const WAIT_MAX_NS: u64 = 120_000_000_000;

/// The warm-up of one load.
pub(crate) struct Warming<'a> {
    min_ns: u64,
    max_ns: u64,
    /// The loads that begin to measure at the same time.
    company: Option<&'a Member<'a>>,
    ticket: Option<u64>,
    settled: bool,
    glances: Vec<Glance>,
}

impl<'a> Warming<'a> {
    pub(crate) fn of(scene: &'a Scene<'_>, phase: &Phase) -> Self {
        let min_ns = phase.warm_up.as_nanos();
        let folder = scene.gateway.map(|gateway| &gateway.folder.spec);
        let own = folder.and_then(|spec| spec.warmup.as_ref());
        let max = own.map_or(WARM_UP_MAX, |warmup| warmup.max);
        let adapts = min_ns > 0 && scene.gateway.is_some() && is_adaptive(scene, phase);
        Self {
            min_ns,
            max_ns: if adapts {
                max.as_nanos().max(min_ns)
            } else {
                min_ns
            },
            company: scene.company.as_ref().filter(|_| phase.side_by_side),
            ticket: None,
            settled: false,
            glances: Vec::new(),
        }
    }

    /// The length of the warm-up, unless it is ended earlier.
    pub(crate) fn at_most_ns(&self) -> u64 {
        match self.company {
            Some(_) if self.is_adaptive() => self.max_ns + WAIT_MAX_NS,
            _ => self.max_ns,
        }
    }

    /// Its length, if that is known beforehand.
    pub(crate) fn fixed_ns(&self) -> Option<u64> {
        (!self.is_adaptive()).then_some(self.min_ns)
    }

    /// Reports whether its end is decided while it lasts.
    pub(crate) fn is_adaptive(&self) -> bool {
        self.max_ns > self.min_ns
    }

    /// The time of the next glance, from the start of the load.
    pub(crate) fn due_ns(&self) -> u64 {
        self.glances.len() as u64 * BIN_NS
    }

    /// Takes a glance, this long after the start. Returns the time at which the measurement begins,
    /// once that is decided.
    pub(crate) fn look(&mut self, glance: Glance, since_start_ns: u64) -> Option<u64> {
        self.glances.push(glance);
        // Decide before the engine ends the warm-up by itself.
        let is_over = since_start_ns + BIN_NS >= self.max_ns;
        if self.ticket.is_none() {
            let is_long_enough = since_start_ns + AHEAD_NS >= self.min_ns;
            self.settled = is_long_enough && has_settled(&self.glances);
            if !self.settled && !is_over {
                return None;
            }
        }
        let Some(company) = self.company else {
            return Some(glance.at_ns + AHEAD_NS);
        };
        let ticket = *self
            .ticket
            .get_or_insert_with(|| company.is_ready(glance.at_ns + AGREED_AHEAD_NS));
        company.begin_ns(ticket, glance.at_ns + AGREED_AHEAD_NS)
    }

    /// The outcome; none for a warm-up of fixed length.
    pub(crate) fn record(&self) -> Option<WarmUpRecord> {
        self.is_adaptive().then_some(WarmUpRecord {
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            settled: self.settled,
        })
    }
}

/// Reports whether the cost of the load settles. Users who think, and a fixed number of requests,
/// are over before it does; the steps of a search follow a load that has warmed up.
fn is_adaptive(scene: &Scene<'_>, phase: &Phase) -> bool {
    let is_step = !scene.phases().iter().any(|it| it.name == phase.name);
    let paces_itself = match &phase.shape {
        Shape::Closed(closed) => closed.think.is_some() || closed.requests_max.is_some(),
        Shape::Open(open) => open.requests_max.is_some(),
    };
    !is_step && !paces_itself && scene.plan.soak.is_none() && scene.plan.is_traced()
}

/// Reports whether the last third costs the same as the third before it.
fn has_settled(glances: &[Glance]) -> bool {
    let bins = glances.len().saturating_sub(1);
    let third = bins / 3;
    if bins < BINS_MIN {
        return false;
    }
    let cost = |from: usize| {
        let (from, to) = (&glances[from], &glances[from + third]);
        let responses = to.responses - from.responses;
        let cpu_ns = to.cpu_ns()?.saturating_sub(from.cpu_ns()?);
        (responses >= RESPONSES_MIN && cpu_ns > 0).then(|| cpu_ns as f64 / responses as f64)
    };
    let last = cost(bins - third);
    let before = cost(bins - 2 * third);
    last.zip(before)
        .is_some_and(|(last, before)| (last / before).ln().abs() <= CHANGE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand requests in each bin, with this cost at each time in seconds.
    fn glances(bins: usize, cost_ns: impl Fn(f64) -> f64) -> Vec<Glance> {
        let mut cpu_ns = 0.0;
        let glance = |at: usize| {
            let glance = Glance {
                at_ns: at as u64 * BIN_NS,
                responses: at as u64 * 1_000,
                gateway_cpu_ns: Some(cpu_ns as u64),
                upstream_cpu_ns: None,
            };
            cpu_ns += 1_000.0 * cost_ns(at as f64 / 10.0);
            glance
        };
        (0..=bins).map(glance).collect()
    }

    /// The number of bins after which the warm-up ends.
    fn ends_after(cost_ns: impl Fn(f64) -> f64 + Copy) -> Option<usize> {
        (1..1_000).find(|bins| has_settled(&glances(*bins, cost_ns)))
    }

    #[test]
    fn a_steady_gateway_settles_as_soon_as_it_may() {
        assert_eq!(ends_after(|_| 8_000.0), Some(BINS_MIN));
    }

    #[test]
    fn a_compiler_is_waited_for() {
        // Three times as costly at first, and a third of the excess left after two seconds.
        let warming = |at: f64| 8_000.0 * (1.0 + 2.0 * (-at / 2.0).exp());
        let ended = ends_after(warming).unwrap_or(0);
        assert!((100..=160).contains(&ended), "{ended}");
        // Little of the drift is left for the next three seconds.
        let left = warming(ended as f64 / 10.0) / warming(ended as f64 / 10.0 + 3.0);
        assert!(left < 1.01, "{left}");
    }

    #[test]
    fn without_cpu_time_or_responses_nothing_settles() {
        let mut blind = glances(30, |_| 8_000.0);
        for glance in &mut blind {
            glance.gateway_cpu_ns = None;
        }
        assert!(!has_settled(&blind));
        let mut slow = glances(30, |_| 8_000.0);
        for glance in &mut slow {
            glance.responses /= 1_000;
        }
        assert!(!has_settled(&slow));
    }
}
