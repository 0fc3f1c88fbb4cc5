//! A run as metrics, in real servers and in servers that fail.

mod dashboards;
mod exact;
mod faults;
mod full;
mod server;
