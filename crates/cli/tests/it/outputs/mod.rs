//! The metrics of a run, sent to real servers and to failing ones.

mod dashboards;
mod exact;
mod faults;
mod full;
mod otlp;
mod server;
