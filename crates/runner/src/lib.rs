//! The runner turns the user's choice into a plan, and a plan into a run directory.
//!
//! [`prepare`] resolves scenarios, loads and gateways before the first trial; [`run`] executes the
//! plan. The crate prints nothing, except an output to standard output (`jsonl=-`); an [`Observer`]
//! receives typed events.
//!
//! # Modules
//! `plan` creates the plan, `trial` runs one trial, `phase` runs one load and the activities during
//! it, and `run` decides which trial comes next. Below them, `parity` proves that a gateway does
//! what its scenario requires, and `context` contains the inputs of a trial. `check` tests a
//! gateway folder without measuring the gateway. `external` finds a load generator that replaces
//! the built-in one, and `outputs` sends figures to metrics servers and files. The crate `testbed`
//! starts and ends processes.
//!
//! # One trial
//! ```text
//! upstream up → gateway rendered, started, ready → parity
//!   → per phase: load generator warms up, measures, drains; watch samples gateway and upstream
//! → parity again → gateway down → upstream down → the trial is on disk
//! ```
//!
//! A cold load begins at the gateway's first correct response, without the first parity check.

mod abort;
mod check;
mod context;
mod error;
mod external;
mod http_probe;
mod ledger;
mod lockstep;
mod numbers;
pub mod outputs;
mod parity;
mod phase;
mod plan;
mod progress;
mod run;
mod threads;
mod trial;
mod warning;
mod workload;

pub use check::{
    CheckOutcome, CheckRequest, CheckStep, Checked, check_gateway, check_scenarios, find_gateway,
};
pub use error::RunnerError;
pub use external::{GeneratorChoice, PreparedGenerator};
pub use gatebench_testbed::{Interrupt, Urgency};
pub use phase::{agents_record, judge_outcome};
pub use plan::{
    Attach, ClusterPlan, Library, Listed, Prepared, Selection, Source, allow_descriptors,
    known_suite, own_config, prepare, prepare_resume, scenario_and_load,
};
pub use progress::{Observer, PhaseSummary, Progress, RunSummary, Step};
pub use run::{RunRequest, run};
pub use warning::Warning;
pub use workload::connections_max;
