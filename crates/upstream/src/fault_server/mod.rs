//! The `pathology` origin: an upstream whose illness is known by construction, to hold a load engine
//! against.
//!
//! The path names the [`Case`] (`/stall?every=14s&for=1s&service=5ms`), which says from a request's number or from
//! its arrival what is done with it. Numbers and time begin at the first request after a start or a
//! `POST` to [`BEGIN_PATH`]. Every connection is served for itself: no request waits for another.
//! On a core of its own (`--cores`) a worker answers within some 20 µs of when that is due, because it polls
//! without waiting for the last 2 ms before; without, for the last 0.15 ms.
//!
//! What an open load must then find is a pure function, [`truth`]; what really happened is in the
//! [`Account`].

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
pub use case::{Case, Service};
pub use distribution::Distribution;
pub(crate) use service::FaultServer;
pub use truth::{Arrivals, Truth, truth, truth_through};

/// `GET` answers the [`Account`] as JSON.
pub const ACCOUNT_PATH: &str = "/.gatebench/pathology";

/// `POST` begins number, time and account anew. With `?rate=1000` the account holds arrivals against a
/// load of that many uniform arrivals a second. With `?rate=1000&warm_up=500` number and time begin when the
/// request after the first 500 is due; those are served as if they came at time 0, and do not count.
pub const BEGIN_PATH: &str = "/.gatebench/pathology/begin";
