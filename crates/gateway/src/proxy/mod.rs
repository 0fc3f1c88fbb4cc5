//! Serves connections with one event loop per worker. The loop has clients on one side, targets on
//! the other, and an exchange between them for each request. The files of this module depend on
//! each other, because an event on one side leads to an action on the other: when a client has sent
//! the head of a request, the worker connects to a target; when a target has responded, the worker
//! reads from the client again; and both may have to wait for Redis or for a helper. The files also
//! share the worker's state.

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
