//! The bodies that are waiting to be sent to one target.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::refusal::{Refusal, Then};
use super::target::Target;

/// The age beyond which a waiting body is dropped.
const KEPT_FOR: Duration = Duration::from_secs(120);
const BYTES_MAX: usize = 64 << 20;
/// The maximum size of a push that combines several bodies.
const PUSH_BYTES: usize = 4 << 20;
/// The maximum number of attempts to send a body that the server may already have received.
const ATTEMPTS_MAX: u32 = 4;
/// The pause after the first failure. After each further failure in a row, the pause doubles, up to
/// [`PAUSE_MAX`]. A pause that the server requests replaces this pause.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(8);

#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Body>,
    /// The number of bodies that are being sent.
    under_way: usize,
    /// True if each push has only one body, because the server refused a larger push.
    one_at_a_time: bool,
    delivered: u64,
    dropped: u64,
    /// The CPU time of encoding the bodies.
    encoding_ns: u64,
    /// The CPU time of the sending thread.
    sending_ns: u64,
    failures_in_a_row: u32,
    probe: Option<Result<(), Refusal>>,
    /// The first failure, until it is reported.
    failure: Option<Refusal>,
    has_failed: bool,
    /// The deadline for sending; `None` until the queue is closed.
    until: Option<Instant>,
    is_over: bool,
}

/// The encoded facts of about one second.
#[derive(Clone, Debug)]
pub(super) struct Body {
    made: Instant,
    attempts: u32,
    bytes: Vec<u8>,
}

impl Body {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self {
            made: Instant::now(),
            attempts: 0,
            bytes,
        }
    }
}

/// Bodies that are sent together.
type Push = Vec<Body>;

pub(super) fn bytes(push: &[Body]) -> Vec<u8> {
    push.iter()
        .flat_map(|body| body.bytes.iter().copied())
        .collect()
}

/// The result of sending to one target, at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The target, without secrets.
    pub target: String,
    /// The number of parts, of about a second each, that were delivered.
    pub delivered: u64,
    pub dropped: u64,
    /// CPU time of encoding and sending.
    pub cpu: Duration,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a body. `cpu_ns` is the CPU time of its encoding. The oldest bodies are dropped if they
    /// are too old or too many bytes are waiting.
    pub(super) fn add(&self, body: Body, cpu_ns: u64) {
        let mut state = self.state();
        state.encoding_ns += cpu_ns;
        state.waiting.push_back(body);
        state.drop_old();
        self.changed.notify_all();
    }

    /// Waits for bodies to send, and returns them; `None` once sending has ended.
    pub(super) fn next(&self) -> Option<Push> {
        let mut state = self.state();
        loop {
            let is_past = state.until.is_some_and(|until| Instant::now() >= until);
            let is_empty = state.waiting.is_empty() && state.until.is_some();
            if is_past || is_empty {
                state.dropped += state.waiting.len() as u64;
                state.waiting.clear();
                state.is_over = true;
                self.changed.notify_all();
                return None;
            }
            if !state.waiting.is_empty() {
                return Some(state.take());
            }
            state = self.wait(state, KEPT_FOR);
        }
    }

    /// Waits for this long, but not beyond the end of sending. If the queue is closed, waits only
    /// after a failure.
    pub(super) fn pause(&self, pause: Duration) {
        let end = Instant::now() + pause;
        let mut state = self.state();
        loop {
            let now = Instant::now();
            let end = state.until.map_or(end, |until| end.min(until));
            let is_idle = state.until.is_some() && state.failures_in_a_row == 0;
            if now >= end || is_idle {
                return;
            }
            state = self.wait(state, end - now);
        }
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, most: Duration) -> MutexGuard<'a, State> {
        let waited = self.changed.wait_timeout(state, most);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    pub(super) fn probed(&self, result: Result<(), Refusal>) {
        let mut state = self.state();
        state.probe = Some(result);
        self.changed.notify_all();
    }

    pub(super) fn await_probe(&self, until: Instant) -> Option<Result<(), Refusal>> {
        let mut state = self.state();
        while state.probe.is_none() && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now());
            state = self.wait(state, left);
        }
        state.probe.take()
    }

    /// Sets the CPU time that the sending thread has used so far.
    pub(super) fn spent(&self, cpu_ns: u64) {
        self.state().sending_ns = cpu_ns;
    }

    pub(super) fn delivered(&self, push: &[Body]) {
        let mut state = self.state();
        state.under_way = 0;
        state.failures_in_a_row = 0;
        state.delivered += push.len() as u64;
    }

    /// Puts the bodies of a failed push back into the queue, if they may be sent again. Returns the
    /// pause before the next attempt.
    pub(super) fn refused(&self, push: Push, refusal: Refusal) -> Duration {
        let mut state = self.state();
        state.under_way = 0;
        let then = refusal.then;
        if !state.has_failed {
            state.has_failed = true;
            state.failure = Some(refusal);
        }
        if then == Then::Smaller && push.len() > 1 {
            state.one_at_a_time = true;
            state.put_back(push);
            return Duration::ZERO;
        }
        let doubled = PAUSE_MIN * (1 << state.failures_in_a_row.min(3));
        let doubled = doubled.min(PAUSE_MAX);
        state.failures_in_a_row += 1;
        match then {
            Then::Again => {
                state.put_back(push);
                doubled
            }
            Then::Retry(pause) => {
                let mut again = push;
                again.iter_mut().for_each(|body| body.attempts += 1);
                let before = again.len();
                again.retain(|body| body.attempts < ATTEMPTS_MAX);
                state.dropped += (before - again.len()) as u64;
                state.put_back(again);
                pause.unwrap_or(doubled)
            }
            Then::Smaller | Then::Drop => {
                state.dropped += push.len() as u64;
                state.failures_in_a_row = 0;
                Duration::ZERO
            }
        }
    }

    /// Returns the first failure, but only once.
    pub(super) fn take_failure(&self) -> Option<Refusal> {
        self.state().failure.take()
    }

    /// Suppresses the warning about any failure, because the failed probe has already been
    /// reported.
    pub(super) fn has_been_reported(&self) {
        let mut state = self.state();
        state.has_failed = true;
        state.failure = None;
    }

    /// Returns the deadline of a request: the usual deadline, or the end of sending if that is
    /// earlier.
    pub(super) fn deadline(&self, usual: Instant) -> Instant {
        self.state().until.map_or(usual, |until| until.min(usual))
    }

    /// Closes the queue: no further body follows, and sending ends by this time.
    pub(super) fn close(&self, until: Instant) {
        let mut state = self.state();
        state.until.get_or_insert(until);
        self.changed.notify_all();
    }

    /// Waits for the end of sending, but not beyond the time given to [`Queue::close`].
    pub(super) fn await_end(&self, target: &Target) -> Delivery {
        let mut state = self.state();
        while let Some(until) = state.until
            && !state.is_over
            && Instant::now() < until
        {
            let left = until.saturating_duration_since(Instant::now());
            state = self.wait(state, left);
        }
        let undelivered = (state.waiting.len() + state.under_way) as u64;
        Delivery {
            target: target.to_string(),
            delivered: state.delivered,
            dropped: state.dropped + undelivered,
            cpu: Duration::from_nanos(state.encoding_ns + state.sending_ns),
        }
    }
}

impl State {
    fn take(&mut self) -> Push {
        let mut bodies = Vec::new();
        let mut bytes = 0;
        while let Some(body) = self.waiting.front()
            && (bodies.is_empty()
                || (!self.one_at_a_time && bytes + body.bytes.len() <= PUSH_BYTES))
        {
            bytes += body.bytes.len();
            bodies.extend(self.waiting.pop_front());
        }
        self.under_way = bodies.len();
        bodies
    }

    fn put_back(&mut self, push: Push) {
        for body in push.into_iter().rev() {
            self.waiting.push_front(body);
        }
        self.drop_old();
    }

    fn drop_old(&mut self) {
        let bytes = |all: &VecDeque<Body>| all.iter().map(|it| it.bytes.len()).sum::<usize>();
        while let Some(oldest) = self.waiting.front()
            && (oldest.made.elapsed() > KEPT_FOR || bytes(&self.waiting) > BYTES_MAX)
        {
            self.waiting.pop_front();
            self.dropped += 1;
        }
    }
}

#[cfg(test)]
mod tests;
