//! After the last arrival.

use gatebench_net::Io;

use crate::run::{EngineError, nanos};

use super::{Ended, NAP_NS, Worker};

impl<I: Io> Worker<'_, I> {
    /// Ends the window now.
    pub(super) fn cut_short(&mut self, now: u64) {
        self.end_ns = now;
        self.measure_ns = self.measure_ns.min(now);
        self.next_due_ns = None;
        self.seal_at_ns = if self.seal_at_ns == self.measure_ns {
            now
        } else {
            self.seal_at_ns
        };
        self.seal(now);
    }

    /// Waits for the answers under way and the arrivals still queued.
    pub(super) fn drain(&mut self) -> Result<Ended, EngineError> {
        let mut limit = self.end_ns + nanos(self.compiled.load.drain);
        let mut events = Vec::new();
        let mut now = self.io.now_ns();
        limit += self.stall_ns(now);
        while (self.busy > 0 || !self.queue.is_empty()) && now < limit {
            self.io.poll(Some(limit.min(now + NAP_NS)), &mut events)?;
            now = self.io.now_ns();
            limit += self.stall_ns(now);
            self.take(&mut events, now);
            self.upkeep(now);
            if self.interrupted {
                break;
            }
        }
        if !self.interrupted {
            self.expire(u64::MAX, now);
            let unsent = self
                .queue
                .drain(..)
                .filter(|due| (self.measure_ns..self.end_ns).contains(due));
            self.interval.counts.dropped += unsent.count() as u64;
        }
        self.hand_out();
        Ok(Ended {
            start_ns: self.start_ns,
            window_ns: (self.measure_ns, self.end_ns),
            drained_ns: now.saturating_sub(self.end_ns),
            interrupted: self.interrupted,
        })
    }
}
