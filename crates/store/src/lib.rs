//! Reads and writes the run directory, which contains all measurements of a run, and defines the
//! schemas of its files.
//!
//! ```text
//! DIR/manifest.json                    the plan, the gateways, the machine and the status
//! DIR/trials/0001-proxy-json-nginx-b1/ one folder per trial
//!     trial.json                       the record
//!     histograms.hlog                  interval log (HdrHistogram V2), tagged `phase.metric.class`
//!     series.csv                       one row per phase and second
//!     requests.csv                     requests by outcome in each second and in the drain
//!     gateway/                         rendered files and logs of the gateway
//!     PHASE.folded                     stack samples of a phase, if requested
//!     engine/                          files of an external load generator, by phase
//!     live.jsonl                       events of the trial, until its record is complete
//! ```
//!
//! A trial is written under its final name, so the paths in its files stay correct. `trial.json` is
//! written last, and [`Run`] ignores a folder without this file. A checkpoint of a trial that is
//! still in progress has the outcome [`Outcome::Interrupted`].

mod agents;
mod atomic;
mod below;
mod counts;
mod error;
pub mod files;
mod histograms;
pub mod history;
mod live;
mod lock;
mod manifest;
mod overview;
mod own_metrics;
mod phase;
mod record;
mod requests;
mod run;
mod schema;
mod series;
mod table;
mod writer;

pub use agents::{AgentRecord, AgentsRecord, HalvesRecord};
pub use counts::{Counts, ExactSum, GroupRecord, RouteRecord, TimeFigures};
pub use error::StoreError;
pub use hdrhistogram::Histogram;
pub use histograms::{HistogramError, HistogramLog, TaggedInterval};
pub use jiff::Timestamp;
pub use live::{LiveEvent, LiveReader, LiveSecond, LiveWriter};
pub use manifest::{ExternalGenerator, FileDigest, GatewayIdentity, Manifest, Status};
pub use overview::{RunOverview, RunState, TrialFolder};
pub use own_metrics::{MeasuredTimes, OwnAuditRecord, OwnLatencyRecord, OwnMetricsRecord};
pub use phase::{
    AdminLoadRecord, BinsRecord, CeilingRecord, ChangeRecord, CoreFrequency, CoreUsage,
    EngineFacts, ExternalCheck, ExternalFigures, FailureRecord, FrequencyRange, GatewayWire,
    LedgerDelta, MachineFacts, PhaseRecord, ProfileRecord, SettleRecord, StepOutcome, StepRecord,
    StepRole, TargetShare, Throttling, TraceCounts, UpstreamWire, Usage, WarmUpRecord,
    WeighedRecord, WireFacts,
};
pub use record::{
    AdminRecord, Buffering, ClockSource, ErrorLog, FirstCorrect, GatewayFacts, Outcome,
    ParityCaseRecord, ParityRecord, TrialRecord,
};
pub use requests::RequestsRow;
pub use run::{Run, SecondHistogram, StoredTrial};
pub use schema::SCHEMA_VERSION;
pub use series::{SeriesRow, SeriesUsage};
pub use writer::{RunWriter, TrialWriter, is_replaced, safe_file_part};
