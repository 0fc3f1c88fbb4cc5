//! The record of one worker, second by second.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::counts::{Counts, add_each};
use crate::kind::{Class, Metric};
use crate::recording::Recording;
use crate::upstream_clock::Halves;

/// The number of histograms per class in every load: response, service and lateness.
const TIMED: usize = Metric::Added as usize;
/// The number of further histograms per class in a traced load: added latency and its two halves.
const TRACED: usize = Metric::Waiting as usize - TIMED;
/// The number of histograms per class for the parts of a response: service, waiting and receiving.
const PARTS: usize = 3;
/// The valid range of statuses (RFC 9110 15).
const STATUSES: Range<u16> = 100..600;

/// The record of one worker for one second, or of one group for the whole measurement.
#[derive(Clone, Debug)]
pub struct Interval {
    /// The number of the second, counted from 0 at the start of the measurement. The interval after
    /// the last second contains the drain.
    pub second: u32,
    pub counts: Counts,
    /// The number of requests in flight at the end of the second.
    pub busy: u64,
    pub halves: Halves,
    /// Responses by status, 100 to 599.
    statuses: Vec<u64>,
    /// Histograms by class. All except those of successful responses are created when the class
    /// first occurs.
    timed: [Option<Box<[Recording; TIMED]>>; Class::ALL.len()],
    /// The recordings of the metrics that only a traced load has.
    traced: [Option<Box<[Recording; TRACED]>>; Class::ALL.len()],
    /// Service, waiting and receiving times of the responses that arrived in more than one read.
    /// [`Interval::complete`] adds the other responses.
    parts: [Option<Box<[Recording; PARTS]>>; Class::ALL.len()],
    /// The CPU time of the worker's thread in this second, without the time spent on polls that
    /// found no event.
    pub cpu_ns: u64,
    /// The time during which the thread was ready but had no core.
    pub run_queue_wait_ns: u64,
}

impl Interval {
    /// Creates an empty record, with memory allocated for successful responses.
    pub fn new(checks: usize) -> Self {
        let mut interval = Self {
            second: 0,
            counts: Counts::new(checks),
            busy: 0,
            halves: Halves::default(),
            statuses: vec![0; STATUSES.len()],
            timed: Default::default(),
            traced: Default::default(),
            parts: Default::default(),
            cpu_ns: 0,
            run_queue_wait_ns: 0,
        };
        interval.class(Class::Success);
        interval.parts[Class::Success as usize] = Some(recordings());
        interval
    }

    fn class(&mut self, class: Class) -> &mut [Recording; TIMED] {
        self.timed[class as usize].get_or_insert_with(recordings)
    }

    fn recording(&mut self, class: Class, metric: Metric) -> &mut Recording {
        let number = metric as usize;
        if number < TIMED {
            &mut self.class(class)[number]
        } else if number < TIMED + TRACED {
            let traced = self.traced[class as usize].get_or_insert_with(recordings);
            &mut traced[number - TIMED]
        } else {
            let parts = self.parts[class as usize].get_or_insert_with(recordings);
            &mut parts[1 + number - TIMED - TRACED]
        }
    }

    pub(crate) fn count_status(&mut self, status: u16) {
        let place = status.wrapping_sub(STATUSES.start);
        if let Some(count) = self.statuses.get_mut(usize::from(place)) {
            *count += 1;
        }
    }

    /// Returns the number of responses by status, without the statuses that did not occur.
    pub fn statuses(&self) -> impl Iterator<Item = (u16, u64)> {
        let counted = STATUSES.zip(self.statuses.iter().copied());
        counted.filter(|(_, count)| *count > 0)
    }

    pub fn record(&mut self, class: Class, response_ns: u64, service_ns: u64, lateness_ns: u64) {
        let [response, service, lateness] = self.class(class);
        response.record(response_ns);
        service.record(service_ns);
        lateness.record(lateness_ns);
    }

    /// Records the parts of one traced request: added latency, request half and response half.
    pub fn record_trace(&mut self, class: Class, parts_ns: [u64; TRACED]) {
        let traced = self.traced[class as usize].get_or_insert_with(recordings);
        for (recording, part_ns) in traced.iter_mut().zip(parts_ns) {
            recording.record(part_ns);
        }
    }

    /// Records the added latency of one traced request whose halves are unknown.
    pub(crate) fn record_added(&mut self, class: Class, added_ns: u64) {
        self.recording(class, Metric::Added).record(added_ns);
    }

    /// Records the parts of a response that arrived in more than one read.
    pub(crate) fn record_parts(&mut self, class: Class, waiting_ns: u64, service_ns: u64) {
        let parts = self.parts[class as usize].get_or_insert_with(recordings);
        let [service, waiting, receiving] = &mut **parts;
        service.record(service_ns);
        waiting.record(waiting_ns);
        receiving.record(service_ns - waiting_ns);
    }

    /// Adds the parts of the responses that arrived in one read, which are not recorded
    /// individually: their waiting time equals their service time, and their receiving time is 0.
    pub(crate) fn complete(&mut self) {
        for (class, (timed, parts)) in self.timed.iter().zip(&mut self.parts).enumerate() {
            let Some(timed) = timed.as_ref().filter(|_| class != Class::Failed as usize) else {
                continue;
            };
            let [service, waiting, receiving] = &mut **parts.get_or_insert_with(recordings);
            let whole = timed[Metric::Service as usize].without(service);
            waiting.add(&whole);
            receiving.record_n(0, whole.histogram.len());
            service.clear();
        }
    }

    /// Returns the recordings by metric and class, without empty histograms.
    pub fn recordings(&self) -> impl Iterator<Item = (Metric, Class, &Recording)> {
        let classes = Class::ALL
            .into_iter()
            .zip(self.timed.iter().zip(&self.traced).zip(&self.parts));
        classes.flat_map(|(class, ((timed, traced), parts))| {
            let timed = timed.iter().flat_map(|it| it.iter());
            let traced = traced.iter().flat_map(|it| it.iter());
            let parts = parts.iter().flat_map(|it| it[1..].iter());
            let of_timed = Metric::ALL[..TIMED].iter().zip(timed);
            let of_traced = Metric::ALL[TIMED..].iter().zip(traced);
            let of_parts = Metric::ALL[TIMED + TRACED..].iter().zip(parts);
            of_timed
                .chain(of_traced)
                .chain(of_parts)
                .filter(|(_, recording)| !recording.histogram.is_empty())
                .map(move |(metric, recording)| (*metric, class, recording))
        })
    }

    pub fn set_status(&mut self, status: u16, count: u64) {
        let place = status.wrapping_sub(STATUSES.start);
        if let Some(counted) = self.statuses.get_mut(usize::from(place)) {
            *counted = count;
        }
    }

    pub fn add_recording(&mut self, metric: Metric, class: Class, recording: &Recording) {
        self.recording(class, metric).add(recording);
    }

    /// Adds another worker's record of the same second.
    pub fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.busy += other.busy;
        self.halves.add(&other.halves);
        add_each(&mut self.statuses, &other.statuses);
        for (metric, class, recording) in other.recordings() {
            self.add_recording(metric, class, recording);
        }
        self.cpu_ns += other.cpu_ns;
        self.run_queue_wait_ns += other.run_queue_wait_ns;
    }

    /// Empties the record so that it can be used for another second. Its memory and the values of
    /// `second` and `busy` are kept.
    pub fn clear(&mut self) {
        let mut checks_failed = std::mem::take(&mut self.counts.checks_failed);
        checks_failed.fill(0);
        self.counts = Counts {
            checks_failed,
            ..Counts::default()
        };
        self.statuses.fill(0);
        let timed = self.timed.iter_mut().flatten().flat_map(|it| it.iter_mut());
        let traced = self
            .traced
            .iter_mut()
            .flatten()
            .flat_map(|it| it.iter_mut());
        let parts = self.parts.iter_mut().flatten().flat_map(|it| it.iter_mut());
        for recording in timed.chain(traced).chain(parts) {
            if !recording.histogram.is_empty() {
                recording.clear();
            }
        }
        self.halves = Halves::default();
        (self.cpu_ns, self.run_queue_wait_ns) = (0, 0);
    }
}

/// The times of the request that was sent first, on `CLOCK_MONOTONIC` in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstRequest {
    pub due_ns: u64,
    pub sent_ns: u64,
}

impl FirstRequest {
    /// The value before any request is sent.
    pub(crate) const NONE: Self = Self {
        due_ns: u64::MAX,
        sent_ns: u64::MAX,
    };
}

fn recordings<const N: usize>() -> Box<[Recording; N]> {
    Box::new(std::array::from_fn(|_| Recording::new()))
}
