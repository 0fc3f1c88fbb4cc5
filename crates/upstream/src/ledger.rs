//! The ledger, which counts the requests that reached this upstream, summed over its workers.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use gatebench_net::trace::Nonce;
use serde::{Deserialize, Serialize};

use crate::counters::Counters;
use crate::health::Health;
use crate::window::{Sighting, Windows};

/// The ledger of an upstream, which its workers share. Only reading and resetting the sums take a
/// lock.
pub(crate) struct Ledger {
    workers: Box<[Counters]>,
    windows: Windows,
    /// The state of the origin, as set through the control path.
    pub(crate) health: Health,
    /// The sums at the last reset, which are subtracted from the current ones. The counters cannot
    /// be set to 0, because only their worker may write them.
    baseline: Mutex<Snapshot>,
}

/// The ledger's counts since the start or the last reset. Control connections and requests for
/// control paths are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The number of requests whose head has arrived, complete or not.
    #[serde(default)]
    pub begun: u64,
    /// The number of requests counted in `begun` that use HTTP/1.0.
    #[serde(default)]
    pub http10: u64,
    /// The number of requests counted in `begun` that use HTTP/2.
    #[serde(default)]
    pub http2: u64,
    /// The number of field lines in the requests counted in `begun`; over HTTP/2, without the
    /// pseudo-header fields.
    #[serde(default)]
    pub fields: u64,
    /// The total size of the heads of the requests counted in `begun`, as sent, in bytes; over
    /// HTTP/2, the size of the names and values.
    #[serde(default)]
    pub head_bytes: u64,
    /// The total size of the bodies of complete requests, in bytes, without their framing; 0 at the
    /// pathology origin, which ignores bodies.
    #[serde(default)]
    pub body_bytes: u64,
    /// The number of complete requests.
    pub requests: u64,
    /// The number of requests whose nonce was seen for the first time.
    pub unique: u64,
    /// The number of requests whose nonce had been seen before, because they were retried or
    /// replayed.
    pub repeated: u64,
    /// The number of requests whose nonce is older than the window of its stream (see `untracked`).
    /// The window covers 2²⁶ numbers if the upstream was started for 64 streams, and fewer for more
    /// streams.
    pub too_old: u64,
    /// The number of requests whose nonce is not remembered, because there are more streams than
    /// the upstream was started for. A stream is a pair of a load and a worker of the load
    /// generator.
    pub untracked: u64,
    /// The number of requests without a nonce or with an invalid nonce.
    pub without_nonce: u64,
    pub connections_accepted: u64,
    /// The number of open connections, which a reset does not change.
    pub connections_open: u64,
    /// The total size of the requests, in bytes, with heads and framing; over HTTP/2, all bytes
    /// received up to the last complete request.
    pub bytes_in: u64,
    /// The total size of the responses, in bytes, with heads; over HTTP/2, all bytes sent.
    pub bytes_out: u64,
    /// The number of requests that violated HTTP or exceeded a limit, plus the number of HTTP/2
    /// connections that failed for either reason.
    pub protocol_errors: u64,
    /// The number of TLS handshakes that were not completed, whichever side ended them.
    #[serde(default)]
    pub tls_handshakes_failed: u64,
    /// The CPU time of each worker.
    pub workers: Vec<WorkerCpu>,
}

impl Snapshot {
    /// Adds the counts of another origin. The workers are listed separately.
    pub fn add(&mut self, other: &Self) {
        self.change_counts(other, |sum, more| sum + more);
        self.connections_open += other.connections_open;
        self.workers.extend(other.workers.iter().cloned());
    }

    /// Replaces each count, except the number of open connections, with the result of `change` for
    /// it and the corresponding count of `other`.
    fn change_counts(&mut self, other: &Self, change: fn(u64, u64) -> u64) {
        let pairs = [
            (&mut self.begun, other.begun),
            (&mut self.http10, other.http10),
            (&mut self.http2, other.http2),
            (&mut self.fields, other.fields),
            (&mut self.head_bytes, other.head_bytes),
            (&mut self.body_bytes, other.body_bytes),
            (&mut self.requests, other.requests),
            (&mut self.unique, other.unique),
            (&mut self.repeated, other.repeated),
            (&mut self.too_old, other.too_old),
            (&mut self.untracked, other.untracked),
            (&mut self.without_nonce, other.without_nonce),
            (&mut self.connections_accepted, other.connections_accepted),
            (&mut self.bytes_in, other.bytes_in),
            (&mut self.bytes_out, other.bytes_out),
            (&mut self.protocol_errors, other.protocol_errors),
            (&mut self.tls_handshakes_failed, other.tls_handshakes_failed),
        ];
        for (own, other) in pairs {
            *own = change(*own, other);
        }
    }
}

/// The CPU time of one worker since its thread started. A reset of the ledger does not change it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerCpu {
    pub worker: usize,
    pub thread_id: i32,
    /// The CPU time by the scheduler's accounting; `None` if it cannot be read.
    pub cpu_ns: Option<u64>,
}

impl Ledger {
    pub(crate) fn new(workers: usize, streams: usize) -> Self {
        Self {
            workers: (0..workers).map(|_| Counters::default()).collect(),
            windows: Windows::new(streams),
            health: Health::default(),
            baseline: Mutex::default(),
        }
    }

    /// No other worker may add to the returned counters.
    pub(crate) fn of_worker(&self, index: usize) -> &Counters {
        &self.workers[index]
    }

    /// Counts a complete request. Returns true if its nonce had been seen before.
    pub(crate) fn note(&self, counters: &Counters, nonce: Option<Nonce>) -> bool {
        counters.requests.add(1);
        let sighting = nonce.map(|nonce| self.windows.see(nonce));
        let count = match sighting {
            None => &counters.without_nonce,
            Some(Sighting::First) => &counters.unique,
            Some(Sighting::Repeated) => &counters.repeated,
            Some(Sighting::TooOld) => &counters.too_old,
            Some(Sighting::Untracked) => &counters.untracked,
        };
        count.add(1);
        sighting == Some(Sighting::Repeated)
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut sums = self.sums();
        let base = self.baseline.lock().unwrap_or_else(PoisonError::into_inner);
        // A control connection may have been counted at the reset and subtracted since then.
        sums.change_counts(&base, u64::saturating_sub);
        sums
    }

    /// Sets all counts to 0, except the number of open connections, and forgets all nonces.
    pub(crate) fn reset(&self) {
        let mut baseline = self.baseline.lock().unwrap_or_else(PoisonError::into_inner);
        *baseline = self.sums();
        self.windows.reset();
    }

    fn sums(&self) -> Snapshot {
        let mut sums = Snapshot::default();
        for (worker, counters) in self.workers.iter().enumerate() {
            // `closed` is read before `accepted`, so that a connection that is closed between the
            // two reads still counts as open.
            let closed = counters.closed.get();
            let accepted = counters.accepted.get();
            sums.connections_open += accepted.wrapping_sub(closed);
            sums.connections_accepted += accepted;
            sums.begun += counters.begun.get();
            sums.http10 += counters.http10.get();
            sums.http2 += counters.http2.get();
            sums.fields += counters.fields.get();
            sums.head_bytes += counters.head_bytes.get();
            sums.body_bytes += counters.body_bytes.get();
            sums.requests += counters.requests.get();
            sums.unique += counters.unique.get();
            sums.repeated += counters.repeated.get();
            sums.too_old += counters.too_old.get();
            sums.untracked += counters.untracked.get();
            sums.without_nonce += counters.without_nonce.get();
            sums.bytes_in += counters.bytes_in.get();
            sums.bytes_out += counters.bytes_out.get();
            sums.protocol_errors += counters.protocol_errors.get();
            sums.tls_handshakes_failed += counters.tls_handshakes_failed.get();
            let thread_id = counters.thread_id.load(Ordering::Relaxed);
            sums.workers.push(WorkerCpu {
                worker,
                thread_id,
                cpu_ns: thread_cpu_ns(thread_id),
            });
        }
        sums
    }
}

/// Returns a thread's CPU time, in nanoseconds: the first figure in its `schedstat`.
fn thread_cpu_ns(thread_id: i32) -> Option<u64> {
    let path = format!("/proc/self/task/{thread_id}/schedstat");
    let text = std::fs::read_to_string(path).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_over_workers_and_start_again_after_a_reset() {
        let ledger = Ledger::new(2, 64);
        for worker in 0..2 {
            let counters = ledger.of_worker(worker);
            ledger.note(counters, Some(Nonce::new(1, 0, 5)));
            ledger.note(counters, None);
            counters.accepted.add(3);
            counters.closed.add(1);
        }
        let before = ledger.snapshot();
        assert_eq!((before.requests, before.unique, before.repeated), (4, 1, 1));
        assert_eq!((before.without_nonce, before.connections_accepted), (2, 6));
        assert_eq!(before.connections_open, 4);
        ledger.reset();
        let after = ledger.snapshot();
        assert_eq!((after.requests, after.connections_accepted), (0, 0));
        assert_eq!(after.connections_open, 4);
        ledger.note(ledger.of_worker(0), Some(Nonce::new(1, 0, 5)));
        assert_eq!(ledger.snapshot().unique, 1);
    }
}
