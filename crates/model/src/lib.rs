//! The vocabulary of gatebench: scenarios, policies, load profiles, gateway folders, suites and the
//! plan they expand to. Pure data; parsing and validation report every mistake at once.

mod conform;
pub mod culprit;
pub mod data;
pub mod diagnostic;
mod files;
pub mod gateway;
pub mod group;
pub mod load;
mod node;
mod parity;
pub mod parse;
pub mod placement;
pub mod plan;
pub mod policy;
mod repeat;
pub mod request;
mod rows;
mod rules;
pub mod scenario;
pub mod schema;
pub mod span;
pub mod suggest;
pub mod suite;
pub mod sweep;
pub mod template;
mod words;
mod yaml;

pub use culprit::Culprit;
pub use data::Source;
pub use diagnostic::{Diagnostic, Diagnostics};
pub use files::ReadBeside;
pub use gateway::{GatewayFolder, GatewayInput};
pub use group::Group;
pub use load::{LoadProfile, Phase, Shape};
pub use parse::{Document, ReadError, parse, parse_beside, read};
pub use placement::Placement;
pub use plan::{Plan, Trial, Variant};
pub use policy::Policy;
pub use request::{Body, Check, Request};
pub use rows::RowsError;
pub use scenario::{Consumer, ParityCase, Route, Scenario, UpstreamKind, When};
pub use schema::{FileKind, schema};
pub use span::Span;
pub use suite::Suite;
pub use sweep::Sweep;
