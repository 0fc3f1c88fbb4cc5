//! The entries of the index.

use jiff::Timestamp;

/// A run in the index.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEntry {
    /// Name of its directory in the folder of runs.
    pub dir: String,
    /// A text that changes whenever the directory changes.
    pub stamp: String,
    /// The time at which it began.
    pub created: Timestamp,
    /// Name of the suite.
    pub suite: String,
    /// Version of the gatebench that measured.
    pub gatebench: String,
    /// Blocks with every trial on disk.
    pub blocks: u32,
    /// The reason why it has no cells; none if it may have some.
    pub left_out: Option<String>,
    /// Its figures.
    pub cells: Vec<CellEntry>,
}

/// A metric of a gateway in a scenario of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct CellEntry {
    pub scenario: String,
    /// Label of the variant.
    pub gateway: String,
    /// Version of the gateway.
    pub version: String,
    /// A digest of the conditions that two comparable runs share.
    pub conditions: String,
    /// The load as text.
    pub load: String,
    /// The metric, as named in JSON reports.
    pub metric: String,
    /// Its unit, as named in JSON reports.
    pub unit: String,
    /// True if large values are good.
    pub higher_is_better: bool,
    /// Median of the blocks; 0 if there are none.
    pub value: f64,
    /// The smallest block; 0 if there are none.
    pub min: f64,
    /// The largest block; 0 if there are none.
    pub max: f64,
    /// Blocks with a value; 0 if the gateway invalidated all of them.
    pub blocks: u32,
    /// True if something other than the gateway limited it.
    pub limited: bool,
    /// The value of the direct variant of the same run, which shows changes of the machine; none
    /// without one.
    pub control: Option<f64>,
    /// Blocks without a value because the gateway itself invalidated them.
    pub spoiled: u32,
}
