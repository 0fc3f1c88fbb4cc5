//! The upstream's pathologies and the load for each.

use std::fmt;

use gatebench_upstream::fault_server::{self, Arrivals, Truth, truth};

/// One pathology under one load.
pub struct Case {
    pub name: &'static str,
    /// Returns the path and query for a load of this length in seconds.
    target: fn(u64) -> String,
    rate_per_second: f64,
    /// True if requests wait for a connection because the upstream stalls. In that case, the tail
    /// of the lateness says nothing about the machine.
    pub stands_still: bool,
}

/// The load that a tool must produce.
#[derive(Clone, Debug)]
pub struct Job {
    pub target: String,
    pub rate_per_second: f64,
    pub seconds: u64,
    /// The length of the warm-up, which only gatebench has.
    pub warm_up_seconds: u64,
    /// The number of gatebench's connections; `None` for its default.
    pub connections: Option<u32>,
}

/// The default warm-up of `gatebench load`, in seconds.
pub const WARM_UP_SECONDS: u64 = 1;
const SECONDS: u64 = 14;
const QUICK_SECONDS: u64 = 3;

/// The cases, chosen so that p50, p90 and p99 do not lie at the edge of a step of the response
/// times, where a single request would decide their values.
pub const CASES: [Case; 7] = [
    Case {
        name: "stall",
        target: |seconds| {
            let stall_ms = seconds * 1_000 / 14;
            format!("/stall?every={seconds}s&for={stall_ms}ms&service=5ms")
        },
        rate_per_second: 1_000.0,
        stands_still: true,
    },
    Case {
        name: "bimodal",
        target: |_| "/bimodal?fast=1ms&slow=20ms&slow_every=8".into(),
        rate_per_second: 1_000.0,
        stands_still: false,
    },
    Case {
        name: "slow-start",
        target: |seconds| format!("/slow-start?for={}ms&from=50ms&to=2ms", seconds * 400),
        rate_per_second: 1_000.0,
        stands_still: false,
    },
    Case {
        name: "jitter",
        target: |_| "/jitter?distribution=exponential&mean=5ms&seed=1".into(),
        rate_per_second: 1_000.0,
        stands_still: false,
    },
    Case {
        name: "heavy-tail",
        target: |_| "/jitter?distribution=pareto&mean=5ms&seed=1".into(),
        rate_per_second: 1_000.0,
        stands_still: false,
    },
    Case {
        name: "reset",
        target: |_| "/reset?every=100&service=2ms&bytes=1024".into(),
        rate_per_second: 1_000.0,
        stands_still: false,
    },
    Case {
        name: "trickle",
        target: |_| "/trickle?bytes=2000&piece=200&every=2ms&service=1ms".into(),
        rate_per_second: 200.0,
        stands_still: false,
    },
];

impl Case {
    pub fn job(&self, quick: bool) -> Job {
        let seconds = if quick { QUICK_SECONDS } else { SECONDS };
        Job {
            target: (self.target)(seconds),
            rate_per_second: self.rate_per_second,
            seconds,
            warm_up_seconds: WARM_UP_SECONDS,
            connections: None,
        }
    }
}

impl Job {
    pub fn arrivals(&self) -> Arrivals {
        Arrivals::of(self.rate_per_second, self.seconds as f64)
    }

    pub fn warm_up(&self) -> u64 {
        (self.rate_per_second * self.warm_up_seconds as f64) as u64
    }

    /// Parses the target into the pathology that the upstream serves for it.
    pub fn illness(&self) -> Result<fault_server::Case, String> {
        let (path, query) = self.target.split_once('?').unwrap_or((&self.target, ""));
        fault_server::Case::parse(path, query).map_err(|error| error.to_string())
    }

    pub fn truth(&self) -> Result<Truth, String> {
        Ok(truth(&self.illness()?, &self.arrivals()))
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            target,
            rate_per_second,
            seconds,
            ..
        } = self;
        write!(f, "{target}, {rate_per_second} requests/s, {seconds} s")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn no_quantile_depends_on_a_single_request() {
        for case in &CASES {
            for quick in [false, true] {
                let truth = case.job(quick).truth().unwrap();
                for q in [0.5, 0.9, 0.99] {
                    let at = truth.quantile_ns(q) as f64;
                    let steps = [0.0005, 0.02_f64.min((1.0 - q) / 2.0)];
                    for (step, width_max) in steps.into_iter().zip([0.1, 0.7]) {
                        let (below, above) =
                            (truth.quantile_ns(q - step), truth.quantile_ns(q + step));
                        let width = (above - below) as f64 / at;
                        assert!(
                            width < width_max,
                            "{} at {q}: {below} to {above} ns",
                            case.name
                        );
                    }
                }
            }
        }
    }
}
