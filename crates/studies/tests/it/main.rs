//! The integration tests of this crate in one binary: a module for each subject. Functions with
//! tables of cases may be longer than the usual limit.
#![allow(clippy::too_many_lines)]
#![allow(clippy::unwrap_used)]

mod ab_test;
mod audited;
mod capacity;
mod changes;
mod clock_gates;
mod combined;
mod common;
mod consistency_gates;
mod costs;
mod cross_run;
mod external;
mod findings;
mod gates;
mod groups;
mod load;
mod loads;
mod machine_gates;
mod marginal_cost;
mod published;
mod published_loads;
mod report;
mod shares;
mod soak;
mod steady_gates;
mod summary;
mod verdicts;
mod wire;
