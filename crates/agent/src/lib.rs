//! A load that several load generators, the *agents*, send from several machines as if they were
//! one.
//!
//! ```text
//!               ┌─ remote end ── Agent ── engine ──┐
//! Agents::run ──┼─ remote end ── Agent ── engine ──┼──> target
//!               └─ remote end ── Agent ── engine ──┘
//! ```
//! [`Agents::run`] is used like [`gatebench_engine::run`]. The workers of all agents are numbered
//! consecutively, so together they send exactly the requests that one load generator with as many
//! workers would send. All agents begin at the same moment, which each of them receives as a time
//! on its own clock. Each agent writes one record per second, and keeps the record until the
//! coordinator acknowledges it. Histograms are merged; percentiles are never averaged. If an agent
//! is lost, the others are stopped.
//!
//! [`Agent`] is the role of a remote end (`gatebench_testbed::remote`) that sends its part of a
//! load. The program `gatebench-agent` contains only this role, the remote end, the supervisor of
//! child processes and the upstreams, so it is small. It is linked statically, so it needs no
//! shared libraries on a host.

mod agents;
mod clocks;
mod end;
mod follow;
mod order;
mod outbox;
mod protocol;
mod record;
mod run;
mod start;
mod totals;

pub use agents::Agents;
pub use clocks::Offset;
pub use end::Agent;
pub use protocol::Health;
pub use run::{AgentFailure, AgentReport, Conducted, StartReport};
