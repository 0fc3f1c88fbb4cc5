//! Coordinates the trials of one block that run together. They wait for each other when all must be
//! ready, and take turns when one must run alone.
//!
//! Two processes that run at the same time on the same cores are disturbed equally by other work on
//! the machine. The ratio of their CPU times therefore varies less than that of two processes in
//! consecutive trials: Bulej, Horký, Tůma, Farquet and Prokopec, *Duet Benchmarking: Improving
//! Measurement Accuracy in the Cloud*, ICPE 2020.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gatebench_testbed::Interrupt;

use crate::abort::Abort;

/// The interval at which a waiting trial checks for an interrupt.
const EVERY: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(crate) struct Lockstep {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The number of trials that are still running.
    members: usize,
    /// The number of running trials that are waiting for the others.
    waiting: usize,
    /// The number of times that all members waited and were released.
    meetings: u64,
    /// The indexes of the members, in the order of their turns.
    turns: VecDeque<usize>,
    /// True while the first member in `turns` is taking its turn.
    is_taken: bool,
    /// The indexes of members whose warm-up is over while others are still warming up.
    warm: BTreeSet<usize>,
    /// The number of common starts, and the time of the last one in nanoseconds.
    begins: (u64, u64),
}

impl State {
    fn begin_if_warm(&mut self, at_ns: u64) {
        if self.members > 0 && self.warm.len() == self.members {
            self.warm.clear();
            self.begins = (self.begins.0 + 1, at_ns);
        }
    }

    /// Releases the waiting members if every member is waiting.
    fn meet_if_whole(&mut self) {
        if self.members > 0 && self.waiting == self.members {
            self.waiting = 0;
            self.meetings += 1;
        }
    }
}

impl Lockstep {
    /// Creates a lockstep of this number of members, which take turns in this order.
    pub(crate) fn of(members: usize, turns: Vec<usize>) -> Self {
        Self {
            state: Mutex::new(State {
                members,
                turns: turns.into(),
                ..State::default()
            }),
            changed: Condvar::new(),
        }
    }

    /// Returns the member with this index. It leaves the lockstep when it is dropped.
    pub(crate) fn member(&self, place: usize) -> Member<'_> {
        Member {
            lockstep: self,
            place,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No change to the state can be interrupted by a panic, so the state is always valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn until(
        &self,
        interrupt: &Interrupt,
        is_so: impl Fn(&State) -> bool,
    ) -> Result<MutexGuard<'_, State>, Abort> {
        let mut state = self.state();
        while !is_so(&state) {
            interrupt.check()?;
            let waited = self.changed.wait_timeout(state, EVERY);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(state)
    }
}

/// A trial of the block. The other members do not wait for a member that was dropped.
#[derive(Debug)]
pub(crate) struct Member<'a> {
    lockstep: &'a Lockstep,
    place: usize,
}

impl<'a> Member<'a> {
    /// Waits until all members that are still running have also called this method.
    ///
    /// # Errors
    /// The run was interrupted.
    pub(crate) fn meet(&self, interrupt: &Interrupt) -> Result<(), Abort> {
        let lockstep = self.lockstep;
        let meeting = {
            let mut state = lockstep.state();
            state.waiting += 1;
            let meeting = state.meetings;
            state.meet_if_whole();
            lockstep.changed.notify_all();
            meeting
        };
        lockstep
            .until(interrupt, |state| state.meetings > meeting)
            .map(drop)
    }

    /// Ends this member's warm-up. Returns the ticket for [`Self::begin_ns`].
    pub(crate) fn is_ready(&self, at_ns: u64) -> u64 {
        let mut state = self.lockstep.state();
        let ticket = state.begins.0;
        state.warm.insert(self.place);
        state.begin_if_warm(at_ns);
        ticket
    }

    /// Returns the common start of the measurements, or `None` until every member has warmed up. If
    /// the last member that had not warmed up has left, the first call after that sets the start to
    /// `at_ns`.
    pub(crate) fn begin_ns(&self, ticket: u64, at_ns: u64) -> Option<u64> {
        let mut state = self.lockstep.state();
        if state.begins.0 == ticket {
            state.begin_if_warm(at_ns);
        }
        (state.begins.0 > ticket).then_some(state.begins.1)
    }

    /// Waits for this member's turn, during which no other member takes one. The turn ends when the
    /// guard is dropped.
    ///
    /// # Errors
    /// The run was interrupted.
    pub(crate) fn turn(&self, interrupt: &Interrupt) -> Result<impl Drop + 'a, Abort> {
        let is_next = |state: &State| !state.is_taken && state.turns.front() == Some(&self.place);
        let mut state = self.lockstep.until(interrupt, is_next)?;
        state.is_taken = true;
        Ok(Turn(self.lockstep))
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        let mut state = self.lockstep.state();
        state.members -= 1;
        state.warm.remove(&self.place);
        state.turns.retain(|place| *place != self.place);
        state.meet_if_whole();
        self.lockstep.changed.notify_all();
    }
}

struct Turn<'a>(&'a Lockstep);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        {
            let mut state = self.0.state();
            state.is_taken = false;
            state.turns.pop_front();
        }
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn all_meet_before_any_continues_and_members_that_left_are_not_awaited() {
        let (lockstep, interrupt) = (Lockstep::of(4, Vec::new()), Interrupt::new());
        let arrived = AtomicUsize::new(0);
        thread::scope(|scope| {
            drop(lockstep.member(3));
            for place in 0..3 {
                let (lockstep, interrupt, arrived) = (&lockstep, &interrupt, &arrived);
                scope.spawn(move || {
                    let member = lockstep.member(place);
                    for meeting in 1..=50 {
                        arrived.fetch_add(1, Ordering::SeqCst);
                        member.meet(interrupt).unwrap();
                        assert!(arrived.load(Ordering::SeqCst) >= 3 * meeting);
                    }
                });
            }
        });
        assert_eq!(arrived.load(Ordering::SeqCst), 150);
    }

    #[test]
    fn members_take_turns_in_the_given_order() {
        let turns = [2, 0, 1, 3, 1, 2, 0, 3, 0, 1, 2];
        let lockstep = Lockstep::of(4, turns.to_vec());
        let (interrupt, had) = (Interrupt::new(), Mutex::new(Vec::new()));
        let inside = AtomicUsize::new(0);
        // The fourth member leaves before its turn, and the other members continue without it.
        drop(lockstep.member(3));
        thread::scope(|scope| {
            for place in 0..3 {
                let (lockstep, interrupt, had, inside) = (&lockstep, &interrupt, &had, &inside);
                scope.spawn(move || {
                    let member = lockstep.member(place);
                    for _ in 0..3 {
                        let _turn = member.turn(interrupt).unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        had.lock().unwrap().push(place);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(had.into_inner().unwrap(), [2, 0, 1, 1, 2, 0, 0, 1, 2]);
    }

    #[test]
    fn all_measurements_start_when_the_last_member_is_warm_or_has_left() {
        let lockstep = Lockstep::of(3, Vec::new());
        let [first, second, third] = [0, 1, 2].map(|place| lockstep.member(place));
        let ticket = first.is_ready(100);
        assert_eq!(first.begin_ns(ticket, 110), None);
        second.is_ready(200);
        third.is_ready(300);
        assert_eq!(first.begin_ns(ticket, 310), Some(300));
        // Before the next start, one member leaves while the other two wait for it.
        let tickets = [first.is_ready(400), second.is_ready(410)];
        drop(third);
        assert_eq!(second.begin_ns(tickets[1], 500), Some(500));
        assert_eq!(first.begin_ns(tickets[0], 520), Some(500));
    }

    #[test]
    fn an_interrupt_ends_the_wait() {
        let (lockstep, interrupt) = (Lockstep::of(2, vec![1, 0]), Interrupt::new());
        interrupt.raise();
        let member = lockstep.member(0);
        assert!(matches!(member.meet(&interrupt), Err(Abort::Interrupted)));
        assert!(matches!(member.turn(&interrupt), Err(Abort::Interrupted)));
    }
}
