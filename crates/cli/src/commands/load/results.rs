//! The results of a load, for printing.

use gatebench_store::MachineFacts;

use super::agents::ByAgent;
use super::figures::{Figures, SecondFigures};
use super::judged::Judged;
use super::validity::Caution;
use crate::exit::Exit;

/// The protocol of a load that only opens connections.
pub const NO_PROTOCOL: &str = "none";

/// The results of a load.
pub struct Results<'a> {
    /// The method and the URL, or the number of requests and the host that they share.
    pub target: String,
    pub load: String,
    /// The ALPN name of the protocol, or [`NO_PROTOCOL`].
    pub protocol: &'static str,
    /// True if requests are sent, or connections are opened, at a given rate.
    pub open: bool,
    /// Cores of the workers; empty if they are not pinned.
    pub cores: &'a [usize],
    pub agents: Option<&'a ByAgent>,
    pub figures: Figures<'a>,
    pub machine: MachineFacts,
    pub cautions: Vec<Caution>,
    pub judged: Vec<Judged>,
    /// True if a threshold applies to the checks.
    pub judges_checks: bool,
    pub seconds: &'a [SecondFigures],
}

impl Results<'_> {
    /// Reports whether requests were sent; otherwise, connections were only opened.
    pub fn sends_requests(&self) -> bool {
        self.protocol != NO_PROTOCOL
    }

    /// The share of the cores' time that the hypervisor took.
    pub fn steal_share(&self) -> f64 {
        let available_ns = self.machine.window_ns * u64::from(self.machine.cores);
        self.machine.steal_ns as f64 / available_ns.max(1) as f64
    }

    /// The noun for counts, in the singular.
    pub fn unit(&self) -> &'static str {
        if self.sends_requests() {
            "request"
        } else {
            "connection"
        }
    }

    /// Returns the exit code. An error response alone is not a failure, because the target may be
    /// meant to refuse requests; checks and thresholds state the requirements.
    pub fn exit(&self) -> Exit {
        let counts = self.figures.counts();
        let check_failed = !self.judges_checks && counts.responses_failing_checks > 0;
        if self.figures.outcome.interrupted {
            Exit::Interrupted
        } else if check_failed || self.judged.iter().any(|it| !it.held) {
            Exit::CheckFailed
        } else if counts.completed == 0 {
            Exit::Inconclusive
        } else {
            Exit::Fine
        }
    }
}
