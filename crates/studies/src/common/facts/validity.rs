//! The validity gates, the reasons that they give, and the blocks that gateways spoil.

use gatebench_report::Validity;
use serde::Serialize;

/// A reason why figures are limited or invalid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reason {
    pub gate: Gate,
    pub validity: Validity,
    /// The aspects that the reason affects; [`Aspect::Latency`] includes the tail.
    pub spoils: Vec<Aspect>,
    /// The phase that the reason concerns; `None` for the whole trial.
    pub phase: Option<String>,
    /// The observation, in complete sentences.
    pub message: String,
    /// The remedy, in complete sentences.
    pub remedy: String,
}

impl Reason {
    /// Reports whether the reason is a fault of a gateway or of the upstream. Any other reason only
    /// makes the trial unreliable.
    pub fn is_failure(&self) -> bool {
        self.validity == Validity::Invalid
            && matches!(
                self.gate,
                Gate::ChecksFailed
                    | Gate::RequestErrors
                    | Gate::ParityLost
                    | Gate::GatewayRestarted
            )
    }
}

/// The kinds of figures that a reason can make unusable or doubtful.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// Throughput and capacity.
    Throughput,
    /// All latencies.
    Latency,
    /// Latencies beyond the 99th percentile.
    LatencyTail,
    CpuPerRequest,
    Memory,
}

/// A validity gate, named after the finding that trips it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// The load generator was close to the limit of its cores.
    EngineSaturated,
    /// The load generator waited for its core.
    EngineWaited,
    EngineLate,
    /// Requests waited for a free connection because the gateway held all connections.
    ConnectionsHeld,
    /// Throughput was close to that without a gateway.
    UpstreamNearDirect,
    ArrivalsDropped,
    /// Fewer requests than intended were sent, or completed in time.
    RateNotAchieved,
    ChecksFailed,
    /// Requests got no complete response.
    RequestErrors,
    /// Nothing was sent, or there was no response.
    NoResponses,
    /// Parity did not hold before or after the load, or was not tested.
    ParityLost,
    /// A process of the gateway ended.
    GatewayRestarted,
    /// A CPU limit throttled the processes.
    Throttled,
    /// The hypervisor took CPU time.
    Steal,
    /// Another process used the pinned cores.
    ForeignProcess,
    /// The load generator or the upstream ran on a hardware thread of one of the gateway's physical
    /// cores.
    SharedCore,
    ClockSourceChanged,
    ClockSourceSlow,
    /// The frequency of the gateway's cores changed during the phase, or differed between the
    /// gateways of a block.
    FrequencyChanged,
    /// A figure drifted during the phase.
    NotSteady,
    /// Steady state was not tested: the phase was too short or had too few responses, or an
    /// external load generator sent the load.
    SteadinessUntested,
    /// A closed load did not saturate the gateway.
    GatewayNotSaturated,
    /// Figures that must agree contradict each other.
    Inconsistent,
    /// The figures are impossible according to the rules of `gatebench audit`.
    CannotBeTrue,
    /// The upstream received requests more than once.
    Retries,
    /// The gateway does not keep its connections to the upstream open.
    UpstreamConnections,
    /// The gateway (or the upstream, if there is no gateway) closes clients' connections.
    ClientConnections,
    /// The gateway sends HTTP/1.0 to the upstream.
    UpstreamVersion,
    /// The gateway writes a log that the scenario does not require, or omits lines of a required
    /// log.
    AccessLog,
    /// Some of the gateway's workers did almost no work.
    Workers,
    /// Responses did not come from the upstream.
    NeverReachedUpstream,
    /// The upstream's times were removed from responses.
    HeaderStripped,
    /// Values exceeded the histogram's range.
    Clamped,
    /// The event loops or the median response times of the agents that sent the load differ.
    AgentsDiffer,
    /// The trial failed or was interrupted.
    NotCompleted,
}

/// The cause of an unusable block.
#[derive(Clone, Copy)]
pub(crate) enum Blame {
    /// The gateway, because it sent wrong responses, responded without the upstream, lost parity,
    /// ended, or lacked a required access log. A busy machine does not cause any of these.
    Gateway,
    /// The gateway, unless something else delayed requests at the same time.
    GatewayAlone,
    /// Anything else, such as the machine, the load generator, the upstream, or an interruption of
    /// the run. Such a block does not count against the gateway. If a trial was not completed, its
    /// outcome names the culprit instead.
    Other,
}

impl Gate {
    /// The short name of the gate, and the cause of the blocks that it makes unusable.
    fn facts(self) -> (&'static str, Blame) {
        use Blame::{Gateway, GatewayAlone, Other};
        match self {
            Self::EngineSaturated => ("load generator at its limit", Other),
            Self::EngineWaited => ("load generator waited for its core", Other),
            Self::EngineLate => ("requests sent late", Other),
            Self::ConnectionsHeld => ("requests waited for connections", GatewayAlone),
            Self::UpstreamNearDirect => ("near direct throughput", Other),
            Self::ArrivalsDropped => ("arrivals dropped", GatewayAlone),
            Self::RateNotAchieved => ("rate not reached", GatewayAlone),
            Self::ChecksFailed => ("checks failed", Gateway),
            Self::RequestErrors => ("requests without a response", GatewayAlone),
            Self::NoResponses => ("no response", GatewayAlone),
            Self::ParityLost => ("parity lost", Gateway),
            Self::GatewayRestarted => ("gateway process ended", Gateway),
            Self::Throttled => ("CPU limit", Other),
            Self::Steal => ("time stolen", Other),
            Self::ForeignProcess => ("other processes on the cores", Other),
            Self::SharedCore => (
                "a physical core shared with the load generator or the upstream",
                Other,
            ),
            Self::ClockSourceChanged => ("the clock source changed", Other),
            Self::ClockSourceSlow => ("a slow clock source", Other),
            Self::FrequencyChanged => ("the frequency of the cores changed", Other),
            Self::NotSteady => ("not steady", Other),
            Self::SteadinessUntested => ("steady state not tested", Other),
            Self::GatewayNotSaturated => ("gateway not saturated", Other),
            Self::Inconsistent => ("numbers disagree", Other),
            Self::CannotBeTrue => ("impossible figures", Other),
            Self::Retries => ("retries", Other),
            Self::UpstreamConnections => ("connections to the upstream not kept open", Other),
            Self::ClientConnections => ("clients' connections not kept open", Other),
            Self::UpstreamVersion => ("HTTP/1.0 to the upstream", Other),
            Self::AccessLog => ("an access log", Gateway),
            Self::Workers => ("idle workers", Other),
            Self::NeverReachedUpstream => ("responses not from the upstream", Gateway),
            Self::HeaderStripped => ("the upstream's times removed", Other),
            Self::Clamped => ("values beyond the histogram", Other),
            Self::AgentsDiffer => ("agents differ", Other),
            Self::NotCompleted => ("not completed", Other),
        }
    }

    pub(crate) fn in_short(self) -> &'static str {
        self.facts().0
    }

    /// Reports whether the gate finds a disturbance of the machine. Such disturbances differ from
    /// block to block, so they widen the intervals of verdicts.
    pub(crate) fn is_noise(self) -> bool {
        matches!(
            self,
            Self::Steal | Self::ForeignProcess | Self::FrequencyChanged
        )
    }

    pub(crate) fn blame(self) -> Blame {
        self.facts().1
    }
}

/// A block, or one of its phases, that the gateway made or may have made unusable.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpoiledBlock {
    /// Number of the block, from 1.
    pub block: u32,
    pub trial: u32,
    /// The phase; `None` for the whole trial.
    pub phase: Option<String>,
    pub gate: Gate,
    /// The aspects that the gate makes unusable.
    pub spoils: Vec<Aspect>,
    /// True if the gateway was certainly the cause; false if a disturbance of the machine or a
    /// delay of the load generator may have been the cause.
    pub is_certain: bool,
}

/// The blocks of a comparison that one of its sides spoiled.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SpoiledSide {
    /// Blocks that the side spoiled or may have spoiled.
    pub blocks: Vec<u32>,
    /// The blocks that the side certainly spoiled and in which the other side has a value.
    pub alone: Vec<u32>,
    /// The blocks that the side may have spoiled, but in which the machine or the load generator
    /// may have been the cause.
    pub uncertain: Vec<u32>,
    pub gates: Vec<Gate>,
}

/// For each side of a comparison, the blocks that this side spoiled, which count against it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SpoiledBlocks {
    pub candidate: SpoiledSide,
    pub baseline: SpoiledSide,
}

impl SpoiledBlocks {
    pub fn is_empty(&self) -> bool {
        self.candidate.blocks.is_empty() && self.baseline.blocks.is_empty()
    }
}
