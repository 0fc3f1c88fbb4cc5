//! Every form of the report, for one set of findings and for hostile ones.

mod ab_test;
mod capacity;
mod combined;
mod costs;
mod cross_run;
mod facts;
mod fixture;
mod hostile;
mod junit;
mod marginal_cost;
mod order;
mod page;
mod parts;
mod plain;
mod published;
mod purposes;
mod redact;
mod summary;
mod verdicts;
mod wire;
