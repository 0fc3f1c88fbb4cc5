//! Watches a load: detects deaths and interrupts, samples the resource usage, and reports progress.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{panic, thread};

use gatebench_engine::Control;
use gatebench_net::clock;
use gatebench_store::WarmUpRecord;
use gatebench_testbed::Interrupt;
use gatebench_testbed::probe::MachineSample;

use super::bins::{self, Glance};
use super::changes::{self, Changed, Changes, Processes};
use super::samples::{Moment, Samplers};
use super::tap::Tap;
use super::warming::Warming;
use crate::abort::Failure;
use crate::progress::{Observer, Progress};

const SECOND_NS: u64 = 1_000_000_000;
/// The interval between checks for an interrupt, which is also the maximum sleep.
const NAP_NS: u64 = 20_000_000;
/// The interval at which the processes are checked.
const LIVENESS_EVERY: Duration = Duration::from_millis(100);
/// The interval between events for progress displays.
const LIVE_EVERY: Duration = Duration::from_millis(250);

/// The state that the watching thread shares with the threads that send the load and measure.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) control: Control,
    pub(crate) over: AtomicBool,
    /// The length of the warm-up, if it is known in advance.
    warm_up_ns: Option<u64>,
}

impl Shared {
    pub(crate) fn new(workers: usize, warm_up_ns: Option<u64>) -> Self {
        Self {
            warm_up_ns,
            control: Control::new(workers),
            over: AtomicBool::new(false),
        }
    }

    /// Start of the measurement on `CLOCK_MONOTONIC`; `None` until it is known.
    pub(crate) fn begin_ns(&self) -> Option<u64> {
        match self.warm_up_ns {
            Some(warm_up_ns) => Some(self.control.start_ns()? + warm_up_ns),
            None => self.control.measured_from(),
        }
    }

    /// Returns the time since the start of the measurement; `None` before the start.
    pub(crate) fn since_begin_ns(&self) -> Option<u64> {
        clock::now_ns().checked_sub(self.begin_ns()?)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    fn sum(&self, pick: fn(&gatebench_engine::Live) -> &AtomicU64) -> u64 {
        let live = self.control.live().iter();
        live.map(|live| pick(live).load(Ordering::Relaxed)).sum()
    }

    /// Returns the number of responses so far, including the warm-up.
    pub(crate) fn completed(&self) -> u64 {
        self.sum(|live| &live.completed)
    }

    /// Returns the number of requests so far that got a response or failed, including the warm-up.
    fn ended(&self) -> u64 {
        self.completed() + self.sum(|live| &live.failed)
    }
}

pub(crate) struct Watch<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) processes: &'a Mutex<Processes<'a>>,
    pub(crate) samplers: &'a mut Samplers,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) observer: &'a dyn Observer,
    pub(crate) warming: Warming<'a>,
    pub(crate) measure_ns: u64,
    pub(crate) tap: Option<Tap<'a>>,
    pub(crate) changes: Changes<'a>,
    /// The number of glances that were skipped because an earlier glance was late.
    pub(crate) late_glances: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Watched {
    /// Samples at the start of the measurement, at each whole second of it, and at its end.
    pub(crate) moments: Vec<Moment>,
    /// Glances at the start of the measurement and at each tenth of a second of it.
    pub(crate) glances: Vec<Glance>,
    pub(crate) warm_up: Option<WarmUpRecord>,
    /// The first failure, such as the death of a process.
    pub(crate) death: Option<Failure>,
    pub(crate) changed: Changed,
}

impl Watched {
    /// Drops the machine's figures from the latest moment, unless it is the first, to save memory:
    /// a day has 86,400 moments.
    fn forget_the_machine(&mut self) {
        if let [_, .., last] = &mut self.moments[..] {
            last.machine = MachineSample::default();
        }
    }
}

impl Watch<'_> {
    /// Watches until the load is over, and makes its changes. The death of a process, a failed
    /// change or an interrupt ends the load.
    pub(crate) fn run(mut self) -> Watched {
        let mut changes = std::mem::take(&mut self.changes);
        let (processes, shared) = (self.processes, self.shared);
        let mut watched = thread::scope(|scope| {
            let is_changed = !changes.are_none();
            let making = is_changed.then(|| scope.spawn(|| changes.make(processes, shared)));
            let watched = self.watch();
            if let Some(Err(panicked)) = making.map(|it| it.join()) {
                panic::resume_unwind(panicked);
            }
            watched
        });
        let mut processes = changes::lock(processes);
        // A process may have died at the last moment.
        processes.check();
        watched.changed = changes.record(&mut processes, shared.ended());
        watched.death = processes.take_death();
        watched
    }

    fn watch(&mut self) -> Watched {
        let mut watched = Watched::default();
        let mut checked = Instant::now();
        let mut display = Display {
            shown: checked,
            completed: 0,
        };
        // A glance covers only the processes of the last sample, so a sample must precede it.
        self.samplers.sample();
        while !self.shared.is_over() {
            if self.interrupt.is_raised() {
                self.shared.control.stop();
            }
            self.warm_up();
            self.glance(&mut watched);
            let due_ns = self.sample_at(watched.moments.len());
            if is_due(due_ns, clock::now_ns()) {
                watched.forget_the_machine();
                self.sample(&mut watched);
                continue;
            }
            if checked.elapsed() >= LIVENESS_EVERY {
                checked = Instant::now();
                // The processes are not checked while a change is made to them.
                let mut processes = self.processes.try_lock();
                if processes.as_mut().is_ok_and(|it| it.check()) {
                    self.shared.control.stop();
                }
            }
            display.show(self.shared, self.observer);
            let glance_ns = self.glance_at(watched.glances.len());
            sleep_until(due_ns.into_iter().chain(glance_ns).min());
        }
        self.glance(&mut watched);
        if is_due(self.sample_at(watched.moments.len()), clock::now_ns()) {
            self.sample(&mut watched);
        }
        watched.warm_up = self.warming.record();
        watched
    }

    fn sample(&mut self, watched: &mut Watched) {
        watched.moments.push(self.samplers.sample());
        if let Some(tap) = &self.tap {
            tap.usage(&watched.moments);
        }
    }

    /// Adds a glance to the warm-up if it is time for one, and sets the start of the measurement
    /// once the start is decided.
    fn warm_up(&mut self) {
        let start_ns = self.shared.control.start_ns();
        let is_under_way = self.warming.is_adaptive() && self.shared.begin_ns().is_none();
        let Some(start_ns) = start_ns.filter(|_| is_under_way) else {
            return;
        };
        if clock::now_ns() < start_ns + self.warming.due_ns() {
            return;
        }
        let glance = self.samplers.glance(self.shared.completed());
        let since_start_ns = glance.at_ns.saturating_sub(start_ns);
        if let Some(begin_ns) = self.warming.look(glance, since_start_ns) {
            let last_ns = start_ns + self.warming.at_most_ns();
            self.shared.control.measure_from(begin_ns.min(last_ns));
        }
    }

    fn glance(&mut self, watched: &mut Watched) {
        let now_ns = clock::now_ns();
        let mut edges = watched.glances.len();
        if is_due(self.glance_at(edges), now_ns) {
            let glance = self.samplers.glance(self.shared.completed());
            // If the times of the following glances have also passed, those glances are skipped.
            while is_due(self.glance_at(edges), now_ns) {
                edges += 1;
            }
            self.late_glances += edges - watched.glances.len() - 1;
            watched.glances.push(glance);
        }
    }

    fn glance_at(&self, index: usize) -> Option<u64> {
        let offset_ns = bins::edge_offset_ns(index + self.late_glances, self.measure_ns)?;
        Some(self.shared.begin_ns()? + offset_ns)
    }

    /// Returns the time of the sample with this index; `None` until the start of the measurement is
    /// known, and after the last sample.
    fn sample_at(&self, index: usize) -> Option<u64> {
        let after_begin_ns = sample_offset_ns(index, self.measure_ns)?;
        Some(self.shared.begin_ns()? + after_begin_ns)
    }
}

/// Returns the time of a sample, counted from the start of the measurement: at the start, at each
/// whole second, and at the end.
fn sample_offset_ns(index: usize, measure_ns: u64) -> Option<u64> {
    let last = measure_ns.div_ceil(SECOND_NS);
    let index = index as u64;
    (index <= last).then(|| (index * SECOND_NS).min(measure_ns))
}

fn is_due(at_ns: Option<u64>, now_ns: u64) -> bool {
    at_ns.is_some_and(|at_ns| at_ns <= now_ns)
}

fn sleep_until(due_ns: Option<u64>) {
    let now_ns = clock::now_ns();
    let left_ns = due_ns.map_or(NAP_NS, |due_ns| due_ns.saturating_sub(now_ns));
    thread::sleep(Duration::from_nanos(left_ns.min(NAP_NS)));
}

struct Display {
    shown: Instant,
    completed: u64,
}

impl Display {
    fn show(&mut self, shared: &Shared, observer: &dyn Observer) {
        let since = self.shown.elapsed();
        if since < LIVE_EVERY {
            return;
        }
        self.shown = Instant::now();
        let before = std::mem::replace(&mut self.completed, shared.completed());
        let completed = self.completed.saturating_sub(before);
        observer.observe(Progress::Live {
            completed_per_second: completed as f64 / since.as_secs_f64(),
            failed: shared.sum(|live| &live.failed),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_due_at_the_edges_and_at_whole_seconds() {
        let offsets = |measure_ns| {
            (0..10)
                .map_while(|index| sample_offset_ns(index, measure_ns))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            offsets(3 * SECOND_NS),
            [0, SECOND_NS, 2 * SECOND_NS, 3 * SECOND_NS]
        );
        assert_eq!(offsets(1_500_000_000), [0, SECOND_NS, 1_500_000_000]);
        assert_eq!(offsets(500_000_000), [0, 500_000_000]);
    }
}
