//! Ends a load after the last arrival.

use gatebench_net::Io;

use crate::error::EngineError;
use crate::load::nanos;
use crate::record::Interval;

use super::group::GroupState;
use super::{Ended, NAP_NS, Worker};

impl<I: Io> Worker<'_, I> {
    /// Ends the window at `now`, after which no arrival is due.
    pub(super) fn cut_short(&mut self, now: u64) {
        let was_measuring = self.seal_at_ns != self.measure_ns;
        self.end_ns = now;
        self.measure_ns = self.measure_ns.min(now);
        self.recorder.window = self.measure_ns..now;
        for group in &mut self.groups {
            group.next_due_ns = None;
        }
        if !was_measuring {
            self.seal_at_ns = self.measure_ns;
        }
        self.seal(now);
    }

    /// Waits until no response is pending and no queued arrival can be sent, until the drain ends,
    /// or until the load is stopped.
    pub(super) fn drain(mut self) -> Result<Ended, EngineError> {
        let mut limit = self.end_ns + nanos(self.compiled.load.drain);
        let mut events = Vec::new();
        let mut now = self.io.now_ns();
        limit += self.stall_ns(now);
        while (self.recorder.busy > 0 || self.is_queued()) && now < limit {
            self.io.poll(Some(limit.min(now + NAP_NS)), &mut events)?;
            now = self.io.now_ns();
            limit += self.stall_ns(now);
            self.take(&mut events, now);
            self.upkeep(now);
            self.interrupted |= self.compiled.control.stopped();
            if self.interrupted {
                break;
            }
        }
        if !self.interrupted {
            self.drop_queued();
            self.expire_all(now);
        }
        self.hand_out();
        // The records must be completed now, before they are merged with those of other workers.
        let groups = &mut self.recorder.kept.groups;
        groups.iter_mut().for_each(Interval::complete);
        Ok(Ended {
            start_ns: self.start_ns,
            window_ns: (self.measure_ns, self.end_ns),
            drained_ns: now.saturating_sub(self.end_ns),
            interrupted: self.interrupted,
            first: self.recorder.first,
            kept: self.recorder.kept,
        })
    }

    /// Reports whether arrivals are waiting for a connection and may get one.
    fn is_queued(&self) -> bool {
        let waits = |it: &GroupState| !it.queue.is_empty() && !it.is_cut_off();
        self.groups.iter().any(waits)
    }

    fn drop_queued(&mut self) {
        let window = self.measure_ns..self.end_ns;
        for (number, group) in self.groups.iter_mut().enumerate() {
            let unsent = group.queue.drain(..).filter(|due| window.contains(due));
            let dropped = unsent.count() as u64;
            self.recorder
                .note(number, |it| it.counts.dropped += dropped);
        }
    }
}
