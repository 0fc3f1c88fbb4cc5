//! The vocabulary of gatebench: scenarios, policies, load profiles, gateway folders, suites and the
//! plan they expand to. Pure data; parsing and validation report every mistake at once.

pub mod culprit;
pub mod gateway;
pub mod load;
pub mod plan;
pub mod scenario;
pub mod schema;
pub mod span;
pub mod suite;
mod words;

pub use culprit::Culprit;
pub use gateway::{GatewayFolder, GatewayInput};
pub use load::{LoadProfile, Phase, Shape};
pub use plan::{Placement, Plan, Trial, Variant};
pub use scenario::{Body, Check, ParityCase, Policy, Request, Route, Scenario, UpstreamKind};
pub use schema::{FileKind, schema};
pub use span::Span;
pub use suite::Suite;
