//! Interrupts a run. The first interrupt stops the run gracefully, and the second stops it
//! immediately.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::process::end_supervisors;

/// The interval between checks for an interrupt, and between signals to supervisors. A supervisor
/// kills its processes on the second signal.
const EVERY: Duration = Duration::from_millis(20);

/// The ways in which a run may have to end, from the least to the most urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    None,
    /// The load ends, the trial is recorded, and its processes are stopped gracefully. The start of
    /// a trial is cut short.
    Stop,
    /// Like [`Urgency::Stop`], but all processes are killed.
    Now,
}

/// The error of [`Interrupt::check`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

/// A flag that a signal handler raises and the run checks. Raising it is safe in a signal handler,
/// because it only changes one atomic variable.
#[derive(Debug, Default)]
pub struct Interrupt(AtomicU8);

impl Interrupt {
    pub const fn new() -> Self {
        Self(AtomicU8::new(0))
    }

    /// Requests a graceful end of the run; a second call requests an immediate end.
    pub fn raise(&self) {
        let next = |level: u8| Some(level.saturating_add(1).min(2));
        // The closure always returns a value, so this cannot fail.
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }

    pub fn urgency(&self) -> Urgency {
        match self.0.load(Ordering::Relaxed) {
            0 => Urgency::None,
            1 => Urgency::Stop,
            _ => Urgency::Now,
        }
    }

    pub fn is_raised(&self) -> bool {
        self.urgency() > Urgency::None
    }

    /// # Errors
    /// [`Interrupted`] if the interrupt was raised.
    pub fn check(&self) -> Result<(), Interrupted> {
        match self.is_raised() {
            true => Err(Interrupted),
            false => Ok(()),
        }
    }

    /// Runs blocking work that starts or stops processes. During the work, an interrupt of at least
    /// this urgency ends all supervised processes, even if it was raised before.
    pub fn cuts_short<T>(&self, urgency: Urgency, work: impl FnOnce() -> T) -> T {
        let (working, is_over) = mpsc::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                while is_over.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                    if self.urgency() >= urgency {
                        end_supervisors();
                    }
                }
            });
            // The sender is dropped at the end of the work, even if the work panics.
            let _working = working;
            work()
        })
    }
}
