//! Serves connections with one loop per worker, which has clients on one side, targets on the
//! other, and one exchange between them for each request. Its files depend on each other, because
//! an event on one side leads to an action on the other: a client's head opens a connection to a
//! target, a target's response resumes reading from the client, and either may wait for Redis or
//! for a helper. The files share the worker's state.
//!
//! The compiled configuration and its policies decide which requests are allowed; this module
//! decides when they proceed.

mod client;
mod drain;
mod edit;
mod exchange;
mod http2;
mod log;
mod origin;
mod redis;
#[cfg(feature = "soap")]
mod saxon;
#[cfg(feature = "soap")]
mod soap;
#[cfg(not(feature = "soap"))]
#[path = "soap_absent.rs"]
mod soap;
mod upstream_side;
mod worker;

pub(crate) use worker::Gateway;
pub use worker::Totals;
