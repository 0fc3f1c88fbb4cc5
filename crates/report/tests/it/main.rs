//! Every output over one set of findings, and over hostile ones.
// A table of cases is as long as it has cases.
#![allow(clippy::too_many_lines)]
#![allow(clippy::unwrap_used, missing_docs)]

mod ab_test;
mod capacity;
mod combined;
mod costs;
mod cross_run;
mod fixture;
mod hostile;
mod marginal_cost;
mod order;
mod page;
mod parts;
mod plain;
mod published;
mod purposes;
mod redact;
mod verdicts;
mod wire;
