//! The display for a log: a line every 5 to 60 seconds.

use std::time::{Duration, Instant};

use super::{Moment, Outlook, Show};
use crate::terminal;

/// The minimum and the maximum interval between two lines.
const EVERY: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));
/// The number of lines for a load, unless their interval would be outside the limits in [`EVERY`].
const LINES: u32 = 60;

/// Writes lines to standard error.
pub struct Lines {
    every: Duration,
    last: Option<(Instant, u64)>,
    outlook: Outlook,
}

impl Lines {
    pub fn new(outlook: Outlook) -> Self {
        Self {
            every: (outlook.measure / LINES).clamp(EVERY.0, EVERY.1),
            last: None,
            outlook,
        }
    }
}

impl Show for Lines {
    fn show(&mut self, moment: &Moment) {
        let Some(elapsed) = moment.elapsed else {
            return;
        };
        let Some((at, completed)) = self.last else {
            if !self.outlook.is_said_again {
                terminal::complain(&self.outlook.words);
            }
            self.last = Some((Instant::now(), moment.completed));
            return;
        };
        if at.elapsed() < self.every {
            return;
        }
        let rate = moment.completed.saturating_sub(completed) as f64 / at.elapsed().as_secs_f64();
        let (seconds, figures) = (elapsed.as_secs_f64(), moment.figures(rate).join(", "));
        terminal::complain(&format!("{seconds:>5.0}s  {figures}"));
        self.last = Some((Instant::now(), moment.completed));
    }
}
