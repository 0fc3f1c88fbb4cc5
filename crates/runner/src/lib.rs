//! The runner: turns the user's choice into a plan, and a plan into a run directory.
//!
//! [`prepare`] resolves scenarios, loads and gateways before anything starts; [`run`] goes through the
//! plan trial by trial. Nothing here prints: an [`Observer`] gets what happens as typed values.
//!
//! # Modules
//! `plan` makes the plan; `trial` is one trial; `phase` is one load and what runs next to it; `run`
//! is the order of trials. Below them, `testbed` brings processes up and down, `parity` proves that a
//! gateway does what its scenario says, and `context` holds what a trial is made of. `check` proves a
//! gateway folder without a load.
//!
//! # One trial
//! ```text
//! upstream up → gateway rendered, started, ready → parity → probe on
//!   → per phase: engine warms up, measures, drains → probe off
//! → parity again → gateway down → upstream down → the trial is on disk
//! ```
//! Everything that is started is held by a guard, so that it ends in reverse order also on an error,
//! on Ctrl-C and on a panic; a supervisor between gatebench and each process ends it where gatebench
//! itself is killed.

mod abort;
mod check;
mod context;
mod error;
mod external;
mod http_probe;
mod interrupt;
mod lockstep;
mod parity;
mod phase;
mod plan;
mod progress;
mod run;
mod testbed;
mod trial;
mod warning;
mod workload;

pub use check::{
    CheckOutcome, CheckRequest, Checked, check_gateway, check_scenarios, find_gateway,
};
pub use error::RunnerError;
pub use external::{GeneratorChoice, PreparedGenerator};
pub use interrupt::{Interrupt, Urgency};
pub use phase::judge_outcome;
pub use plan::{
    AbChoice, Attach, FlameChoice, IsolationChoice, Library, Listed, Prepared, Selection,
    SoakChoice, Source, StudyChoice, allow_descriptors, prepare, prepare_resume, scenario_and_load,
};
pub use progress::{Observer, PhaseSummary, Progress, RunSummary, Step};
pub use run::{RunRequest, run};
pub use testbed::remote::{RemoteHost, serve as serve_remote_end};
pub use testbed::resolve_gateway::PreparedGateway;
pub use warning::{ConnectionsFewer, Warning};
