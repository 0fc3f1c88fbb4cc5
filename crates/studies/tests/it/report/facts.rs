//! The types of the facts from which reports are made.

pub use gatebench_model::{Placement, Variant};
pub use gatebench_report::chapter::Tone;
pub use gatebench_report::figures::{
    FigureCell, FigureColumn, FigureGroup, FigureRow, FigureTable,
};
pub use gatebench_report::{Unit, Validity};
pub use gatebench_stats::{Comparison, Difference, Direction, Estimate, Interval, Method, Verdict};
pub use gatebench_store::Status;
pub use gatebench_studies::across_runs::compare::facts::*;
pub use gatebench_studies::across_runs::history::facts::*;
pub use gatebench_studies::common::facts::*;
pub use gatebench_studies::marginal_cost::facts::*;
pub use gatebench_studies::policy_cost::facts::*;
pub use gatebench_studies::published::facts::*;
pub use gatebench_studies::run::proof::*;
