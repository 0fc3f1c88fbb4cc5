//! A known amount of extra work for each response, to try comparisons on a difference whose size is
//! measured separately: a part of it in user code, a part in system calls.

use std::hint::black_box;
use std::os::unix::process::parent_id;
use std::str::FromStr;

/// The extra work for each response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Handicap {
    /// Turns of a loop in user code.
    pub spins: u32,
    /// System calls; a fraction is one every few responses.
    pub calls: f64,
}

impl Handicap {
    /// The most system calls for each response.
    const CALLS_MAX: f64 = 1_000.0;

    /// Does the extra work of this number of responses and nothing else, to measure its cost.
    pub fn alone(self, responses: u64) {
        let mut load = Burden::new(self);
        for _ in 0..responses {
            load.bear();
        }
    }
}

impl FromStr for Handicap {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let parsed = word.split_once(',').and_then(|(spins, calls)| {
            let calls: f64 = calls.parse().ok()?;
            let spins = spins.parse().ok()?;
            let is_right = (0.0..=Self::CALLS_MAX).contains(&calls);
            is_right.then_some(Self { spins, calls })
        });
        parsed.ok_or_else(|| {
            "this is no handicap: write turns of a loop and system calls for each response, as in 300,0.5".into()
        })
    }
}

/// The handicap of one worker.
#[derive(Debug)]
pub(crate) struct Burden {
    handicap: Handicap,
    /// System calls that are due.
    owed: f64,
}

impl Burden {
    pub(crate) fn new(handicap: Handicap) -> Self {
        Self {
            handicap,
            owed: 0.0,
        }
    }

    /// Does the extra work of a response.
    #[inline(never)]
    pub(crate) fn bear(&mut self) {
        for turn in 0..self.handicap.spins {
            black_box(turn);
        }
        self.owed += self.handicap.calls;
        while self.owed >= 1.0 {
            self.owed -= 1.0;
            // It takes no lock and touches little memory, so its cost does not depend on other
            // work.
            black_box(parent_id());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gatebench_net::clock::thread_cpu_ns;

    use super::*;

    #[test]
    fn a_handicap_is_turns_and_system_calls() {
        let handicap: Handicap = "300,0.5".parse().unwrap();
        assert_eq!((handicap.spins, handicap.calls), (300, 0.5));
        for wrong in ["", "3%", "300", "-1,1", "1,-1", "1,nan", "1,1001"] {
            let said = wrong.parse::<Handicap>().unwrap_err();
            assert!(said.contains("as in 300,0.5"), "{wrong}: {said}");
        }
    }

    #[test]
    fn a_fraction_of_a_call_is_made_now_and_then() {
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

    #[test]
    fn more_work_takes_more_time() {
        let time = |spins, calls| {
            let began = thread_cpu_ns();
            Handicap { spins, calls }.alone(2_000);
            thread_cpu_ns() - began
        };
        let none = time(0, 0.0);
        assert!(time(2_000, 0.0) > 2 * none);
        assert!(time(0, 20.0) > 2 * none);
    }
}
