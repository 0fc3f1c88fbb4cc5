//! The highest rates that meet an objective, and the number of cores that a rate requires.

use gatebench_report::Validity;
use gatebench_stats::capacity::Outcome;
use gatebench_stats::scalability::{Law, Sizing};
use serde::Serialize;

/// The result of a search for capacity.
#[derive(Clone, Debug, Serialize)]
pub struct CapacityFindings {
    /// The objective that a rate must meet, such as `p99<10ms, errors<0.1%`.
    pub objective: String,
    /// The objective's bounds on response times, in ascending order of percentile.
    pub bounds: Vec<ObjectiveBound>,
    /// The method of the search, as sentences.
    pub method: String,
    /// The gateways, scenario by scenario.
    pub gateways: Vec<GatewayCapacity>,
    /// The cores for the rate that the user requested; empty if no rate was requested.
    pub sizings: Vec<SizingFindings>,
}

/// A bound on the response time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ObjectiveBound {
    /// The percentile, from 0 to 100.
    pub percentile: f64,
    /// The sign before the bound, `<` or `<=`.
    pub sign: &'static str,
    pub below_ns: u64,
}

/// The capacity of a gateway in a scenario.
#[derive(Clone, Debug, Serialize)]
pub struct GatewayCapacity {
    pub scenario: String,
    /// Label of the variant.
    pub variant: String,
    /// The number of cores that the gateway could use; 1 if no repeat was completed.
    pub cores: f64,
    /// The result; `None` if the completed repeats have no saturation or no step.
    pub outcome: Option<Outcome>,
    /// Limited if [`Self::limits`] has entries, and invalid if there is no result.
    pub validity: Validity,
    /// Sentences that state why something other than the gateway may limit the result, and the
    /// remedies. If there are any, the result is only a lower bound.
    pub limits: Vec<String>,
    /// The most frequent bottleneck in those steps near the result that missed the objective or, if
    /// none of them did, in the other steps of the search that missed it; `None` if there are no
    /// such steps.
    pub bottleneck: Option<Bottleneck>,
    pub repeats_planned: u32,
    /// The sustained rate or its lower bound, divided by the number of cores that the gateway could
    /// use.
    pub per_core_per_second: Option<f64>,
    /// CPU time per request in the last step that was near the result and met the objective: the
    /// median over the repeats.
    pub cpu_ns_per_request: Option<f64>,
    /// The largest anonymous memory of the gateway in any load.
    pub memory_bytes: Option<f64>,
    /// The throughput of a closed load on the same number of connections: the median over the
    /// repeats.
    pub saturation_per_second: Option<f64>,
    /// The throughput of the same closed load without a gateway: the median over the trials of the
    /// direct variant.
    pub direct_per_second: Option<f64>,
    /// The knee; `None` if it would be at an end of the curve, because the true knee may then lie
    /// beyond that end.
    pub knee: Option<CurveKnee>,
    /// The steps that count, in ascending order of rate; steps of about the same rate are merged.
    pub curve: Vec<CapacityPoint>,
    pub text: String,
}

/// The point of a curve at which throughput divided by mean response time is largest.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CurveKnee {
    pub rate_per_second: f64,
    pub mean_ns: f64,
}

/// The component whose cores are at their limit in the steps that miss the objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    Gateway,
    Engine,
    Upstream,
    /// The cores that the load generator and the upstream share.
    EngineAndUpstream,
    /// No cores: requests waited for something other than a core.
    Nothing,
}

/// Steps whose rates lie in one bin, as wide as the resolution of the search.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CapacityPoint {
    pub offered_per_second: f64,
    /// Responses per second.
    pub achieved_per_second: f64,
    /// Median response time; `None` if it falls on a request without a response, or if fewer than
    /// ten requests lie beyond it. The same conditions apply to the other percentiles.
    pub p50_ns: Option<f64>,
    pub p99_ns: Option<f64>,
    pub p999_ns: Option<f64>,
    pub mean_ns: Option<f64>,
    /// Share of the intended requests without a correct response.
    pub error_share: f64,
    /// Cores that the gateway kept busy, on average; `None` if its CPU time was not sampled. The
    /// same applies to the other two components.
    pub gateway_cores: Option<f64>,
    pub engine_cores: Option<f64>,
    pub upstream_cores: Option<f64>,
    /// The total length of the merged steps.
    pub seconds: f64,
    /// Steps that met the objective.
    pub held: u32,
    /// Steps that missed the objective, whether they were disturbed or not.
    pub missed: u32,
}

/// The number of cores that a rate requires.
#[derive(Clone, Debug, Serialize)]
pub struct SizingFindings {
    pub scenario: String,
    pub gateway: String,
    /// The rate that the user requested.
    pub rate_per_second: f64,
    /// The numbers of cores with which a capacity was found, in ascending order.
    pub cores_measured: Vec<f64>,
    /// The numbers of cores with which no capacity was found, in ascending order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cores_without_capacity: Vec<f64>,
    /// The smallest measured number of cores that sustains the rate; `None` if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores_sustaining: Option<f64>,
    /// The fitted law; `None` if no capacity was found.
    pub law: Option<Law>,
    /// The result; `None` if no number of cores suffices, or if no capacity was found.
    pub sizing: Option<Sizing>,
    /// Invalid if there is no result, valid if the capacity with every measured number of cores is
    /// valid and not merely a lower bound, and limited otherwise.
    pub validity: Validity,
    pub text: String,
}
