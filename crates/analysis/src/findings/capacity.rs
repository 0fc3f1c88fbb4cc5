//! The highest rates that hold an objective, and how many cores a rate takes.

use gatebench_stats::capacity::Answer;
use gatebench_stats::scalability::{Law, Sizing};
use serde::Serialize;

use super::Validity;

/// What a search for capacity came to.
#[derive(Clone, Debug, Serialize)]
pub struct CapacityFindings {
    /// What a rate must hold, as in `p99<10ms, errors<0.1%`.
    pub objective: String,
    /// The bounds of response times in it, by rising percentile.
    pub bounds: Vec<ObjectiveBound>,
    /// How it was found, in sentences.
    pub method: String,
    /// The gateways, scenario by scenario.
    pub gateways: Vec<GatewayCapacity>,
    /// How many cores the rate takes that was asked for; empty where none was.
    pub sizings: Vec<SizingFindings>,
}

/// A bound of the response time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ObjectiveBound {
    /// In 0 to 100.
    pub percentile: f64,
    /// The sign before the bound, `<` or `<=`.
    pub sign: &'static str,
    /// What it stays below.
    pub below_ns: u64,
}

/// The capacity of a gateway in a scenario.
#[derive(Clone, Debug, Serialize)]
pub struct GatewayCapacity {
    /// Name of the scenario.
    pub scenario: String,
    /// Label of the variant.
    pub variant: String,
    /// Cores that it could use.
    pub cores: f64,
    /// The answer; none where no repeat came to its end.
    pub answer: Option<Answer>,
    /// Whether the answer is the gateway's, or a lower bound.
    pub validity: Validity,
    /// Why it is a lower bound, and what to do about it, in sentences.
    pub limits: Vec<String>,
    /// What was full at the rates that missed the objective by a hair; none where none was told.
    pub bottleneck: Option<Bottleneck>,
    /// Repeats asked for.
    pub repeats_planned: u32,
    /// Requests per second for each core that it could use, at the answer.
    pub per_core_per_second: Option<f64>,
    /// CPU time per request in the longest steps that held, by median.
    pub cpu_ns_per_request: Option<f64>,
    /// Most anonymous memory of any step.
    pub memory_bytes: Option<f64>,
    /// What the same number of connections got without a schedule, by median over the repeats.
    pub saturation_per_second: Option<f64>,
    /// The same without a gateway.
    #[serde(rename = "floor_per_second")]
    pub direct_per_second: Option<f64>,
    /// Where throughput over response time is largest; none where it lies at an end of the curve.
    pub knee: Option<CurveKnee>,
    /// Every step, those of equal rate together, by rising rate.
    pub curve: Vec<CapacityPoint>,
    /// The answer, in a sentence.
    pub text: String,
}

/// The knee of a curve.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CurveKnee {
    /// Answers per second there.
    pub rate_per_second: f64,
    /// Mean response time there.
    pub mean_ns: f64,
}

/// What is full where the objective is missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// The gateway's cores.
    Gateway,
    /// The engine's.
    Engine,
    /// The upstream's.
    Upstream,
    /// Those that engine and upstream share.
    EngineAndUpstream,
    /// Nobody's: requests waited for something other than a core.
    Nothing,
}

/// Steps of one rate, within the resolution of the search.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CapacityPoint {
    /// Arrivals per second that were offered.
    pub offered_per_second: f64,
    /// Answers per second.
    pub achieved_per_second: f64,
    /// Median response time.
    pub p50_ns: Option<f64>,
    /// 99th percentile; none where fewer than ten samples lie beyond.
    pub p99_ns: Option<f64>,
    /// 99.9th percentile; none where fewer than ten samples lie beyond.
    pub p999_ns: Option<f64>,
    /// Mean response time.
    pub mean_ns: Option<f64>,
    /// Share of the requests that failed.
    pub error_share: f64,
    /// Cores that the gateway kept busy.
    pub gateway_cores: Option<f64>,
    /// Cores that the engine kept busy.
    pub engine_cores: Option<f64>,
    /// Cores that the upstream kept busy.
    pub upstream_cores: Option<f64>,
    /// Seconds that were measured.
    pub seconds: f64,
    /// Steps that held the objective.
    pub held: u32,
    /// Steps that missed it, those among them that were disturbed.
    pub missed: u32,
}

/// How many cores a rate takes.
#[derive(Clone, Debug, Serialize)]
pub struct SizingFindings {
    /// Name of the scenario.
    pub scenario: String,
    /// The gateway.
    pub gateway: String,
    /// The rate that was asked for.
    pub rate_per_second: f64,
    /// The numbers of cores that were measured.
    pub cores_measured: Vec<f64>,
    /// The law that was fitted; none without an answer.
    pub law: Option<Law>,
    /// The answer; none where no number of cores manages it, or nothing was measured.
    pub sizing: Option<Sizing>,
    /// Whether it is what that many cores take, or what they take at the most.
    pub validity: Validity,
    /// The answer, in a sentence.
    pub text: String,
}
