//! The conductor: from the words of a user to a plan, and from a plan to a run directory.
//!
//! [`prepare`] resolves scenarios, loads and gateways before anything starts; [`run`] goes through the
//! plan trial by trial. Nothing here prints: what happens is told to an [`Observer`] as typed values.
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

mod admin;
mod bins;
mod ceiling;
mod changing;
mod check;
mod chosen;
mod company;
mod cores;
mod demand;
mod early;
mod effect;
mod equip;
mod error;
mod exchange;
mod external;
mod figures;
mod found;
mod groups;
mod halt;
mod hurry;
mod identity;
mod illness;
mod interrupt;
mod keeper;
mod ledger;
mod left;
mod lengths;
mod library;
mod log;
mod parity;
mod phase;
mod preflight;
mod prepare;
mod profile;
mod progress;
mod rehearse;
mod remote;
mod resumed;
mod rise;
mod room;
mod run;
mod samples;
mod scrape;
mod series;
mod settle;
mod sharing;
mod site;
mod specified;
mod stage;
mod study;
mod suite;
mod trace;
mod traffic;
mod trial;
mod warming;
mod warning;
mod watch;
mod wire;

pub use check::{
    CheckOutcome, CheckRequest, Checked, check_gateway, check_scenarios, find_gateway,
};
pub use chosen::scenario_and_load;
pub use equip::PreparedGateway;
pub use error::RunnerError;
pub use external::{GeneratorChoice, PreparedGenerator};
pub use figures::judge_outcome;
pub use interrupt::{Interrupt, Urgency};
pub use library::{Library, Listed, Source};
pub use prepare::{Attach, Prepared, Selection, prepare, prepare_resume};
pub use progress::{Observer, PhaseSummary, Progress, Step};
pub use remote::{RemoteHost, serve as serve_remote_end};
pub use room::allow_descriptors;
pub use run::{RunRequest, RunSummary, run};
pub use study::{AbChoice, FlameChoice, IsolationChoice, SoakChoice, StudyChoice};
pub use warning::{ConnectionsFewer, Warning};
