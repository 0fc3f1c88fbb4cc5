//! Separates the upstream's responses from others by the nonces that they return.

use std::time::{SystemTime, UNIX_EPOCH};

use gatebench_store::{LedgerDelta, TraceCounts};

/// The number by which a run's first tag grows for each second that the run starts later.
const TAGS_PER_SECOND: f64 = 16.0;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Responses of the measurement with their own nonce and times.
    pub(crate) traced: u64,
    /// Responses of the measurement without times.
    pub(crate) untimed: u64,
    /// Responses of the measurement with the nonce of another request.
    pub(crate) foreign: u64,
    /// Responses of the measurement to requests that the gateway itself must serve.
    pub(crate) meant_for_gateway: u64,
    /// All responses of the load, including the warm-up.
    pub(crate) responses: u64,
}

/// Distinguishes responses to requests that never reached the upstream from responses whose header
/// was stripped.
///
/// The load generator alone cannot distinguish these two kinds, because neither has times. The
/// ledger counts the nonces of the load, including the warm-up, that reached the upstream. If there
/// are at least as many nonces as responses, every response is assumed to come from the upstream,
/// and the gateway stripped the header of the untimed responses. Otherwise, the share of requests
/// that reached the upstream is assumed to be the same in the warm-up and the measurement. Then
/// `measured × reached ÷ all` responses of the measurement came from the upstream, where `measured`
/// is the number of responses of the measurement, `reached` the number of nonces, and `all` the
/// number of responses of the load. Some of the responses from the upstream are traced; the gateway
/// stripped the header of the others. Responses to requests that the gateway itself must serve do
/// not count as stripped. Without a ledger (the upstream of an attached gateway may be the user's),
/// requests with untimed responses count as never having reached the upstream.
///
/// Repeated nonces are counted over the whole load, including the warm-up. The upstream responds to
/// a repeated nonce without times, so up to the same number of untimed responses are neither
/// stripped nor cached.
pub(crate) fn account(seen: Seen, ledger: Option<&LedgerDelta>) -> TraceCounts {
    let (traced, untimed, foreign) = (seen.traced, seen.untimed, seen.foreign);
    let reached = ledger.map_or(0, |ledger| ledger.unique);
    let measured = traced + untimed + foreign;
    let from_upstream = if reached >= seen.responses && ledger.is_some() {
        measured
    } else {
        let share = reached as f64 / seen.responses.max(1) as f64;
        (measured as f64 * share).round() as u64
    };
    let repeated_at_upstream = ledger.map_or(0, |ledger| ledger.repeated);
    let retried = repeated_at_upstream.min(untimed);
    let unexplained = untimed - retried;
    let meant_for_gateway = seen.meant_for_gateway.min(unexplained);
    let header_stripped = from_upstream
        .saturating_sub(traced + retried)
        .min(unexplained - meant_for_gateway);
    TraceCounts {
        traced,
        never_reached_upstream: unexplained - header_stripped,
        meant_for_gateway,
        header_stripped,
        foreign,
        repeated_at_upstream,
    }
}

/// Counts the responses if requests carry no nonce. In that case, only the ledger's number of
/// requests is known. Responses beyond this number did not come from the upstream; the gateway
/// itself may have been meant to send some of them.
pub(crate) fn without_nonces(seen: Seen, ledger: Option<&LedgerDelta>) -> TraceCounts {
    let reached = ledger.map_or(seen.responses, |ledger| ledger.requests);
    let never_reached_upstream = seen.responses.saturating_sub(reached);
    TraceCounts {
        never_reached_upstream,
        meant_for_gateway: seen.meant_for_gateway.min(never_reached_upstream),
        ..TraceCounts::default()
    }
}

/// Returns the tag of the nonces of one part of a trial: the parity cases before (slot 0) and after
/// the load (slot 1), then each phase. The tags of one trial differ; tags repeat after 65,536
/// parts.
pub(crate) fn tag(first: u16, trial: u32, slots: u32, slot: u32) -> u16 {
    u32::from(first)
        .wrapping_add(trial.wrapping_mul(slots))
        .wrapping_add(slot) as u16
}

/// Returns the first tag of a run that starts at this time. An upstream that the user started
/// remembers the nonces of earlier runs, so tags advance with time, usually by more per second than
/// a run uses. They repeat after 4,096 s.
pub(crate) fn first_tag(now: SystemTime) -> u16 {
    let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    (since_epoch.as_secs_f64() * TAGS_PER_SECOND) as u64 as u16
}

/// Derives a 16-bit seed for the load of one part of a trial from the plan's seed.
pub(crate) fn load_seed(seed: u64, trial: u32, slots: u32, slot: u32) -> u16 {
    let first = seed ^ (seed >> 16) ^ (seed >> 32) ^ (seed >> 48);
    tag(first as u16, trial, slots, slot)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name; the counts of the load generator (traced, untimed, foreign, meant for the gateway,
    /// all responses of the load); the ledger's unique and repeated nonces; and the expected counts
    /// in the order of their fields.
    type Case = (&'static str, [u64; 5], Option<[u64; 2]>, [u64; 6]);

    const CASES: [Case; 9] = [
        (
            "a plain proxy traces everything",
            [900, 0, 0, 0, 1_000],
            Some([1_004, 0]),
            [900, 0, 0, 0, 0, 0],
        ),
        (
            "a retry is neither stripped nor cached",
            [890, 10, 0, 0, 1_000],
            Some([1_000, 10]),
            [890, 0, 0, 0, 0, 10],
        ),
        (
            "a stripped header is not a cache",
            [0, 900, 0, 0, 1_000],
            Some([1_000, 0]),
            [0, 0, 0, 900, 0, 0],
        ),
        (
            // The warm-up has fewer refusals, so the estimate is slightly too high.
            "an expected refusal is not a stripped header",
            [600, 300, 0, 300, 1_000],
            Some([680, 0]),
            [600, 300, 300, 0, 0, 0],
        ),
        (
            "a mock never reaches the upstream",
            [0, 900, 0, 0, 1_000],
            Some([0, 0]),
            [0, 900, 0, 0, 0, 0],
        ),
        (
            // Half of all responses come from the upstream, and these are traced.
            "a cache that drops the nonce",
            [450, 450, 0, 0, 1_000],
            Some([500, 0]),
            [450, 450, 0, 0, 0, 0],
        ),
        (
            "a cache that replays the nonce",
            [1, 0, 899, 0, 1_000],
            Some([1, 0]),
            [1, 0, 0, 0, 899, 0],
        ),
        (
            "without a ledger untimed responses count as cached",
            [5, 7, 0, 0, 12],
            None,
            [5, 7, 0, 0, 0, 0],
        ),
        ("nothing sent", [0; 5], Some([0; 2]), [0; 6]),
    ];

    #[test]
    fn the_ledger_separates_responses() {
        for (name, seen, ledger, expected) in CASES {
            let [traced, untimed, foreign, meant_for_gateway, responses] = seen;
            let seen = Seen {
                traced,
                untimed,
                foreign,
                meant_for_gateway,
                responses,
            };
            let ledger = ledger.map(|[unique, repeated]| LedgerDelta {
                unique,
                repeated,
                ..LedgerDelta::default()
            });
            let counts = account(seen, ledger.as_ref());
            let counts = [
                counts.traced,
                counts.never_reached_upstream,
                counts.meant_for_gateway,
                counts.header_stripped,
                counts.foreign,
                counts.repeated_at_upstream,
            ];
            assert_eq!(counts, expected, "{name}");
        }
    }

    #[test]
    fn consecutive_runs_have_different_tags() {
        let at = |seconds| first_tag(UNIX_EPOCH + std::time::Duration::from_secs(seconds));
        assert_eq!(at(101).wrapping_sub(at(100)), 16);
        assert_eq!(at(4_096), at(0));
    }

    #[test]
    fn tags_of_successive_parts_differ() {
        let tags: std::collections::BTreeSet<u16> = (1..=100)
            .flat_map(|trial| (0..4).map(move |slot| tag(7, trial, 4, slot)))
            .collect();
        assert_eq!(tags.len(), 400);
    }
}
