//! Passes facts about a load to the outputs as soon as they are known.

use gatebench_engine::Interval;
use gatebench_studies::common::facts::Reason;

use super::samples::{Moment, steps};
use super::watch::Shared;
use crate::numbers::count;
use crate::outputs::{LoadFeed, Window};

#[derive(Clone, Copy)]
pub(crate) struct Tap<'a> {
    pub(crate) feed: &'a LoadFeed<'a>,
    shared: &'a Shared,
    measure_ns: u64,
}

impl<'a> Tap<'a> {
    pub(crate) fn new(feed: &'a LoadFeed<'a>, shared: &'a Shared, measure_ns: u64) -> Self {
        Self {
            feed,
            shared,
            measure_ns,
        }
    }

    /// The time span of the measurement; `None` until its start is known.
    fn window(&self) -> Option<Window> {
        let begin_ns = self.shared.begin_ns()?;
        Some(Window {
            begin_ns,
            measure_ns: self.measure_ns,
        })
    }

    /// Adds a second of the load, or its drain.
    pub(crate) fn second(&self, interval: &Interval) {
        if let Some(window) = self.window() {
            self.feed.second(window, interval);
        }
    }

    pub(crate) fn usage(&self, moments: &[Moment]) {
        if let Some((window, [.., from, to])) = self.window().zip(Some(moments)) {
            let second = count(moments.len() - 2);
            self.feed.usage(window, second, steps(from, to));
        }
    }

    pub(crate) fn ended(&self, reasons: &[Reason]) {
        self.feed.judged(reasons);
        self.feed.ended();
    }
}
