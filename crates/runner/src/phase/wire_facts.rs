//! Counts what goes over the wire during a load in addition to what the scenario asks for.

use gatebench_store::{UpstreamWire, WireFacts};
use gatebench_upstream::Snapshot;

use crate::testbed::sampler::Outside;

/// What the upstream's ledger gained.
fn upstream(before: &Snapshot, after: &Snapshot) -> UpstreamWire {
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

/// Everything counted of one load, from the ledger and the processes before and after it.
pub(crate) fn facts(
    (answers, client_connections): (u64, u64),
    ledger: Option<(&Snapshot, &Snapshot)>,
    gateway: Option<(&Outside, &Outside)>,
) -> WireFacts {
    WireFacts {
        answers,
        client_connections,
        upstream: ledger.map(|(before, after)| upstream(before, after)),
        gateway: gateway.map(|(before, after)| before.until(after)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_of_a_load_is_what_was_gained() {
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
