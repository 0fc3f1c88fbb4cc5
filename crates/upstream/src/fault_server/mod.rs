//! The `pathology` origin, an upstream whose faults are known by construction. It is used to test
//! the load generator.
//!
//! The path and query of a request name the [`Case`], as in `/stall?every=14s&for=1s&service=5ms`.
//! The case determines how each request is treated, as a function of the request's number or of the
//! time at which it arrives. Numbers and time begin at the first request after the start, or after
//! a `POST` to [`BEGIN_PATH`] or [`RESET_PATH`](crate::RESET_PATH). Connections are independent: no
//! request waits for one on another connection. A worker with a dedicated core (`--cores`) responds
//! within about 20 µs of the due time, because it polls without sleeping during the last 2 ms.
//! Other workers poll only during the last 0.15 ms.
//!
//! The result that an open load must yield is computed by a pure function, [`fn@truth`]. The
//! [`Account`] describes what actually happened.

mod account;
mod case;
mod connection;
mod distribution;
mod exchange;
mod request;
mod service;
mod truth;

pub use account::{Account, AtRate, Quantiles};
pub(crate) use case::PATHS;
pub use case::{Case, CaseError, Service};
pub use distribution::Distribution;
pub(crate) use service::FaultServer;
pub use truth::{Arrivals, Truth, truth, truth_through};

/// `GET` returns the [`Account`] as JSON.
pub const ACCOUNT_PATH: &str = "/.gatebench/pathology";

/// `POST` resets the request numbers, the time, the account and the ledger. With `?rate=1000`, the
/// account compares arrivals with a load of 1,000 uniform arrivals per second. With
/// `?rate=1000&warm_up=500`, the numbers and the time begin when the request after the first 500 is
/// due. Each of the first 500 is served as if it were request 0 at time 0, and does not count.
pub const BEGIN_PATH: &str = "/.gatebench/pathology/begin";
