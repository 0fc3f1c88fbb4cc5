//! What the index keeps of a run.

use jiff::Timestamp;

/// A run in the index.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEntry {
    /// Name of its directory in the folder of runs.
    pub dir: String,
    /// By what it is seen that the directory has changed since.
    pub stamp: String,
    /// When it began.
    pub created: Timestamp,
    /// Name of the suite.
    pub suite: String,
    /// Version of the gatebench that measured.
    pub gatebench: String,
    /// Blocks of which every trial is on disk.
    pub blocks: u32,
    /// Why it has no cells; none where it may have some.
    pub left_out: Option<String>,
    /// Its figures.
    pub cells: Vec<CellEntry>,
}

/// A metric of a gateway in a scenario of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct CellEntry {
    /// The scenario.
    pub scenario: String,
    /// Label of the variant.
    pub gateway: String,
    /// Version of the gateway.
    pub version: String,
    /// A digest of what must be alike for two runs to be set beside each other.
    pub conditions: String,
    /// The load in words.
    pub load: String,
    /// The metric, as reports in JSON call it.
    pub metric: String,
    /// Its unit, as reports in JSON call it.
    pub unit: String,
    /// Whether large values are good.
    pub higher_is_better: bool,
    /// Median of the blocks; 0 without a block.
    pub value: f64,
    /// The smallest block; 0 without a block.
    pub min: f64,
    /// The largest block; 0 without a block.
    pub max: f64,
    /// Blocks with a value; none if the gateway spoiled them all.
    pub blocks: u32,
    /// Whether something other than the gateway limited it.
    pub limited: bool,
    /// The value of the same run's direct variant, whose changes are the machine's; none if it has
    /// none.
    pub control: Option<f64>,
    /// Blocks without a value because the gateway itself spoiled them.
    pub spoiled: u32,
}
