//! A load that has ended, as it is printed.

use gatebench_store::MachineFacts;

use super::figures::Figures;
use super::judged::Judged;
use super::validity::Caution;

/// What is spoken where connections are only made.
pub const NO_PROTOCOL: &str = "none";

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
    pub machine: MachineFacts,
    /// What limits the figures.
    pub cautions: Vec<Caution>,
    /// The thresholds.
    pub judged: Vec<Judged>,
}

impl Results<'_> {
    /// Whether anything was sent: else connections were only made.
    pub fn sends_requests(&self) -> bool {
        self.protocol != NO_PROTOCOL
    }

    /// The share of the cores' time that the hypervisor took.
    pub fn steal_share(&self) -> f64 {
        let available_ns = self.machine.window_ns * u64::from(self.machine.cores);
        self.machine.steal_ns as f64 / available_ns.max(1) as f64
    }

    /// What was counted.
    pub fn unit(&self) -> &'static str {
        if self.sends_requests() {
            "request"
        } else {
            "connection"
        }
    }
}
