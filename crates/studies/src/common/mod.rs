//! The parts common to all studies: the records of trials, their figures, and the gates that judge
//! them.

pub(crate) mod changes;
pub(crate) mod collect;
pub(crate) mod comparisons;
pub(crate) mod context;
pub(crate) mod cpu;
pub(crate) mod curves;
pub(crate) mod digest;
pub(crate) mod external_results;
pub mod facts;
pub(crate) mod gates;
pub(crate) mod groups;
pub mod loads;
pub(crate) mod metrics;
pub(crate) mod shares;
pub(crate) mod spoiled;
pub(crate) mod summary_table;
pub(crate) mod timeline;
pub(crate) mod trials;
pub(crate) mod wire;
