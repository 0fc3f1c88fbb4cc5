//! A known slow-down: a worker that burns a share of the processor time that it needs, answer by answer, so
//! that a comparison can be tried on a difference whose size is known.

use gatebench_net::clock::{now_ns, thread_cpu_ns};

/// How often the pace is set anew.
const PERIOD_NS: u64 = 5_000_000;

/// A spin that took longer than this many times its length was interrupted: only so much of it counts.
const INTERRUPTED: u64 = 4;

/// The slow-down of one worker.
#[derive(Debug)]
pub(crate) struct Handicap {
    pace: Pace,
    due_ns: u64,
}

/// How much is burnt for an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Pace {
    /// Of the time that is needed without it; 0.03 is 3 %.
    share: f64,
    burnt_ns: u64,
    answers: u64,
    answers_before: u64,
    each_ns: u64,
}

impl Pace {
    /// Sets it by the processor time used so far, what was burnt among it: what is missing so far is made up
    /// for within as many answers as there were since the last time.
    fn set(&mut self, cpu_ns: u64) {
        let needed_ns = cpu_ns.saturating_sub(self.burnt_ns) as f64;
        let owed_ns = self.share * needed_ns;
        let recent = (self.answers - self.answers_before).max(1) as f64;
        let usual_ns = owed_ns / self.answers.max(1) as f64;
        let missing_ns = owed_ns - self.burnt_ns as f64;
        self.each_ns = (usual_ns + missing_ns / recent).clamp(0.0, 2.0 * usual_ns) as u64;
        self.answers_before = self.answers;
    }
}

impl Handicap {
    /// Burns this share of what is needed.
    pub(crate) fn new(share: f64) -> Self {
        Self {
            pace: Pace {
                share,
                ..Pace::default()
            },
            due_ns: 0,
        }
    }

    /// An answer was given.
    pub(crate) fn burn(&mut self) {
        let pace = &mut self.pace;
        pace.answers += 1;
        if pace.each_ns == 0 {
            return;
        }
        let begun_ns = now_ns();
        let mut spent_ns = 0;
        while spent_ns < pace.each_ns {
            std::hint::spin_loop();
            spent_ns = now_ns() - begun_ns;
        }
        pace.burnt_ns += spent_ns.min(INTERRUPTED * pace.each_ns);
    }

    /// Once a round.
    pub(crate) fn tick(&mut self, now_ns: u64) {
        if now_ns >= self.due_ns {
            self.due_ns = now_ns + PERIOD_NS;
            self.pace.set(thread_cpu_ns());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_burnt_comes_to_the_share_that_was_asked_for() {
        let mut pace = Pace {
            share: 0.05,
            ..Pace::default()
        };
        // An answer needs 10 µs, then 30 µs; each spin takes 40 ns more than it should.
        let mut needed_ns = 0;
        for period in 0..400 {
            let each_ns = if period < 100 { 10_000 } else { 30_000 };
            for _ in 0..200 {
                pace.answers += 1;
                needed_ns += each_ns;
                if pace.each_ns > 0 {
                    pace.burnt_ns += pace.each_ns + 40;
                }
            }
            pace.set(needed_ns + pace.burnt_ns);
        }
        let share = pace.burnt_ns as f64 / needed_ns as f64;
        assert!((0.0495..0.0505).contains(&share), "{share}");
    }

    #[test]
    fn nothing_is_burnt_where_nothing_is_answered() {
        let mut pace = Pace {
            share: 1.0,
            ..Pace::default()
        };
        pace.set(1_000_000);
        assert_eq!((pace.burnt_ns, pace.answers), (0, 0));
        let mut none = Pace {
            answers: 10,
            ..Pace::default()
        };
        none.set(1_000_000);
        assert_eq!(none.each_ns, 0);
    }
}
