//! The interrupt of a run: one stops it in order, a second one stops it at once.

use std::sync::atomic::{AtomicU8, Ordering};

/// How urgently the run shall end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// It goes on.
    None,
    /// The load ends, the trial is recorded as interrupted, and everything is taken down in order.
    Stop,
    /// As [`Urgency::Stop`], but what was started is killed.
    Now,
}

/// Set by a signal handler, read by the run. Raising it touches one atomic, so that a handler may.
#[derive(Debug, Default)]
pub struct Interrupt(AtomicU8);

impl Interrupt {
    /// One that nobody has raised.
    pub const fn new() -> Self {
        Self(AtomicU8::new(0))
    }

    /// Makes the run end; the second time at once.
    pub fn raise(&self) {
        let next = |level: u8| Some(level.saturating_add(1).min(2));
        // The closure always gives a value, so this cannot fail.
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }

    /// How urgently the run shall end.
    pub fn urgency(&self) -> Urgency {
        match self.0.load(Ordering::Relaxed) {
            0 => Urgency::None,
            1 => Urgency::Stop,
            _ => Urgency::Now,
        }
    }

    /// Whether the run shall end.
    pub fn is_raised(&self) -> bool {
        self.urgency() > Urgency::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_raise_is_more_urgent_up_to_the_second() {
        let interrupt = Interrupt::new();
        let mut seen = vec![interrupt.urgency()];
        for _ in 0..3 {
            interrupt.raise();
            seen.push(interrupt.urgency());
        }
        assert_eq!(
            seen,
            [Urgency::None, Urgency::Stop, Urgency::Now, Urgency::Now]
        );
    }
}
