//! A load that has ended, as it is printed.

use super::figures::Figures;
use super::validity::{Caution, MachineShare};
use super::words::threshold::Judged;

/// What is printed of a load.
pub struct Results<'a> {
    /// The URL, or the host of several.
    pub target: String,
    /// The load in words.
    pub load: String,
    /// What was spoken, as ALPN calls it.
    pub protocol: &'static str,
    /// Whether arrivals come by the clock.
    pub open: bool,
    /// Cores of the workers; none where they are not pinned.
    pub cores: &'a [usize],
    /// All figures.
    pub figures: Figures<'a>,
    /// What the machine did meanwhile.
    pub machine: MachineShare,
    /// What limits the figures.
    pub cautions: Vec<Caution>,
    /// The thresholds.
    pub judged: Vec<Judged>,
}
