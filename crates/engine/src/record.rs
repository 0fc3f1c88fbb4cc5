//! What one worker records, second by second.

use crate::counts::Counts;
use crate::kind::{Class, Metric};
use crate::recording::Recording;

/// Histograms of one class that every load has: response, service, lateness.
const TIMED: usize = Metric::Added as usize;
/// Those that only a traced load has: added and its two halves.
const TRACED: usize = Metric::ALL.len() - TIMED;

/// One second of one worker.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Seconds since the measurement began. The interval after the last whole one holds the drain.
    pub second: u32,
    /// What was counted.
    pub counts: Counts,
    /// Histograms by class; made when a class first occurs.
    timed: [Option<Box<[Recording; TIMED]>>; Class::ALL.len()],
    /// The same for what only a traced load has.
    traced: [Option<Box<[Recording; TRACED]>>; Class::ALL.len()],
    /// CPU time of the worker's thread in this second, without what it watched for events, nanoseconds.
    pub cpu_ns: u64,
    /// Time the thread was ready but had no core, nanoseconds.
    pub run_queue_wait_ns: u64,
}

impl Interval {
    /// An empty record with room for the class that is expected.
    pub fn new(checks: usize) -> Self {
        let mut interval = Self {
            second: 0,
            counts: Counts {
                checks_failed: vec![0; checks],
                ..Counts::default()
            },
            timed: Default::default(),
            traced: Default::default(),
            cpu_ns: 0,
            run_queue_wait_ns: 0,
        };
        interval.class(Class::Success);
        interval
    }

    fn class(&mut self, class: Class) -> &mut [Recording; TIMED] {
        self.timed[class as usize].get_or_insert_with(recordings)
    }

    fn recording(&mut self, class: Class, metric: Metric) -> &mut Recording {
        let number = metric as usize;
        match number.checked_sub(TIMED) {
            None => &mut self.class(class)[number],
            Some(number) => {
                let traced = self.traced[class as usize].get_or_insert_with(recordings);
                &mut traced[number]
            }
        }
    }

    /// Records response, service and lateness of one request.
    pub fn record(&mut self, class: Class, response_ns: u64, service_ns: u64, lateness_ns: u64) {
        let [response, service, lateness] = self.class(class);
        response.record(response_ns);
        service.record(service_ns);
        lateness.record(lateness_ns);
    }

    /// Records the parts of one traced request: added, request half, response half.
    pub fn record_trace(&mut self, class: Class, parts_ns: [u64; TRACED]) {
        let traced = self.traced[class as usize].get_or_insert_with(recordings);
        for (recording, part_ns) in traced.iter_mut().zip(parts_ns) {
            recording.record(part_ns);
        }
    }

    /// Everything recorded, by metric and class; empty histograms are left out.
    pub fn recordings(&self) -> impl Iterator<Item = (Metric, Class, &Recording)> {
        let classes = Class::ALL
            .into_iter()
            .zip(self.timed.iter().zip(&self.traced));
        classes.flat_map(|(class, (timed, traced))| {
            let timed = timed.iter().flat_map(|it| it.iter());
            let traced = traced.iter().flat_map(|it| it.iter());
            let of_timed = Metric::ALL[..TIMED].iter().zip(timed);
            let of_traced = Metric::ALL[TIMED..].iter().zip(traced);
            of_timed
                .chain(of_traced)
                .filter(|(_, recording)| !recording.histogram.is_empty())
                .map(move |(metric, recording)| (*metric, class, recording))
        })
    }

    /// Adds another worker's record of the same second.
    pub fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        for (metric, class, recording) in other.recordings() {
            self.recording(class, metric).add(recording);
        }
        self.cpu_ns += other.cpu_ns;
        self.run_queue_wait_ns += other.run_queue_wait_ns;
    }

    /// Empties the record for another second, keeping its memory.
    pub fn clear(&mut self) {
        let mut checks_failed = std::mem::take(&mut self.counts.checks_failed);
        checks_failed.fill(0);
        self.counts = Counts {
            checks_failed,
            ..Counts::default()
        };
        let timed = self.timed.iter_mut().flatten().flat_map(|it| it.iter_mut());
        let traced = self
            .traced
            .iter_mut()
            .flatten()
            .flat_map(|it| it.iter_mut());
        for recording in timed.chain(traced) {
            if !recording.histogram.is_empty() {
                recording.clear();
            }
        }
        (self.cpu_ns, self.run_queue_wait_ns) = (0, 0);
    }
}

fn recordings<const N: usize>() -> Box<[Recording; N]> {
    Box::new(std::array::from_fn(|_| Recording::new()))
}
