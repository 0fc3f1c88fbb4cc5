//! Periodic work: reconnecting, the end of think times, changes in the number of connections,
//! timeouts, and the end of each second.

use std::cmp::Reverse;

use gatebench_net::{ConnId, Io};

use crate::connection::{Connection, State};
use crate::kind::ErrorKind;
use crate::load::nanos;
use crate::record::Interval;
use crate::response::Exchange;

use super::group::GroupState;
use super::{NAP_NS, RECONNECT_PAUSE_NS, SECOND_NS, Worker};

/// The number of searches for timed-out requests within the shortest timeout. The two bounds below
/// limit the time between searches.
const EXPIRY_PARTS: u64 = 20;
const EXPIRY_EVERY_MIN_NS: u64 = 1_000_000;
const EXPIRY_EVERY_MAX_NS: u64 = 50_000_000;

/// The shortest gap between two rounds that is treated as a stall. A worker sleeps for at most
/// `NAP_NS`, so a longer gap usually means that the machine was paused or that other threads had
/// the core.
const STALL_MIN_NS: u64 = 5 * NAP_NS;

impl<I: Io> Worker<'_, I> {
    /// Returns the time since the last round, or 0 if it is too short to be a stall. After a stall,
    /// the next search for timed-out requests waits for as long as the stall lasted, but for at
    /// most a second. Responses that have already arrived, or that come from a server paused at the
    /// same time, are therefore still read. Their latency includes the stall.
    pub(super) fn stall_ns(&mut self, now: u64) -> u64 {
        let gap_ns = now.saturating_sub(std::mem::replace(&mut self.round_ns, now));
        if gap_ns < STALL_MIN_NS {
            return 0;
        }
        self.expire_at_ns = self.expire_at_ns.max(now + gap_ns.min(SECOND_NS));
        gap_ns
    }

    pub(super) fn upkeep(&mut self, now: u64) {
        for group in 0..self.groups.len() {
            self.reconnect(group, now);
            self.wake_users(group, now);
            let next_change_ns = self.groups[group].next_change_ns;
            if next_change_ns.is_some_and(|at| at <= now) {
                self.repopulate(group, now);
            }
        }
        if now >= self.expire_at_ns {
            self.expire_at_ns = now + self.expiry_every_ns();
            self.expire(now);
            self.expire_connecting(now);
        }
    }

    fn expiry_every_ns(&self) -> u64 {
        let timeouts = self.groups.iter().map(|it| nanos(it.settings.timeout));
        let part_ns = timeouts.min().unwrap_or(u64::MAX) / EXPIRY_PARTS;
        part_ns.clamp(EXPIRY_EVERY_MIN_NS, EXPIRY_EVERY_MAX_NS)
    }

    /// Closes connections that take longer to open than a request may take.
    fn expire_connecting(&mut self, now: u64) {
        let is_late = |group: &GroupState<'_>, it: &Connection| {
            let timeout_ns = nanos(group.settings.timeout);
            it.state == State::Connecting && it.begun_ns.saturating_add(timeout_ns) <= now
        };
        self.time_out(is_late, now);
    }

    fn reconnect(&mut self, group: usize, now: u64) {
        if self.open_due(group, now).is_err() {
            self.not_connected(group, ErrorKind::Connect, now);
            let again = now + RECONNECT_PAUSE_NS;
            self.groups[group].connects.push_back(again);
        } else if self.groups[group].handshakes {
            self.serve_queue(group);
        }
    }

    /// Sends the requests of users whose think time has ended. The requests are due at the end of
    /// that time.
    fn wake_users(&mut self, group: usize, now: u64) {
        while let Some(Reverse((due_ns, conn))) = self.groups[group].thinking.peek().copied()
            && due_ns <= now
            && now < self.end_ns
        {
            self.groups[group].thinking.pop();
            let Some(connection) = self.conns.get(conn) else {
                self.wake_orphan(group, due_ns);
                continue;
            };
            // The users of a surplus connection leave with it.
            if connection.leaving {
                continue;
            }
            if self.groups[group].has_too_many() {
                self.retire(conn, now);
            } else if self.groups[group].take_request() {
                self.count_arrival(group, due_ns);
                let sent_ns = self.io.now_ns();
                self.issue(conn, due_ns, sent_ns);
            }
        }
    }

    /// Sends the request of a user whose connection was lost during the think time, on any free
    /// connection. A user whose connection was not replaced has left.
    fn wake_orphan(&mut self, group: usize, due_ns: u64) {
        let state = &mut self.groups[group];
        if state.orphans == 0 {
            return;
        }
        state.orphans -= 1;
        if state.take_request() {
            state.queue.push_back(due_ns);
            self.count_arrival(group, due_ns);
            self.serve_queue(group);
        }
    }

    /// Opens missing connections or closes surplus idle ones. Surplus busy ones end after their
    /// response.
    fn repopulate(&mut self, group: usize, now: u64) {
        let after_start_ns = now.saturating_sub(self.start_ns);
        let state = &mut self.groups[group];
        let next = state.repopulate(after_start_ns);
        state.next_change_ns = next.map(|at| self.start_ns + at);
        let planned = state.have + state.connects.len() as u32;
        for _ in planned..state.wanted {
            state.connects.push_back(now);
        }
        let mut surplus = 0;
        for _ in state.wanted..planned {
            surplus += usize::from(state.connects.pop_back().is_some());
        }
        while self.groups[group].has_too_many()
            && let Some(conn) = self.groups[group].idle.pop_front()
        {
            // Over HTTP/2, a connection occurs once for each of its free streams.
            let idle = self.groups[group].idle.iter();
            surplus += 1 + idle.filter(|it| **it == conn).count();
            self.retire(conn, now);
        }
        self.remove_orphans(group, surplus);
        self.reconnect(group, now);
    }

    /// Removes users that think without a connection, at most `surplus` of them.
    fn remove_orphans(&mut self, group: usize, surplus: usize) {
        let (conns, state) = (&self.conns, &mut self.groups[group]);
        let mut leaving = surplus.min(state.orphans);
        if leaving == 0 {
            return;
        }
        state.orphans -= leaving;
        state.thinking.retain(|it| {
            let leaves = leaving > 0 && conns.get(it.0.1).is_none();
            leaving -= usize::from(leaves);
            !leaves
        });
    }

    /// Fails every request that has been in flight for at least its group's timeout.
    fn expire(&mut self, now: u64) {
        let groups = self.groups.iter();
        let timeouts: Vec<u64> = groups.map(|it| nanos(it.settings.timeout)).collect();
        self.expire_where(
            |group, it| it.sent_ns.saturating_add(timeouts[group]) <= now,
            now,
        );
    }

    pub(super) fn expire_all(&mut self, now: u64) {
        self.expire_where(|_, _| true, now);
    }

    fn expire_where(&mut self, is_late: impl Fn(usize, &Exchange) -> bool, now: u64) {
        let is_expired = |group: &GroupState<'_>, it: &Connection| {
            is_under_way(it, group.handshakes) && is_late(it.group, &it.response.exchange)
        };
        self.time_out(is_expired, now);
        self.expire_streams(is_late, now);
    }

    fn time_out(&mut self, is_late: impl Fn(&GroupState<'_>, &Connection) -> bool, now: u64) {
        let groups = &self.groups;
        let late =
            |(conn, it): (ConnId, &mut Connection)| is_late(&groups[it.group], it).then_some(conn);
        let expired: Vec<ConnId> = self.conns.iter_mut().filter_map(late).collect();
        for conn in expired {
            self.fail(conn, ErrorKind::Timeout, now);
        }
    }

    /// Ends the current interval and begins the next. The first call only marks the start of the
    /// measurement.
    pub(super) fn seal(&mut self, now: u64) {
        let (cpu_ns, run_queue_wait_ns) = self.cost.since_last();
        // Polling is not work, because without it the thread would sleep.
        let cpu_ns = cpu_ns.saturating_sub(self.watch.end_second(run_queue_wait_ns));
        for (_, connection) in self.conns.iter_mut() {
            if let Some(http2) = &mut connection.http2 {
                http2.client.refill_budgets();
            }
        }
        if self.seal_at_ns == self.measure_ns {
            let opened = self.recorder.interval.counts.connections_opened;
            self.recorder.interval.clear();
            self.recorder.interval.counts.connections_opened = opened;
        } else {
            self.recorder.interval.cpu_ns = cpu_ns;
            self.recorder.interval.run_queue_wait_ns = run_queue_wait_ns;
            self.hand_out();
        }
        self.seal_at_ns = if now >= self.end_ns {
            u64::MAX
        } else {
            (self.seal_at_ns + SECOND_NS).min(self.end_ns)
        };
        // A worker that slept through a boundary has nothing to record for the seconds it missed.
        while self.seal_at_ns <= now {
            self.seal_at_ns = (self.seal_at_ns + SECOND_NS).min(self.end_ns.max(now + 1));
        }
        self.recorder.interval.second = self.second_under_way();
    }

    /// Returns the number of the second that ends at the next boundary or, after the last second,
    /// the number of the interval that contains the drain.
    fn second_under_way(&self) -> u32 {
        let whole_ns = self.end_ns - self.measure_ns;
        let number = match self.seal_at_ns {
            u64::MAX => whole_ns.div_ceil(SECOND_NS),
            at => (at.min(self.end_ns) - 1 - self.measure_ns) / SECOND_NS,
        };
        number as u32
    }

    pub(super) fn hand_out(&mut self) {
        self.recorder.interval.busy = self.recorder.busy as u64;
        let checks = self.compiled.check_count;
        let next = self
            .outlet
            .empty
            .pop()
            .unwrap_or_else(|_| Box::new(Interval::new(checks)));
        let mut full = std::mem::replace(&mut self.recorder.interval, next);
        // The queue is full only if the collector has not run for about a minute.
        while let Err(rtrb::PushError::Full(back)) = self.outlet.full.push(full) {
            full = back;
            std::thread::yield_now();
        }
    }
}

/// Reports whether a connection has a response pending, has not sent its request completely or, in
/// a connection-only load, has not been made yet.
fn is_under_way(connection: &Connection, handshakes: bool) -> bool {
    match connection.state {
        State::Busy => true,
        State::Connecting => handshakes,
        // Otherwise, a server that responds early and then stops reading would occupy the
        // connection forever.
        State::Idle => connection.waits_to_send,
    }
}
