//! Counts the requests that reach the upstream during a load, the gateway's threads, and the bytes
//! that the gateway writes to files.

use std::collections::BTreeMap;

use gatebench_store::{GatewayWire, UpstreamWire};
use gatebench_testbed::probe::Outside;
use gatebench_upstream::Snapshot;

use crate::numbers::count;

/// A thread counts as a worker if it did at least one twentieth of the work.
const BUSY_PART: u64 = 20;

pub(crate) fn upstream(before: &Snapshot, after: &Snapshot) -> UpstreamWire {
    let gained = |of: fn(&Snapshot) -> u64| of(after).saturating_sub(of(before));
    UpstreamWire {
        requests: gained(|it| it.begun),
        connections: gained(|it| it.connections_accepted),
        http10: gained(|it| it.http10),
        http2: gained(|it| it.http2),
        fields: gained(|it| it.fields),
        head_bytes: gained(|it| it.head_bytes),
        body_bytes: gained(|it| it.body_bytes),
    }
}

/// Returns the numbers of the gateway's threads and workers, and the growth of the files that the
/// gateway writes.
pub(crate) fn gateway(before: &Outside, after: &Outside) -> GatewayWire {
    let worked = gained(&before.threads, &after.threads);
    let all: u64 = worked.iter().sum();
    let is_busy = |own: &&u64| **own > 0 && **own * BUSY_PART >= all;
    GatewayWire {
        written_bytes: gained(&before.files, &after.files).iter().sum(),
        threads: count(after.threads.len()),
        threads_busy: count(worked.iter().filter(is_busy).count()),
    }
}

/// Returns the growth of each value; a value that did not exist before counts from zero.
fn gained<K: Ord + Copy>(before: &[(K, u64)], after: &[(K, u64)]) -> Vec<u64> {
    let before: BTreeMap<K, u64> = before.iter().copied().collect();
    let gained =
        |(key, value): &(K, u64)| value.saturating_sub(before.get(key).copied().unwrap_or(0));
    after.iter().map(gained).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside(threads: &[((u32, u32), u64)], files: &[((u64, u64), u64)]) -> Outside {
        Outside {
            threads: threads.to_vec(),
            files: files.to_vec(),
        }
    }

    #[test]
    fn workers_are_the_threads_that_worked() {
        let before = outside(&[((1, 1), 900), ((1, 2), 100)], &[((0, 7), 10)]);
        let threads = [((1, 1), 900), ((1, 2), 1_090), ((1, 3), 50), ((1, 4), 9)];
        let after = outside(&threads, &[((0, 7), 40), ((0, 8), 5)]);
        let wire = gateway(&before, &after);
        // A twentieth of 1,049 (990, and two new threads with 50 and 9) is 52.
        assert_eq!((wire.threads, wire.threads_busy), (4, 1));
        assert_eq!(wire.written_bytes, 35);
        let idle = outside(&[((1, 1), 5)], &[]);
        assert_eq!(gateway(&idle, &idle).threads_busy, 0);
    }

    #[test]
    fn the_counts_of_a_load_are_the_growth_of_the_ledger() {
        let before = Snapshot {
            begun: 3,
            fields: 10,
            connections_accepted: 2,
            ..Snapshot::default()
        };
        let after = Snapshot {
            begun: 13,
            fields: 50,
            connections_accepted: 6,
            http10: 1,
            ..Snapshot::default()
        };
        let wire = upstream(&before, &after);
        assert_eq!((wire.requests, wire.fields), (10, 40));
        assert_eq!((wire.connections, wire.http10), (4, 1));
    }
}
