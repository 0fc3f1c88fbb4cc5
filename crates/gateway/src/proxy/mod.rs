//! Serves connections with one event loop per worker. The loop has clients on one side, targets on
//! the other, and an exchange between them for each request. An event on one side leads to an
//! action on the other, so the files of this module depend on each other and share the worker's
//! state.

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
