//! The counts of a load.

use serde::{Deserialize, Serialize};

use crate::kind::{Class, ErrorKind};

/// The counts of one worker, group or second, or of a whole load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Arrivals that were due in the measured window.
    pub intended: u64,
    /// Requests that were sent for these arrivals.
    pub sent: u64,
    /// Requests among `sent` that got a complete response.
    pub completed: u64,
    /// Responses that arrived within the window, no matter when their requests were due. The
    /// throughput is computed from these.
    pub completed_in_window: u64,
    /// Responses among `completed`, by [`Class`].
    pub by_class: [u64; Class::ALL.len()],
    /// Requests among `sent` without a complete response, by [`ErrorKind`].
    pub errors: [u64; ErrorKind::ALL.len()],
    /// Arrivals that were never sent, because the queue was full or the drain ended first.
    pub dropped: u64,
    /// The maximum length of one worker's queue for one group.
    pub queued_max: u64,
    /// Responses that failed a check, by the check's number.
    pub checks_failed: Vec<u64>,
    /// Responses that failed at least one check.
    pub responses_failing_checks: u64,
    /// Connections that were established, including those made before the measurement.
    pub connections_opened: u64,
    /// Attempts to connect that failed within the window, by [`ErrorKind`]. They are not failed
    /// requests, because a connection is made before it gets a request. In a connection-only load,
    /// each attempt counts as a request, so failed attempts are in `errors`.
    pub connections_failed: [u64; ErrorKind::ALL.len()],
    /// Bytes of the requests in `sent`, including heads but not the overhead of TLS.
    pub bytes_sent: u64,
    /// Bytes that arrived within the window on established connections, including heads and the
    /// overhead of TLS.
    pub bytes_received: u64,
    /// Responses for which all four times are known: when the request was sent and received, and
    /// when the response was sent and received.
    pub traced: u64,
    /// Responses that do not state the upstream's times although the request had a nonce.
    pub untimed: u64,
    /// Responses whose times belong to the nonce of another request.
    pub foreign: u64,
}

impl Counts {
    pub(crate) fn new(checks: usize) -> Self {
        Self {
            checks_failed: vec![0; checks],
            ..Self::default()
        }
    }

    /// Adds the counts of another worker or second. Of the two maximum queue lengths, the larger
    /// one remains.
    pub fn add(&mut self, other: &Self) {
        self.intended += other.intended;
        self.sent += other.sent;
        self.completed += other.completed;
        self.completed_in_window += other.completed_in_window;
        add_each(&mut self.by_class, &other.by_class);
        add_each(&mut self.errors, &other.errors);
        self.dropped += other.dropped;
        self.queued_max = self.queued_max.max(other.queued_max);
        self.checks_failed
            .resize(self.checks_failed.len().max(other.checks_failed.len()), 0);
        add_each(&mut self.checks_failed, &other.checks_failed);
        self.responses_failing_checks += other.responses_failing_checks;
        self.connections_opened += other.connections_opened;
        add_each(&mut self.connections_failed, &other.connections_failed);
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.traced += other.traced;
        self.untimed += other.untimed;
        self.foreign += other.foreign;
    }
}

pub(crate) fn add_each(to: &mut [u64], from: &[u64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}
