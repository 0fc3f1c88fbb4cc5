//! Separates responses of the upstream from others by the nonces that came back.

use gatebench_store::{LedgerDelta, TraceCounts};

/// What the engine saw of a load.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Answers of the measurement with their own nonce and times.
    pub(crate) traced: u64,
    /// Answers of the measurement without times.
    pub(crate) untimed: u64,
    /// Answers of the measurement with another request's nonce.
    pub(crate) foreign: u64,
    /// Answers of the measurement to requests that the gateway is to answer by itself.
    pub(crate) meant_for_gateway: u64,
    /// All answers of the load, those of the warm-up included.
    pub(crate) answers: u64,
}

/// Tells answers that never reached the upstream from answers whose header was stripped.
///
/// The engine alone cannot: both come without times. The ledger knows how many nonces of the load,
/// warm-up included, reached the upstream. Where that is at least the number of answers, every answer
/// came from there, and an untimed one was stripped. Else the share of those that reached it is
/// taken to be the same in warm-up and measurement, so that of the measurement's answers
/// `answers × reached ÷ all answers` came from the upstream; the traced ones are among them, and
/// the rest of them was stripped. What the gateway was to answer by itself was not. Without a ledger
/// (an attached gateway's upstream is not ours) untimed answers count as never having reached it.
///
/// Repeated nonces are counted over the whole load: a retry in the warm-up is a retry. The upstream
/// answers a repeated nonce without times, so as many untimed answers are neither stripped nor cached.
pub(crate) fn account(seen: Seen, ledger: Option<&LedgerDelta>) -> TraceCounts {
    let Seen {
        traced,
        untimed,
        foreign,
        meant_for_gateway,
        answers,
    } = seen;
    let reached = ledger.map_or(0, |ledger| ledger.unique);
    let measured = traced + untimed + foreign;
    let from_upstream = if reached >= answers && ledger.is_some() {
        measured
    } else {
        let share = reached as f64 / answers.max(1) as f64;
        (measured as f64 * share).round() as u64
    };
    let repeated_at_upstream = ledger.map_or(0, |ledger| ledger.repeated);
    let retried = repeated_at_upstream.min(untimed);
    let unexplained = untimed - retried;
    let meant_for_gateway = meant_for_gateway.min(unexplained);
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

/// Where requests carry no nonce, the ledger's number of requests is all there is: more answers than those came
/// from somewhere else, and from the gateway where it was to answer by itself.
pub(crate) fn without_nonces(seen: Seen, ledger: Option<&LedgerDelta>) -> TraceCounts {
    let reached = ledger.map_or(seen.answers, |ledger| ledger.requests);
    let never_reached_upstream = seen.answers.saturating_sub(reached);
    TraceCounts {
        never_reached_upstream,
        meant_for_gateway: seen.meant_for_gateway.min(never_reached_upstream),
        ..TraceCounts::default()
    }
}

/// The tag of the nonces of one part of a trial: the parity cases before (slot 0) and after the load
/// (slot 1), then each phase. Tags of one trial differ, those of other trials come back after 65,536.
pub(crate) fn tag(seed: u64, trial: u32, slots: u32, slot: u32) -> u16 {
    let start = (seed ^ (seed >> 16) ^ (seed >> 32) ^ (seed >> 48)) as u32;
    start
        .wrapping_add(trial.wrapping_mul(slots))
        .wrapping_add(slot) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(unique: u64) -> LedgerDelta {
        LedgerDelta {
            unique,
            ..LedgerDelta::default()
        }
    }

    fn told(counts: TraceCounts) -> (u64, u64, u64, u64) {
        (
            counts.traced,
            counts.never_reached_upstream,
            counts.header_stripped,
            counts.foreign,
        )
    }

    #[test]
    fn a_plain_proxy_traces_everything() {
        let seen = Seen {
            traced: 900,
            untimed: 0,
            foreign: 0,
            meant_for_gateway: 0,
            answers: 1_000,
        };
        assert_eq!(told(account(seen, Some(&ledger(1_004)))), (900, 0, 0, 0));
    }

    #[test]
    fn a_retry_is_neither_stripped_nor_cached() {
        let seen = Seen {
            traced: 890,
            untimed: 10,
            foreign: 0,
            meant_for_gateway: 0,
            answers: 1_000,
        };
        let ledger = LedgerDelta {
            repeated: 10,
            ..ledger(1_000)
        };
        let counts = account(seen, Some(&ledger));
        assert_eq!(told(counts), (890, 0, 0, 0));
        assert_eq!(counts.repeated_at_upstream, 10);
    }

    #[test]
    fn a_stripped_header_is_not_a_cache() {
        let seen = Seen {
            untimed: 900,
            answers: 1_000,
            ..Seen::default()
        };
        assert_eq!(told(account(seen, Some(&ledger(1_000)))), (0, 0, 900, 0));
    }

    #[test]
    fn a_refusal_that_is_meant_is_not_a_stripped_header() {
        // Of the warm-up's answers fewer were refusals, so that the shares tell a little too much.
        let seen = Seen {
            traced: 600,
            untimed: 300,
            meant_for_gateway: 300,
            foreign: 0,
            answers: 1_000,
        };
        let counts = account(seen, Some(&ledger(680)));
        assert_eq!(told(counts), (600, 300, 0, 0));
        assert_eq!(counts.meant_for_gateway, 300);
    }

    #[test]
    fn a_mock_reaches_nobody() {
        let seen = Seen {
            untimed: 900,
            answers: 1_000,
            ..Seen::default()
        };
        assert_eq!(told(account(seen, Some(&ledger(0)))), (0, 900, 0, 0));
    }

    #[test]
    fn a_cache_that_forgets_the_nonce_and_one_that_replays_it() {
        // Half of all answers come from the upstream, and those are traced.
        let seen = Seen {
            traced: 450,
            untimed: 450,
            foreign: 0,
            meant_for_gateway: 0,
            answers: 1_000,
        };
        assert_eq!(told(account(seen, Some(&ledger(500)))), (450, 450, 0, 0));
        let seen = Seen {
            traced: 1,
            untimed: 0,
            foreign: 899,
            meant_for_gateway: 0,
            answers: 1_000,
        };
        assert_eq!(told(account(seen, Some(&ledger(1)))), (1, 0, 0, 899));
    }

    #[test]
    fn without_a_ledger_untimed_answers_are_taken_for_cached() {
        let seen = Seen {
            traced: 5,
            untimed: 7,
            foreign: 0,
            meant_for_gateway: 0,
            answers: 12,
        };
        assert_eq!(told(account(seen, None)), (5, 7, 0, 0));
    }

    #[test]
    fn nothing_sent_is_nothing_told() {
        assert_eq!(
            account(Seen::default(), Some(&LedgerDelta::default())),
            TraceCounts::default()
        );
    }

    #[test]
    fn tags_of_neighbours_differ() {
        let tags: std::collections::BTreeSet<u16> = (1..=100)
            .flat_map(|trial| (0..4).map(move |slot| tag(7, trial, 4, slot)))
            .collect();
        assert_eq!(tags.len(), 400);
    }
}
