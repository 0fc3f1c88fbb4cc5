//! Load profiles: the phases that one fresh gateway process goes through.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Span;

/// One load profile file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadProfile {
    /// The profile's name: lower case, digits and hyphens.
    #[schemars(schema_with = "crate::words::name")]
    pub profile: String,
    /// One line for people.
    pub title: String,
    /// The loads, one after the other, in one gateway process.
    #[schemars(length(min = 1))]
    pub phases: Vec<Phase>,
}

/// One load.
// Unknown keys are refused by the schema, which every file passes first: serde does not combine
// `deny_unknown_fields` with `flatten`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Phase {
    /// The phase's name, unique in the profile.
    #[schemars(schema_with = "crate::words::name")]
    pub name: String,
    /// Who decides when a request is sent.
    #[serde(flatten)]
    pub shape: Shape,
    /// Same load before the measurement, discarded.
    #[serde(default)]
    pub warm_up: Span,
    /// How long is measured.
    pub measure: Span,
    /// How long answers are waited for after the last request.
    #[serde(default = "drain")]
    pub drain: Span,
    /// A request without an answer after this long has failed.
    #[serde(default = "timeout")]
    pub timeout: Span,
}

fn drain() -> Span {
    Span::from_millis(2_000)
}

fn timeout() -> Span {
    Span::from_millis(10_000)
}

/// Closed: an answer lets the next request go. Open: the clock does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A number of connections, each sending as soon as it has its answer.
    Closed(Closed),
    /// Requests leave on an absolute schedule, whether answers come or not.
    Open(Open),
}

/// Settings of a closed load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    /// Connections, each with one request in flight.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub connections: u32,
}

/// Settings of an open load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// Arrivals per second; with `ramp_to_per_second`, at the beginning of the measurement.
    #[schemars(range(min = 0.001, max = 100_000_000.0))]
    pub rate_per_second: f64,
    /// Arrivals per second at the end of the measurement, reached linearly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001, max = 100_000_000.0))]
    pub ramp_to_per_second: Option<f64>,
    /// Connections opened at the most.
    #[serde(default = "connections_max")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub connections_max: u32,
    /// Arrivals that may wait for a free connection; those beyond are dropped and counted.
    #[serde(default = "queue_max")]
    pub queue_max: u32,
}

fn connections_max() -> u32 {
    64
}

fn queue_max() -> u32 {
    100_000
}
