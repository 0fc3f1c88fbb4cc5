//! Passes on facts about a load to the outputs as soon as they are known.

use std::collections::BTreeMap;

use gatebench_engine::Interval;
use gatebench_studies::common::facts::Reason;

use super::samples::{Moment, step};
use super::watch::Shared;
use crate::outputs::{LoadFeed, Window};

/// The outputs for a load, with its time span.
#[derive(Clone, Copy)]
pub(crate) struct Tap<'a> {
    feed: &'a LoadFeed<'a>,
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

    /// The time span of the measurement; none if its start is not known yet, when nothing was
    /// measured.
    fn window(&self) -> Option<Window> {
        let begin_ns = self.shared.begin_ns()?;
        let measure_ns = self.measure_ns;
        Some(Window {
            begin_ns,
            measure_ns,
        })
    }

    /// Adds a second of the load, or its drain.
    pub(crate) fn second(&self, interval: &Interval) {
        if let Some(window) = self.window() {
            self.feed.second(window, interval);
        }
    }

    /// Adds the second that ends with the last of these samples.
    pub(crate) fn usage(&self, moments: &[Moment]) {
        let Some((window, [.., from, to])) = self.window().zip(Some(moments)) else {
            return;
        };
        let second = u32::try_from(moments.len() - 2).unwrap_or(u32::MAX);
        let components = [
            (
                "gateway",
                from.gateway
                    .zip(to.gateway)
                    .map(|(from, to)| step(&from, &to)),
            ),
            ("engine", Some(step(&from.own, &to.own))),
            (
                "upstream",
                from.upstream
                    .zip(to.upstream)
                    .map(|(from, to)| step(&from, &to)),
            ),
        ];
        self.feed.usage(window, second, &components);
    }

    /// Adds the gateway's own metrics.
    pub(crate) fn own(&self, requests: Option<u64>, pools: &BTreeMap<String, u64>) {
        self.feed.own(requests, pools);
    }

    /// Adds the judgement and ends the load.
    pub(crate) fn ended(&self, reasons: &[Reason]) {
        self.feed.judged(reasons);
        self.feed.ended();
    }
}
