//! Every output over one set of findings, and over hostile ones.
// A table of cases is as long as it has cases.
#![allow(clippy::too_many_lines)]
#![allow(clippy::unwrap_used, missing_docs)]

mod across;
mod capacity;
mod combined;
mod costs;
mod documents;
mod duel;
mod fixture;
mod hostile;
mod order;
mod page;
mod parts;
mod plain;
mod purposes;
mod redact;
mod scale;
mod verdicts;
mod wire;
