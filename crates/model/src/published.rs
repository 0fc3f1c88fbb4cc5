//! A published document: its tables and the statements about them. The figures of a run can be
//! printed in the columns of these tables.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gatebench_config::schema_fragments;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::label;

/// A file that describes a published document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The document's name: lowercase letters, digits and hyphens.
    #[schemars(schema_with = "schema_fragments::name")]
    pub published: String,
    /// Other names for the document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// A one-line description.
    pub title: String,
    /// The gateways and machines that were measured, as a sentence.
    pub setting: String,
    /// The URL of the document, or a citation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The suite that contains the document's scenarios.
    #[schemars(schema_with = "schema_fragments::name")]
    pub suite: String,
    /// True if the table of the bare network comes before the others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network_ceiling: bool,
    /// Sentences for readers of the tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The columns of tables that define no columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<ColumnGroup>,
    #[schemars(length(min = 1))]
    pub tables: Vec<PublishedTable>,
    /// The differences between gatebench's measurements and the document's, each with an effect
    /// that a run can show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corrections: Vec<StatedCorrection>,
}

/// A table of a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishedTable {
    /// The title. The report adds the gateway or the scenario as a prefix, unless the rows are
    /// connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The suite that contains the table's scenarios, if it differs from the document's suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// The subject of a row.
    pub row: RowKind,
    /// True if figures were published for several numbers of CPUs. The table shows the figures for
    /// the number that is nearest, by ratio, to the gateway's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_cpus: bool,
    /// True if the table shows rows that the run lacks. Otherwise, a note lists them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_absent: bool,
    /// The loads that the columns show [default: `users` if the rows are scenarios, otherwise
    /// `connections`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadChoice>,
    /// The row in the denominator of ratios. If the rows are connections, the target in the
    /// denominator of published ratios; the denominator of measured ratios is then the upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The rows in the document's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<PublishedRow>,
    /// The columns, if they differ from the document's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<ColumnGroup>,
}

/// The subject of a table's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// A scenario. There is a table for each gateway.
    Scenario,
    /// A number of connections. There is one table, with a column for each target.
    Connections,
    /// All runs of a gateway combined. There is a table for each scenario.
    Version,
    /// A run of a gateway. There is a table for each scenario.
    Run,
}

impl RowKind {
    /// The header of the first column.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scenario => "scenario",
            Self::Connections => "connections",
            Self::Version => "version",
            Self::Run => "run",
        }
    }
}

/// A selection from the loads of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadChoice {
    /// The first load with users, who wait for a response before they send again, with or without
    /// a think time.
    Users,
    /// The first load at a rate.
    Rate,
    /// The first load at a rate; if there is none, the first load with users.
    RateOrUsers,
    /// The first load whose rate has a ramp or stages; if there is none, the first load with users,
    /// or otherwise the first load at a rate.
    Rising,
    /// All loads with a constant number of connections.
    Connections,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    /// The name of the row in the document; a number if the rows are connections.
    pub row: String,
    /// The scenario that measures the row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// The variant that measures the row, instead of the table's gateway: `direct` is the upstream
    /// alone.
    #[serde(
        default,
        deserialize_with = "label::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub variant: Option<String>,
    /// The row in the denominator of ratios, instead of the table's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The published figures of the row.
    #[serde(default, skip_serializing_if = "Figures::is_empty")]
    pub published: Figures,
    /// The published figures of the row for each number of CPUs, or for each target.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub published_of: BTreeMap<String, Figures>,
}

/// Adjacent columns with a common heading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnGroup {
    /// The content of the columns in one word: `document`, `ours`, `ratio`.
    pub group: String,
    /// The second line of the heading [default: the loads]. With `each_target`, it is the name of
    /// the target instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// True if the group is repeated for each target.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub each_target: bool,
    /// The loads that the columns show, if they differ from the table's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadChoice>,
    #[schemars(length(min = 1))]
    pub columns: Vec<PublishedColumn>,
}

/// One figure of a published table, and gatebench's corresponding measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishedColumn {
    /// The header in one or two lines. A column without a header is repeated for each target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub head: Vec<String>,
    /// The figure that the column shows, or whose ratios it shows.
    pub figure: Figure,
    /// The loads to show, if they differ from the group's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadChoice>,
    /// How the figure is shown.
    #[serde(default)]
    pub show: Show,
    /// How the figures of several loads are combined.
    #[serde(default)]
    pub across: Across,
}

/// How a column shows its figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Show {
    /// The figure as it was measured.
    #[default]
    Measured,
    /// The ratio of the measured figure to the measured figure of the base.
    Ratio,
    /// The ratio of the published figure to the published figure of the base.
    Published,
    /// The measured ratio divided by the published one.
    RatioToPublished,
}

/// How the figures of several loads are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Across {
    /// The median of the figures.
    #[default]
    Median,
    /// The mean of the figures.
    Mean,
    /// The mean of the figures, weighted by responses.
    WeightedMean,
    /// The largest figure.
    Max,
    /// The sum of the figures.
    Sum,
}

/// A figure of a load.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Responses per second.
    Rate,
    /// Mean response time.
    Mean,
    /// Longest response time.
    Max,
    /// Median response time.
    P50,
    /// 90th percentile of the response time.
    P90,
    /// 95th percentile of the response time.
    P95,
    /// 99th percentile of the response time.
    P99,
    /// Median of the added latency.
    AddedP50,
    /// 95th percentile of the added latency.
    AddedP95,
    /// 99th percentile of the added latency.
    AddedP99,
    /// Responses per second at the peak: in the best ten seconds, or in the best second of a load
    /// that is shorter than 30 s.
    PeakRate,
    /// 95th percentile of the response time at the peak.
    PeakP95,
    /// 99th percentile of the response time at the peak.
    PeakP99,
    /// The gateway's peak memory.
    Memory,
    /// CPU time of the gateway per request.
    Cpu,
    /// Cores that the gateway kept busy.
    GatewayCores,
    /// Cores that the upstream kept busy.
    UpstreamCores,
    /// Cores that the load generator kept busy.
    EngineCores,
    /// Bytes that the load generator sent.
    Sent,
    /// Bytes that the load generator received.
    Received,
    /// Checks that passed.
    Checks,
    /// Requests in flight on average.
    InFlight,
    /// Requests that were due but never sent.
    Dropped,
    /// Requests without a correct response.
    Failed,
}

/// Published figures: rates per second, times in milliseconds, sizes in bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Figures(BTreeMap<Figure, f64>);

impl Figures {
    pub fn get(&self, figure: Figure) -> Option<f64> {
        self.0.get(&figure).copied()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl JsonSchema for Figures {
    fn schema_name() -> Cow<'static, str> {
        "Figures".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let figures = Figure::json_schema(generator);
        let words = figures.get("oneOf").and_then(Value::as_array);
        let number = |word: &Value| {
            let about = &word["description"];
            let schema = json!({"type": "number", "minimum": 0, "description": about});
            Some((word["const"].as_str()?.to_owned(), schema))
        };
        let properties: Map<String, Value> =
            words.into_iter().flatten().filter_map(number).collect();
        json_schema!({
            "type": "object",
            "properties": properties,
            "additionalProperties": false
        })
    }
}

/// A difference between gatebench's measurements and the document's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedCorrection {
    /// The calculation that shows the effect in a run.
    pub effect: Effect,
    /// A one-line description.
    pub title: String,
    /// How the figures of the document were measured, and what they mean as a result.
    pub published: String,
    /// How gatebench measures the same figures.
    pub here: String,
    /// The reason why a run may show no effect [default: a reason that depends on `effect`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<String>,
    /// The precision of the document's times in milliseconds, for `rounded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.000_001))]
    pub step_ms: Option<f64>,
    /// The upper bounds of the document's buckets in milliseconds, for `buckets`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buckets_ms: Vec<f64>,
    /// The rows to compare, for `compression`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<RowPair>,
}

/// Two rows that differ in the compression of responses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowPair {
    /// The name of the row without compression.
    pub row: String,
    /// The name of the row with compression.
    pub other: String,
}

/// A calculation that shows how a measurement method affects the figures of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Compares the p95 of added latency, as computed from a histogram's buckets, with the recorded
    /// p95.
    Buckets,
    /// Compares two mean response times: the mean that the row would have with the document's
    /// number of users, and the mean that was measured with the same number of users for all rows.
    Users,
    /// Compares the p95 of the response time at saturation with the p95 at a fixed rate.
    Saturation,
    /// Compares the rate that includes the ramp with the rate that excludes it.
    Ramp,
    /// Compares the CPU time per request in a row without compression with the CPU time per request
    /// in a row with compression.
    Compression,
    /// Compares memory at the end with peak memory.
    MemoryAtEnd,
    /// Compares the mean response time, rounded to a step, with the recorded mean.
    Rounded,
    /// Compares the lowest rate of any block with the highest rate of any block.
    OneRun,
    /// Compares the peak rate with the mean rate.
    Peak,
    /// Compares the p95 of the response time over the whole measurement with the p95 at the peak.
    SinceBeginning,
    /// Compares the number of requests that were sent with the number that were due.
    Dropped,
    /// Compares two numbers of requests in flight: the rate multiplied by the mean response time
    /// that wrk would print, and the rate multiplied by the actual mean response time.
    WrkMean,
    /// Compares the rate of the first run with the rate of the last run.
    Drift,
}
