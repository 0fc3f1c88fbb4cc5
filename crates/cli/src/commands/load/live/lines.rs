//! A line every few seconds, for logs.

use std::time::{Duration, Instant};

use gatebench_analysis::findings::Unit;
use gatebench_analysis::format::{grouped, quantity};

use super::{Moment, Outlook, Show};
use crate::terminal;

/// A day's load has a line a minute, a short one a line every five seconds.
const EVERY: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));
/// Lines of a load, about.
const LINES: u32 = 60;

/// Writes lines to standard error.
pub struct Lines {
    every: Duration,
    last: Option<(Instant, u64)>,
    outlook: Outlook,
}

impl Lines {
    /// Writes nothing until the load begins.
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
        let mut line = format!(
            "{:>5.0}s  {}",
            elapsed.as_secs_f64(),
            quantity(rate, Unit::RequestsPerSecond)
        );
        if let Some((p50, p99)) = moment.response_ns {
            let time = |ns| quantity(ns as f64, Unit::Nanoseconds);
            line += &format!(", p50 {}, p99 {}", time(p50), time(p99));
        }
        if moment.queued > 0 {
            line += &format!(", {} queued", grouped(moment.queued as f64));
        }
        if moment.failed > 0 {
            line += &format!(", {} without a response", grouped(moment.failed as f64));
        }
        terminal::complain(&line);
        self.last = Some((Instant::now(), moment.completed));
    }
}
