//! Pure statistics: estimates, percentiles that may be trusted, paired comparisons, verdicts. No
//! clock, no input or output, no unseeded randomness; every formula cites its source.

pub mod estimate;

pub use estimate::{Estimate, Interval, median};
