//! The progress of a load. The display only reads the workers' counters and the finished seconds.

mod bar;
mod lines;
mod silence;
mod sparkline;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use gatebench_engine::{Control, Interval, Live};
use gatebench_net::clock;
use gatebench_report::Unit;
use gatebench_report::format::{grouped, quantity};
use gatebench_store::MachineFacts;
use gatebench_testbed::probe::MachineSample;

use super::figures::SecondFigures;
use crate::terminal;
use bar::Bar;
use lines::Lines;
use silence::Silences;

pub use silence::Silence;

/// The interval between readings of the counters.
const LOOK_EVERY: Duration = Duration::from_millis(125);

/// The figures at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// The time since the start of the load, including the warm-up; `None` while connections are
    /// being opened.
    pub elapsed: Option<Duration>,
    /// Responses per second since the previous figures.
    pub per_second: f64,
    /// Responses so far, including the warm-up.
    pub completed: u64,
    /// Requests that have ended without a response so far, including the warm-up.
    pub failed: u64,
    /// Arrivals that are waiting for a connection.
    pub queued: u64,
    /// p50 and p99 of the response time in the last complete second, in nanoseconds.
    pub response_ns: Option<(u64, u64)>,
    /// True if an early end was requested.
    pub stopping: bool,
}

impl Moment {
    /// Formats the figures, with this rate first and failures last.
    fn figures(&self, rate_per_second: f64) -> Vec<String> {
        let mut figures = vec![quantity(rate_per_second, Unit::RequestsPerSecond)];
        if let Some((p50, p99)) = self.response_ns {
            let time = |ns| quantity(ns as f64, Unit::Nanoseconds);
            figures.extend([format!("p50 {}", time(p50)), format!("p99 {}", time(p99))]);
        }
        let counts = [(self.queued, "queued"), (self.failed, "without a response")];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        figures.extend(counts.map(|(count, what)| format!("{} {what}", grouped(count as f64))));
        figures
    }
}

/// The facts about a load that are known before it runs.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// The target and the load as text, one line each.
    pub words: String,
    pub warm_up: Duration,
    /// The duration of the measurement; with a number of requests, its time limit.
    pub measure: Duration,
    /// The number of requests after which the load ends, if one was given.
    pub requests: Option<u64>,
    /// True if the results, which are printed later, begin with the same text.
    pub is_said_again: bool,
}

/// Observations during the measured window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    pub machine: MachineFacts,
    /// The periods of about a second or more without a response, in order.
    pub silences: Vec<Silence>,
}

trait Show: Send {
    fn show(&mut self, moment: &Moment);
}

fn display(outlook: &Outlook) -> Box<dyn Show> {
    match terminal::stderr_is_terminal() {
        true => Box::new(Bar::new(outlook.clone())),
        false => Box::new(Lines::new(outlook.clone())),
    }
}

/// Watches one load.
pub struct Watch<'a> {
    control: &'a Control,
    outlook: &'a Outlook,
    cores: &'a [usize],
    seconds: Mutex<Vec<SecondFigures>>,
    over: AtomicBool,
}

impl<'a> Watch<'a> {
    /// `cores` lists the workers' cores; it is empty if the workers are not pinned.
    pub fn new(control: &'a Control, outlook: &'a Outlook, cores: &'a [usize]) -> Self {
        Self {
            control,
            outlook,
            cores,
            seconds: Mutex::default(),
            over: AtomicBool::new(false),
        }
    }

    pub fn take(&self, second: &Interval) {
        let mut seconds = self.seconds.lock().unwrap_or_else(PoisonError::into_inner);
        seconds.push(SecondFigures::of(second));
    }

    /// Returns the figures of each second, in order.
    pub fn into_seconds(self) -> Vec<SecondFigures> {
        let seconds = self.seconds.into_inner();
        seconds.unwrap_or_else(PoisonError::into_inner)
    }

    pub fn during<T>(&self, quiet: bool, load: impl FnOnce() -> T) -> (T, Seen) {
        thread::scope(|scope| {
            let watching = scope.spawn(|| self.watch(quiet));
            let over = Over {
                watch: self,
                thread: watching.thread().clone(),
            };
            let outcome = load();
            drop(over);
            let seen = watching.join();
            let seen = seen.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (outcome, seen)
        })
    }

    fn watch(&self, quiet: bool) -> Seen {
        let mut display = (!quiet).then(|| display(self.outlook));
        let mut machine = MachineWindow::default();
        let mut silences = Silences::default();
        let (mut last, mut completed) = (Instant::now(), 0);
        while !self.over.load(Ordering::Acquire) {
            let edge_ns = machine.look(self.window_ns());
            let left = edge_ns.map_or(LOOK_EVERY, |at| {
                Duration::from_nanos(at.saturating_sub(clock::now_ns()))
            });
            thread::park_timeout(left.min(LOOK_EVERY));
            if last.elapsed() >= LOOK_EVERY {
                let moment = self.moment(last.elapsed(), completed);
                (last, completed) = (Instant::now(), moment.completed);
                if let Some(at_ns) = self.measured_ns().filter(|_| !moment.stopping) {
                    silences.look(at_ns, completed);
                }
                if let Some(display) = &mut display {
                    display.show(&moment);
                }
            }
        }
        machine.look(self.window_ns());
        Seen {
            machine: machine.facts(self.cores),
            silences: silences.end(),
        }
    }

    /// Returns the time since the start of the measured window, in nanoseconds; `None` outside the
    /// window.
    fn measured_ns(&self) -> Option<u64> {
        let ((begin_ns, end_ns), now_ns) = (self.window_ns()?, clock::now_ns());
        let is_within = (begin_ns..end_ns).contains(&now_ns);
        is_within.then(|| now_ns - begin_ns)
    }

    /// Returns the beginning and the end of the measured window, once they are known.
    pub fn window_ns(&self) -> Option<(u64, u64)> {
        let begin_ns = self.control.start_ns()? + self.outlook.warm_up.as_nanos() as u64;
        let measure_ns = self.outlook.measure.as_nanos() as u64;
        Some((begin_ns, begin_ns.saturating_add(measure_ns)))
    }

    fn moment(&self, since: Duration, completed_before: u64) -> Moment {
        let completed = self.sum(|live| &live.completed);
        let seconds = self.seconds.lock().unwrap_or_else(PoisonError::into_inner);
        let since_ns = |start_ns| clock::now_ns().saturating_sub(start_ns);
        let elapsed_ns = self.control.start_ns().map(since_ns);
        Moment {
            elapsed: elapsed_ns.map(Duration::from_nanos),
            per_second: completed.saturating_sub(completed_before) as f64 / since.as_secs_f64(),
            completed,
            failed: self.sum(|live| &live.failed),
            queued: self.sum(|live| &live.queued),
            response_ns: seconds.last().and_then(|it| it.p50_ns.zip(it.p99_ns)),
            stopping: self.control.stopped(),
        }
    }

    fn sum(&self, pick: fn(&Live) -> &AtomicU64) -> u64 {
        let live = self.control.live().iter();
        live.map(|live| pick(live).load(Ordering::Relaxed)).sum()
    }
}

/// Ends the watch when it is dropped, even if the load panics.
struct Over<'a, 'w> {
    watch: &'w Watch<'a>,
    thread: thread::Thread,
}

impl Drop for Over<'_, '_> {
    fn drop(&mut self) {
        self.watch.over.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// The counters of the machine at the start and at the end of the measurement.
#[derive(Default)]
struct MachineWindow {
    before: Option<MachineSample>,
    after: Option<MachineSample>,
}

impl MachineWindow {
    /// Takes the samples that are due. Returns the time of the next sample; `None` if the window is
    /// not known yet or both samples have been taken.
    fn look(&mut self, window_ns: Option<(u64, u64)>) -> Option<u64> {
        let (begin_ns, end_ns) = window_ns?;
        let now_ns = clock::now_ns();
        if self.before.is_none() {
            if now_ns < begin_ns {
                return Some(begin_ns);
            }
            self.before = Some(MachineSample::read());
        }
        if now_ns < end_ns {
            return Some(end_ns);
        }
        self.after.get_or_insert_with(MachineSample::read);
        None
    }

    /// Returns the facts about these cores, or about all cores if the list is empty.
    fn facts(self, cores: &[usize]) -> MachineFacts {
        let Some(before) = self.before else {
            return MachineFacts::default();
        };
        let after = self.after.unwrap_or_else(MachineSample::read);
        let all: Vec<usize> = after.cores.iter().map(|it| it.core).collect();
        let cores = if cores.is_empty() { &all } else { cores };
        MachineFacts {
            window_ns: after.at_ns.saturating_sub(before.at_ns),
            cores: u32::try_from(cores.len()).unwrap_or(u32::MAX),
            steal_ns: after.steal_ns(cores).saturating_sub(before.steal_ns(cores)),
            throttled_ns: after.throttled_ns.saturating_sub(before.throttled_ns),
            ..MachineFacts::default()
        }
    }
}
