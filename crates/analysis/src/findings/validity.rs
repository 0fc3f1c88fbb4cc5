//! What may be used, what may not, and why.

use serde::Serialize;

/// May it be used?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Validity {
    /// Yes.
    Valid,
    /// With the limit that is named.
    Limited,
    /// No.
    Invalid,
}

/// Why something is limited or invalid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reason {
    /// The gate that tripped.
    pub gate: Gate,
    /// How bad it is.
    pub validity: Validity,
    /// What it spoils; the rest still stands.
    pub spoils: Vec<Aspect>,
    /// The phase; none for the whole trial.
    pub phase: Option<String>,
    /// What was seen, as a sentence with its numbers and full stop.
    pub message: String,
    /// What to do, as a sentence with its full stop.
    pub remedy: String,
}

/// What a reason spoils.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// Throughput and capacity.
    Throughput,
    /// All latencies.
    Latency,
    /// Latencies beyond the 99th percentile; the others remain valid.
    LatencyTail,
    /// CPU time per request.
    CpuPerRequest,
    /// Memory.
    Memory,
}

/// The validity gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Engine CPU near its share.
    EngineSaturated,
    /// The engine waited for its core.
    EngineWaited,
    /// Requests left late.
    EngineLate,
    /// Requests waited for a free connection while the gateway held all of them.
    ConnectionsHeld,
    /// Throughput near what the upstream alone delivers.
    #[serde(rename = "upstream_near_floor")]
    UpstreamNearDirect,
    /// Arrivals were dropped.
    ArrivalsDropped,
    /// Fewer requests were sent than intended.
    RateNotAchieved,
    /// Answers failed their checks.
    ChecksFailed,
    /// Requests got no answer.
    RequestErrors,
    /// Nothing was sent, or nothing was answered.
    NoAnswers,
    /// Parity held before the load and not after it.
    ParityLost,
    /// A process of the gateway ended.
    GatewayRestarted,
    /// A CPU limit stopped the processes.
    Throttled,
    /// The hypervisor took time.
    Steal,
    /// Another process used the pinned cores.
    ForeignProcess,
    /// Engine or upstream ran on another thread of the gateway's physical core.
    SharedCore,
    /// The clock source changed during the trial.
    ClockSourceChanged,
    /// The clock source is slow to read.
    ClockSourceSlow,
    /// The gateway's cores changed their frequency.
    FrequencyChanged,
    /// The series has a trend.
    NotSteady,
    /// The phase was too short for a test of steady state.
    SteadinessUntested,
    /// A closed load did not saturate the gateway.
    GatewayNotSaturated,
    /// Percentiles, means and rates contradict each other.
    Inconsistent,
    /// What `gatebench audit` calls impossible in others' tables stands in this one.
    CannotBeTrue,
    /// The upstream saw requests more than once.
    Retries,
    /// The gateway does not keep its connections to the upstream.
    UpstreamConnections,
    /// Clients' connections are closed from the other side.
    ClientConnections,
    /// The upstream is asked over HTTP/1.0.
    UpstreamVersion,
    /// The gateway writes a log that it was not asked for, or not the one that it was.
    AccessLog,
    /// Not all of the gateway's workers worked.
    Workers,
    /// Answers did not come from the upstream.
    NeverReachedUpstream,
    /// Times of the upstream were stripped.
    HeaderStripped,
    /// Values beyond the histogram's range.
    Clamped,
    /// The trial failed or was interrupted.
    NotCompleted,
}

/// An unusable block of a gateway, or a phase of it, that the gateway itself spoiled.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpoiledBlock {
    /// Block, from 1.
    pub block: u32,
    /// Number of the trial.
    pub trial: u32,
    /// The phase; none for the whole trial.
    pub phase: Option<String>,
    /// The gate that tripped.
    pub gate: Gate,
    /// The aspects of the block without a value.
    pub spoils: Vec<Aspect>,
    /// True if the gateway certainly was the cause; false if a request was lost while the machine
    /// or the engine was disturbed as well.
    pub is_certain: bool,
}

/// The blocks of a comparison that one of its sides spoiled.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SpoiledSide {
    /// Blocks that it spoiled or may have spoiled itself.
    pub blocks: Vec<u32>,
    /// Of these, the ones that it certainly spoiled and in which the other side has a value.
    pub alone: Vec<u32>,
    /// Of these, the ones in which machine or engine were disturbed as well.
    pub uncertain: Vec<u32>,
    /// The gates that tripped.
    pub gates: Vec<Gate>,
}

/// Blocks of a comparison that count against the side that spoiled them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SpoiledBlocks {
    /// By the side that is judged.
    pub candidate: SpoiledSide,
    /// By the side that it is compared with.
    pub baseline: SpoiledSide,
}

impl SpoiledBlocks {
    /// True if no block was spoiled.
    pub fn is_empty(&self) -> bool {
        self.candidate.blocks.is_empty() && self.baseline.blocks.is_empty()
    }
}
