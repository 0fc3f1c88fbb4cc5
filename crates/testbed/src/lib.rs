//! The testbed: starts, watches and stops the parts of a trial (gateways, upstreams, Redis,
//! PostgreSQL and load generators) as processes, in containers, in pods or on other hosts.
//!
//! [`Testbed::open`] connects to the machines that the parts run on. [`Testbed::start`] starts the
//! parts of a trial: first the upstreams, then the servers that the scenario or the gateway needs
//! (Redis, PostgreSQL), and then the gateway. Each part starts only when the previous part is
//! ready. Dropping the [`Running`] parts ends the gateway first. A gateway is a [`gateway::Folder`]
//! of data from the [`gateway::Catalogue`], so a gateway can be added without changes to this
//! crate. [`probe`] reads the counters of processes and of the machine.
//!
//! This crate does not measure latency, judge results or write run directories.
//!
//! Each module may use the ones below it:
//!
//! ```text
//! testbed
//! remote
//! services   kubernetes
//! install    terraform
//! gateway
//! interrupt
//! process     wire
//! container   probe   error
//! system
//! ```

mod container;
mod error;
pub mod gateway;
pub mod install;
mod interrupt;
pub mod kubernetes;
pub mod probe;
mod process;
pub mod remote;
pub mod services;
mod system;
pub mod terraform;
mod testbed;
mod wire;

pub use error::{DriverError, RemoteError, Unsupported};
pub use interrupt::{Interrupt, Interrupted, Urgency};
pub use process::{Launcher, Supervised, supervise};
pub use system::exit::{Ended, Exit};
pub use system::private::write_private;
pub use testbed::{GatewaySampler, Part, Running, Shutdown, Testbed, TrialParts};
pub use wire::{Line, Wire};
