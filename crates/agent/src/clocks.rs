//! Uses pings to compare an agent's clock with that of this machine.

/// The number of pings; the fastest one is used.
pub(crate) const PINGS: usize = 20;

/// The difference between an agent's clock and that of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// The agent's time minus the time on this machine, in nanoseconds.
    pub ahead_ns: i64,
    /// The maximum error of the difference, in either direction, in nanoseconds.
    pub uncertainty_ns: u64,
}

/// A ping: the time on this machine before and after it, and the agent's time in between.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ping {
    pub(crate) sent_ns: u64,
    pub(crate) there_ns: u64,
    pub(crate) received_ns: u64,
}

impl Ping {
    fn round_trip_ns(&self) -> u64 {
        self.received_ns.saturating_sub(self.sent_ns)
    }
}

impl Offset {
    /// The offset according to the fastest ping. The agent read its clock at some moment during
    /// that ping.
    pub(crate) fn of(pings: &[Ping]) -> Option<Self> {
        let fastest = pings.iter().min_by_key(|ping| ping.round_trip_ns())?;
        let half_ns = fastest.round_trip_ns() / 2;
        let middle_ns = fastest.sent_ns + half_ns;
        Some(Self {
            ahead_ns: fastest.there_ns.wrapping_sub(middle_ns).cast_signed(),
            // The middle is rounded down, which adds an error of at most 1 ns.
            uncertainty_ns: half_ns + 1,
        })
    }

    /// Converts a time on this machine's clock to the agent's clock.
    pub(crate) fn there(&self, here_ns: u64) -> u64 {
        here_ns.saturating_add_signed(self.ahead_ns)
    }

    /// Converts a time on the agent's clock to this machine's clock.
    pub(crate) fn here(&self, there_ns: u64) -> u64 {
        there_ns.saturating_add_signed(self.ahead_ns.saturating_neg())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_fastest_ping_determines_the_offset() {
        let ping = |sent_ns, there_ns, received_ns| Ping {
            sent_ns,
            there_ns,
            received_ns,
        };
        let pings = [ping(100, 9_900, 900), ping(1_000, 8_050, 1_100)];
        let offset = Offset::of(&pings).unwrap();
        assert_eq!((offset.ahead_ns, offset.uncertainty_ns), (7_000, 51));
        assert_eq!((offset.there(1), offset.here(7_001)), (7_001, 1));
        assert_eq!(Offset::of(&[]), None);
    }

    proptest! {
        #[test]
        fn the_true_offset_is_within_the_uncertainty(
            ahead_ns in -1_000_000_000_000_i64..1_000_000_000_000,
            ways_ns in proptest::collection::vec((0..9_000_000_u64, 0..9_000_000_u64), 1..20),
        ) {
            let mut now_ns = 2_000_000_000_000;
            let pings: Vec<Ping> = ways_ns
                .into_iter()
                .map(|(there_ns, back_ns)| {
                    let sent_ns = now_ns;
                    now_ns += there_ns + back_ns;
                    Ping {
                        sent_ns,
                        there_ns: (sent_ns + there_ns).saturating_add_signed(ahead_ns),
                        received_ns: now_ns,
                    }
                })
                .collect();
            let offset = Offset::of(&pings).unwrap();
            prop_assert!(offset.ahead_ns.abs_diff(ahead_ns) <= offset.uncertainty_ns);
        }
    }
}
