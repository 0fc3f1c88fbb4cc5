//! Turns the user's choice into a `Plan` whose files, gateways and cores are known to exist.
//!
//! This module must not start a gateway, generate a load or write to a run directory.

mod cluster;
mod duration_mode;
mod expand;
pub(crate) mod fd_limit;
pub(crate) mod gateway_selection;
mod hosts;
pub(crate) mod identity;
pub(crate) mod library;
mod own_config;
mod prepare;
pub(crate) mod selection;
mod specification;
mod suite;

pub use cluster::ClusterPlan;
pub use fd_limit::allow_descriptors;
pub use library::{Library, Listed, Source};
pub use own_config::own_config;
pub use prepare::{prepare, prepare_resume};
pub use selection::{Attach, Prepared, Selection};
pub use suite::{known_suite, scenario_and_load};
