//! Load profiles: the loads of a trial, which are called phases.

use std::time::Duration;

use gatebench_config::{HumanDuration, schema_fragments};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A file with a load profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadProfile {
    /// The profile's name: lowercase letters, digits and hyphens.
    #[schemars(schema_with = "schema_fragments::name")]
    pub profile: String,
    /// A one-line description.
    pub title: String,
    /// True if the first load begins at the first correct response from a newly started gateway.
    /// Before this response, the gateway receives only requests that test whether it is ready.
    /// Parity is proven after the loads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cold: bool,
    /// The loads, one after another, in one gateway process.
    #[schemars(length(min = 1))]
    pub phases: Vec<Phase>,
}

/// One load.
// Only the schema rejects unknown keys: serde cannot combine `deny_unknown_fields` with `flatten`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Phase {
    /// The phase's name, unique in the profile.
    #[schemars(schema_with = "schema_fragments::name")]
    pub name: String,
    /// The load model, `closed` or `open`.
    #[serde(flatten)]
    pub shape: Shape,
    /// Connection counts or rates that replace the number in `closed` or `open`. The plan has a
    /// phase for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
    /// The minimum duration of the warm-up, which is the same load before the measurement [default:
    /// no warm-up]. For most loads of a gateway, the warm-up continues until the CPU time per
    /// request has settled, for at most 2 s or the `warmup.max` of the gateway's folder. Figures of
    /// the warm-up are discarded. Ramps and stages begin with the measurement.
    #[serde(default)]
    pub warm_up: HumanDuration,
    /// The length of the measurement.
    pub measure: HumanDuration,
    /// The maximum time to wait for responses after the last request.
    #[serde(default = "drain")]
    pub drain: HumanDuration,
    /// The time after which a request without a complete response has failed.
    #[serde(default = "timeout")]
    pub timeout: HumanDuration,
    /// A change to the gateway during the phase. A gateway that lacks the action is *not
    /// supported*; the direct variant is not changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<GatewayChange>,
    /// A failure of the upstream's first target, or of the gateway's control plane, during the
    /// phase. The direct variant has no failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<PartFailure>,
    /// True if all gateways of a block receive this load at the same time, on the same cores, so
    /// that their CPU times per request cover the same seconds. The phase's throughput and response
    /// times are not reported, because the gateways wait for each other. In the profile's other
    /// phases, each gateway is loaded while the others wait.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub side_by_side: bool,
    /// True if a lowest-priority thread on each of the gateway's cores keeps the core from idling.
    /// This has no effect on a gateway on another host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_awake: bool,
}

/// The connection counts or rates that a phase is repeated with, in the order of measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sweep {
    /// Numbers of connections of a closed load, such as [1, 2, 4].
    Connections(#[schemars(length(min = 1), inner(range(min = 1, max = 1_000_000)))] Vec<u32>),
    /// Rates of an open load, such as [100, 200, 400].
    RatePerSecond(
        #[schemars(length(min = 1), inner(range(min = 0.001, max = 100_000_000.0)))] Vec<f64>,
    ),
}

/// A period in which a part of a trial fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartFailure {
    /// The part that fails [default: target].
    #[serde(default)]
    pub part: FailingPart,
    /// The kind of failure.
    pub how: Ill,
    /// The delay of responses, for `how: slow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<HumanDuration>,
    /// The time at which the failure begins, counted from the start of the measurement.
    pub from: HumanDuration,
    /// The time at which the failure ends, counted from the start of the measurement.
    pub until: HumanDuration,
}

/// A part of a trial that can fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailingPart {
    /// The first target of the upstream.
    #[default]
    Target,
    /// The gateway's control plane, which can only be `refusing`.
    ControlPlane,
}

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ill {
    /// The target responds with a delay.
    Slow,
    /// The part's process is killed, so connections are refused. The process is restarted when the
    /// failure ends.
    Refusing,
    /// The target accepts requests and resets their connections.
    Resetting,
}

impl Ill {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Slow => "slow",
            Self::Refusing => "refusing",
            Self::Resetting => "resetting",
        }
    }
}

/// The action that gives a gateway the routes under `later`.
pub const CONFIGURE: &str = "configure";

/// The action that changes the weights of the targets.
pub const WEIGHTS: &str = "weights";

/// A change to the gateway during the measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GatewayChange {
    /// A name under `actions` in the gateway's folder: `reload`; `configure`, which applies the
    /// scenario's `later`; or `weights`, which gives the targets the next list of `weights`.
    #[schemars(schema_with = "schema_fragments::name")]
    pub action: String,
    /// The time at which the change occurs, counted from the start of the measurement.
    pub at: HumanDuration,
    /// The interval at which the change is repeated, until 1 s before the end [default: no
    /// repetition].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<HumanDuration>,
}

impl GatewayChange {
    /// The times of the change in a measurement of this length. There are no repetitions in the
    /// last second.
    pub fn times(&self, measure: HumanDuration) -> impl Iterator<Item = HumanDuration> {
        let last = measure.0.saturating_sub(LAST_SECOND);
        let every = self.every.filter(|every| !every.is_zero());
        let further = move |at: &HumanDuration| {
            let next = at.0 + every?.0;
            (next <= last).then_some(HumanDuration(next))
        };
        std::iter::successors(Some(self.at), further)
    }
}

/// A change in this last part of a measurement would leave no time for a comparison.
const LAST_SECOND: Duration = Duration::from_secs(1);

fn drain() -> HumanDuration {
    HumanDuration::from_millis(2_000)
}

fn timeout() -> HumanDuration {
    HumanDuration::from_millis(10_000)
}

impl LoadProfile {
    /// Adds a copy of each open load, during which the gateway's cores are kept awake.
    pub fn repeat_awake(&mut self) {
        let phases = std::mem::take(&mut self.phases).into_iter();
        let with_twin = |phase: Phase| {
            let twin = matches!(phase.shape, Shape::Open(_)).then(|| Phase {
                name: format!("{}-awake", phase.name),
                keep_awake: true,
                ..phase.clone()
            });
            std::iter::once(phase).chain(twin)
        };
        self.phases = phases.flat_map(with_twin).collect();
    }
}

impl Phase {
    /// A phase without warm-up, change or failure. Other settings have the same defaults as in a
    /// file.
    pub fn new(name: impl Into<String>, shape: Shape, measure: HumanDuration) -> Self {
        Self {
            name: name.into(),
            shape,
            measure,
            drain: drain(),
            timeout: timeout(),
            ..Self::default()
        }
    }

    /// Returns the phase with a measurement of at most `measure`, and a minimum warm-up of at most
    /// `warm_up` or, if that is longer, the longest think time. Stages are shortened in proportion,
    /// so the load still reaches every level. A phase with a change or a failure keeps its
    /// measurement, because the times before and after are compared.
    pub fn shortened(&self, warm_up: HumanDuration, measure: HumanDuration) -> Self {
        let mut phase = self.clone();
        phase.warm_up = self.warm_up.min(warm_up.max(self.shape.longest_thought()));
        if self.change.is_some() || self.failure.is_some() {
            return phase;
        }
        phase.measure = self.measure.min(measure);
        let factor = phase.measure.as_secs_f64() / self.measure.as_secs_f64();
        if factor < 1.0 {
            let shorten = |over: &mut HumanDuration| over.0 = over.0.mul_f64(factor);
            match &mut phase.shape {
                Shape::Closed(it) => it.stages.iter_mut().for_each(|it| shorten(&mut it.over)),
                Shape::Open(it) => it.stages.iter_mut().for_each(|it| shorten(&mut it.over)),
            }
        }
        phase
    }
}

/// The trigger of the next request: a response, or the clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A number of connections, each of which sends its next request once it has the response.
    Closed(Closed),
    /// Requests are sent on a fixed schedule, whether or not responses arrive.
    Open(Open),
}

/// One connection that always has a request in flight.
impl Default for Shape {
    fn default() -> Self {
        Self::Closed(Closed::new(1))
    }
}

impl Shape {
    /// Returns the maximum think time, the mean if the distribution has no maximum, or zero if
    /// there are no think times.
    fn longest_thought(&self) -> HumanDuration {
        let think = match self {
            Self::Closed(closed) => closed.think.as_ref(),
            Self::Open(_) => None,
        };
        match think {
            None => HumanDuration::default(),
            Some(Think::Constant(span)) => *span,
            Some(Think::Drawn(DrawnThink::Uniform(between))) => between.max,
            Some(Think::Drawn(DrawnThink::Exponential(of))) => of.mean,
        }
    }
}

/// Settings of a closed load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    /// The number of connections, each with at most one request in flight; with `stages`, the
    /// initial number.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub connections: u32,
    /// Numbers of connections from the start of the measurement, each reached linearly from the
    /// previous one. After the last stage, the number remains constant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<ConnectionStage>,
    /// The time that a connection waits after a response before it sends again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Think>,
    /// Ends the load after this many requests have been sent, warm-up included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub requests_max: Option<u64>,
    /// The number of requests after which a connection is closed and reopened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub requests_per_connection: Option<u64>,
    /// Connections opened per second at the beginning [default: all at once].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001, max = 1_000_000.0))]
    pub connections_per_second: Option<f64>,
}

impl Closed {
    /// A constant number of connections that send without pauses.
    pub fn new(connections: u32) -> Self {
        Self {
            connections,
            ..Self::default()
        }
    }
}

/// A number of connections, and the time to reach it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionStage {
    /// Connections at the end of the stage.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub connections: u32,
    /// The length of the stage.
    pub over: HumanDuration,
}

/// The time between a response and the next request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Think {
    Constant(HumanDuration),
    /// Drawn again after each response.
    Drawn(DrawnThink),
}

/// A distribution of think times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DrawnThink {
    /// Uniformly distributed between two times.
    Uniform(UniformThink),
    /// Exponentially distributed, as between the arrivals of a Poisson process.
    Exponential(ExponentialThink),
}

/// Settings of `uniform`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UniformThink {
    /// The shortest time.
    pub min: HumanDuration,
    /// The longest time.
    pub max: HumanDuration,
}

/// Settings of `exponential`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExponentialThink {
    pub mean: HumanDuration,
}

/// Settings of an open load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// Arrivals per second; with `ramp_to_per_second` or `stages`, the initial rate.
    #[schemars(range(min = 0.001, max = 100_000_000.0))]
    pub rate_per_second: f64,
    /// Arrivals per second at the end of the measurement, reached linearly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001, max = 100_000_000.0))]
    pub ramp_to_per_second: Option<f64>,
    /// Rates from the start of the measurement, one after another. After the last stage, the rate
    /// remains constant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<RateStage>,
    /// The distribution of arrivals.
    #[serde(default, skip_serializing_if = "Spread::is_uniform")]
    pub arrivals: Spread,
    /// The maximum number of open connections.
    #[serde(default = "connections_max")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub connections_max: u32,
    /// The number of arrivals that may wait for a free connection. Further arrivals are dropped and
    /// counted.
    #[serde(default = "queue_max")]
    pub queue_max: u32,
    /// Ends the load after this many requests have been sent, warm-up included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub requests_max: Option<u64>,
    /// The number of requests after which a connection is closed and reopened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub requests_per_connection: Option<u64>,
    /// Connections opened per second at the beginning [default: all at once].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001, max = 1_000_000.0))]
    pub connections_per_second: Option<f64>,
}

fn connections_max() -> u32 {
    64
}

fn queue_max() -> u32 {
    100_000
}

impl Open {
    /// A constant rate with evenly spread arrivals. Other settings have the same defaults as in a
    /// file.
    pub fn new(rate_per_second: f64) -> Self {
        Self {
            rate_per_second,
            connections_max: connections_max(),
            queue_max: queue_max(),
            ..Self::default()
        }
    }
}

/// A rate, and how and when it is reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateStage {
    /// Arrivals per second at the end of the stage.
    #[schemars(range(min = 0.0, max = 100_000_000.0))]
    pub rate_per_second: f64,
    /// The length of the stage.
    pub over: HumanDuration,
    /// How the rate is reached.
    #[serde(default)]
    pub how: Change,
}

/// How a stage reaches its rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Linearly from the previous rate.
    #[default]
    Linear,
    /// Immediately. The rate is constant for the whole stage.
    Step,
}

/// The distribution of arrivals over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// Evenly spaced.
    #[default]
    Uniform,
    /// Randomly spaced, like the arrivals of many independent users: a Poisson process.
    Poisson,
}

impl Spread {
    fn is_uniform(&self) -> bool {
        *self == Self::Uniform
    }
}

/// The wait for a quiet machine before a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settle {
    /// The machine counts as quiet while its load average over the last minute, per core, is below
    /// this value.
    #[schemars(range(min = 0.01, max = 100.0))]
    pub load_per_core: f64,
    /// The maximum wait; 0s for no wait. If the machine is still not quiet, the load begins anyway,
    /// and the report states this.
    pub at_most: HumanDuration,
}

impl Default for Settle {
    fn default() -> Self {
        Self {
            load_per_core: 0.2,
            at_most: HumanDuration::from_millis(90_000),
        }
    }
}
