//! Chooses the target of the next request by smooth weighted round robin, as nginx does. Targets
//! take turns in proportion to their weights, and the turns of a target are spread evenly.

/// One worker's rotation through the targets of an upstream.
#[derive(Clone, Debug)]
pub(crate) struct Balance {
    /// The weight and the credit of each target.
    shares: Vec<(i64, i64)>,
    total: i64,
}

impl Balance {
    pub(crate) fn new(weights: impl IntoIterator<Item = u32>) -> Self {
        let shares = weights.into_iter().map(|weight| (i64::from(weight), 0));
        let shares: Vec<(i64, i64)> = shares.collect();
        let total = shares.iter().map(|(weight, _)| weight).sum();
        Self { shares, total }
    }

    pub(crate) fn next(&mut self) -> usize {
        if self.shares.len() == 1 {
            return 0;
        }
        let (mut chosen, mut most) = (0, i64::MIN);
        for (at, (weight, credit)) in self.shares.iter_mut().enumerate() {
            *credit += *weight;
            if *credit > most {
                (chosen, most) = (at, *credit);
            }
        }
        self.shares[chosen].1 -= self.total;
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_follow_the_weights_and_are_spread_evenly() {
        let mut balance = Balance::new([5, 1, 1]);
        let turns: Vec<_> = (0..14).map(|_| balance.next()).collect();
        assert_eq!(turns, [0, 0, 1, 0, 2, 0, 0, 0, 0, 1, 0, 2, 0, 0]);
    }

    #[test]
    fn a_target_of_weight_zero_gets_no_requests() {
        let mut balance = Balance::new([0, 3, 0, 1]);
        let turns: Vec<_> = (0..8).map(|_| balance.next()).collect();
        assert_eq!(turns, [1, 1, 3, 1, 1, 1, 3, 1]);
        assert_eq!(Balance::new([7]).next(), 0);
    }
}
