//! Pure statistics: estimates, percentiles that may be trusted, paired comparisons, verdicts. No
//! clock, no input or output, no randomness; every formula cites its source.

pub mod estimate;
pub mod little;
pub mod percentile;
pub mod sign_flip;
pub mod student;
pub mod trend;
pub mod verdict;

pub use estimate::{Estimate, Interval, median};
pub use little::concurrency;
pub use percentile::{highest_trustworthy_percentile, is_trustworthy};
pub use sign_flip::sign_flip_p;
pub use trend::{Trend, trend};
pub use verdict::{Comparison, Direction, MIN_BLOCKS, Verdict, compare};
