//! Deadlines of one loop: a queue ordered by time, and a deadline that is cheap to move.
//!
//! No clock is read: the time is an argument in nanoseconds. Pass [`Timers::next_ns`] to
//! [`crate::Io::poll`], so that the poll ends in time for the next deadline.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Keys with their due times. A key that is no longer needed is not removed: the caller must
/// recognize it as stale when it is returned, for example by the generation in a [`crate::ConnId`].
#[derive(Debug)]
pub struct Timers<K> {
    heap: BinaryHeap<Reverse<Entry<K>>>,
    scheduled: u64,
}

impl<K> Default for Timers<K> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            scheduled: 0,
        }
    }
}

#[derive(Debug)]
struct Entry<K> {
    due_ns: u64,
    order: u64,
    key: K,
}

impl<K> PartialEq for Entry<K> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<K> Eq for Entry<K> {}

impl<K> PartialOrd for Entry<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> Ord for Entry<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due_ns, self.order).cmp(&(other.due_ns, other.order))
    }
}

impl<K> Timers<K> {
    /// Queues `key` for `due_ns`; keys with equal times are returned in the order in which they
    /// were queued.
    pub fn schedule(&mut self, due_ns: u64, key: K) {
        self.heap.push(Reverse(Entry {
            due_ns,
            order: self.scheduled,
            key,
        }));
        self.scheduled += 1;
    }

    pub fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(entry)| entry.due_ns)
    }

    pub fn pop_due(&mut self, now_ns: u64) -> Option<K> {
        if self.next_ns()? > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry.key)
    }

    /// The number of waiting keys, including stale ones.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

/// A deadline that moves with every request, but costs a queue operation only when it becomes
/// earlier than its queue entry or when that entry is returned: a timeout of 30 s costs one entry
/// per 30 s, not one per request.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    due_ns: u64,
    armed_ns: u64,
}

impl Default for Deadline {
    fn default() -> Self {
        Self {
            due_ns: u64::MAX,
            armed_ns: u64::MAX,
        }
    }
}

impl Deadline {
    pub fn set<K>(&mut self, due_ns: u64, key: K, timers: &mut Timers<K>) {
        self.due_ns = due_ns;
        if due_ns < self.armed_ns {
            self.armed_ns = due_ns;
            timers.schedule(due_ns, key);
        }
    }

    /// Removes the deadline until the next [`Deadline::set`].
    pub fn clear(&mut self) {
        self.due_ns = u64::MAX;
    }

    /// Reports whether the deadline has passed, and if so, clears it. Call this when the queue
    /// returns `key`. A deadline that has moved to a later time is queued again.
    pub fn expired<K>(&mut self, now_ns: u64, key: K, timers: &mut Timers<K>) -> bool {
        if self.due_ns <= now_ns {
            *self = Self::default();
            return true;
        }
        if self.armed_ns <= now_ns {
            self.armed_ns = u64::MAX;
            if self.due_ns != u64::MAX {
                self.set(self.due_ns, key, timers);
            }
        }
        false
    }
}
