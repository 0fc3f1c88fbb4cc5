//! What happens on connections: one loop for each worker, clients on one side of it, targets on the
//! other, and between them one exchange for each request. Its files know each other, because an
//! event on one side ends in an action on the other: a client's head opens a connection to a
//! target, a target's answer lets the client be read on, and either waits for Redis or for a
//! helper. What they share is the worker's core.
//!
//! What is right for a request is decided below, by the compiled configuration and its policies:
//! this module knows when.

mod client;
mod clients;
mod drain;
mod edit;
mod exchange;
mod http2;
mod log;
mod origin;
mod redis;
mod retry;
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
