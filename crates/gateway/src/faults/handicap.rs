//! A known amount of extra work for each response, part of it in user code and part in system
//! calls. It is used to test whether comparisons find a difference whose size is measured
//! separately.

use std::hint::black_box;
use std::os::unix::process::parent_id;
use std::str::FromStr;

/// The extra work for each response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Handicap {
    /// The number of loop iterations in user code for each response.
    pub spins: u32,
    /// The average number of system calls for each response. If it is not a whole number, some
    /// responses cause one call more than others.
    pub calls: f64,
}

impl Handicap {
    const CALLS_MAX: f64 = 1_000.0;

    /// Does only the extra work of this number of responses, to measure its cost.
    pub fn alone(self, responses: u64) {
        let mut load = Burden::new(self);
        for _ in 0..responses {
            load.bear();
        }
    }
}

/// The error for text that is not a [`Handicap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is not a handicap: write ITERATIONS,CALLS (loop iterations and system calls per \
     response), for example 300,0.5"
)]
pub struct NotHandicap;

impl FromStr for Handicap {
    type Err = NotHandicap;

    fn from_str(word: &str) -> Result<Self, NotHandicap> {
        let parsed = word.split_once(',').and_then(|(spins, calls)| {
            let calls: f64 = calls.parse().ok()?;
            let spins = spins.parse().ok()?;
            let is_right = (0.0..=Self::CALLS_MAX).contains(&calls);
            is_right.then_some(Self { spins, calls })
        });
        parsed.ok_or(NotHandicap)
    }
}

#[derive(Debug)]
pub(crate) struct Burden {
    handicap: Handicap,
    /// The number of system calls, including fractions, that are still due.
    owed: f64,
}

impl Burden {
    pub(crate) fn new(handicap: Handicap) -> Self {
        Self {
            handicap,
            owed: 0.0,
        }
    }

    #[inline(never)]
    pub(crate) fn bear(&mut self) {
        for turn in 0..self.handicap.spins {
            black_box(turn);
        }
        self.owed += self.handicap.calls;
        while self.owed >= 1.0 {
            self.owed -= 1.0;
            // The call takes no lock and touches little memory, so its cost hardly depends on other
            // work.
            black_box(parent_id());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_of_calls_add_up() {
        let mut load = Burden::new(Handicap {
            spins: 0,
            calls: 0.4,
        });
        let mut made = 0.0;
        for _ in 0..1_000 {
            let before = load.owed;
            load.bear();
            made += before + 0.4 - load.owed;
        }
        assert!((399.0..=400.5).contains(&made), "{made}");
    }
}
