//! Tests of the `gatebench` command with real processes and files. They check exit codes, printed
//! text and written files. Tables of cases may exceed the length limit for functions.
#![allow(clippy::too_many_lines)]
#![allow(clippy::unwrap_used)]

mod ab;
mod agents;
mod audit;
mod bench;
mod capacity;
mod changes;
mod command_line;
mod containers;
mod earlier_runs;
mod endurance;
mod engines;
mod exit_codes;
mod failures;
mod flames;
mod flawed;
mod folder;
mod gateway_process;
mod gateway_signals;
mod gateway_workers;
mod gateways;
mod groups;
mod history;
mod imports;
mod interruptions;
mod kubernetes;
mod limits;
mod load;
mod load_reports;
mod outputs;
mod own_gateways;
mod own_metrics;
mod planes;
mod processes;
mod published;
mod pull_requests;
mod reaching;
mod remote;
mod results;
mod run_directory;
mod serve;
mod serving;
mod shares;
mod soaks;
mod specifications;
mod suites;
mod turns;
mod upstream_tls;
