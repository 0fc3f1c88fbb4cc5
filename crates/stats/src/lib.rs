//! Pure statistics: estimates, trustworthy percentiles, comparisons and their verdicts, capacity,
//! scalability, trends, changes and leaks. The crate uses no clock and no I/O, and derives all
//! randomness from seeds.

pub mod apart;
mod bisection;
pub mod bootstrap;
pub mod capacity;
pub mod change_points;
pub mod comparison;
pub mod control;
pub mod difference;
pub mod doubling;
pub mod drift;
pub mod estimate;
pub mod holm;
pub mod knee;
pub mod leak;
pub mod little;
pub mod normal;
pub mod percentile;
pub mod random;
pub mod rank;
pub mod scalability;
pub mod sequential;
pub mod settled;
pub mod share;
pub mod sign_flip;
pub mod simulate;
pub mod spoiled;
mod spread;
pub mod student;
pub mod trend;
pub mod verdict;

pub use apart::{MIN_RUNS, Sides, compare_runs, compare_with_runs};
pub use change_points::{ChangePoint, change_points};
pub use comparison::{Comparison, Method, Pair, Rule, compare, compare_all, compare_all_weighed};
pub use difference::{Difference, difference};
pub use drift::drift;
pub use estimate::{Estimate, Interval, median};
pub use knee::knee;
pub use leak::{Growth, LeakVerdict};
pub use little::concurrency;
pub use percentile::{highest_trustworthy_percentile, is_trustworthy};
pub use rank::{ranks, ranks_by};
pub use scalability::Scalability;
pub use sequential::{Look, Sequential, Stop};
pub use sign_flip::sign_flip_p;
pub use spoiled::{Spoiled, SpoiledBy};
pub use trend::{Trend, trend};
pub use verdict::{Direction, MIN_BLOCKS, Verdict};
