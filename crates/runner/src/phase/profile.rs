//! Takes a profile of the gateway during a measurement.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use gatebench_model::Stacks;
use gatebench_testbed::probe::{OwnProfiler, Profile, ProfileError, Profiler};
use gatebench_testbed::{Interrupt, Running, Urgency};

use super::Loading;
use super::samples::Samplers;
use super::watch::Shared;
use crate::context::TrialContext;

/// The interval between checks for the start and the end of the measurement.
const NAP: Duration = Duration::from_millis(5);

/// The time for reading samples after an interrupt, enough for a few thousand samples with copies
/// of stacks.
const READING: Duration = Duration::from_secs(2);

/// The maximum time for reading samples after an interrupt. It applies instead of [`READING`] while
/// fewer than [`SAMPLES_MIN`] have been read, because perf starts slowly on a busy machine.
const READING_MAX: Duration = Duration::from_secs(10);

/// The minimum number of samples in a useful profile.
const SAMPLES_MIN: u64 = 100;

pub(crate) struct Profiling<'a> {
    source: Source,
    samples_per_second: u32,
    measure_ns: u64,
    interrupt: &'a Interrupt,
}

enum Source {
    Perf {
        /// The processes of the gateway. Threads that they start later are also sampled.
        processes: Vec<u32>,
        is_unwound: bool,
        data: PathBuf,
    },
    Own(OwnProfiler),
}

impl<'a> Profiling<'a> {
    /// Returns the profiling of the gateway in a phase; `None` if the plan requires no profile, or
    /// there is no gateway that can be profiled.
    pub(crate) fn of(
        context: &TrialContext<'a>,
        running: &Running,
        samplers: &Samplers,
        loading: &Loading<'_>,
    ) -> Option<Self> {
        let flame = context.plan.study.profile()?;
        let source = match running.own_profiler() {
            Some(profiler) => Source::Own(profiler.clone()),
            None => Source::Perf {
                processes: samplers.gateway_processes()?,
                is_unwound: flame.stacks != Stacks::FramePointers,
                data: loading.folder.join("perf.data"),
            },
        };
        Some(Self {
            source,
            samples_per_second: flame.samples_per_second,
            measure_ns: loading.phase.measure.as_nanos(),
            interrupt: context.interrupt,
        })
    }

    /// Samples the gateway from the start of the measurement to its end. Returns `None` if the
    /// measurement never started. After an interrupt, the function reads only the samples that can
    /// be read quickly.
    pub(crate) fn run(&self, shared: &Shared) -> Option<Result<Profile, ProfileError>> {
        self.wait_until(shared, 0);
        if shared.is_over() {
            return None;
        }
        let rate = self.samples_per_second;
        Some(match &self.source {
            Source::Perf {
                processes,
                is_unwound,
                data,
            } => Profiler::start(processes, rate, *is_unwound, data).and_then(|profiler| {
                self.wait_until(shared, self.measure_ns);
                let seen = OnceLock::new();
                profiler.stop(&|samples| self.is_impatient(&seen, samples))
            }),
            Source::Own(profiler) => {
                let began = SystemTime::now();
                self.wait_until(shared, self.measure_ns);
                profiler.between(began, SystemTime::now())
            }
        })
    }

    /// Reports whether reading must end because of the user's interrupt. `seen` keeps the time at
    /// which the interrupt was first noticed.
    fn is_impatient(&self, seen: &OnceLock<Instant>, samples: u64) -> bool {
        match self.interrupt.urgency() {
            Urgency::None => false,
            Urgency::Stop => {
                let waited = seen.get_or_init(Instant::now).elapsed();
                waited >= READING_MAX || (waited >= READING && samples >= SAMPLES_MIN)
            }
            Urgency::Now => true,
        }
    }

    /// Waits until this long after the start of the measurement, or until the load is over.
    fn wait_until(&self, shared: &Shared, after_begin_ns: u64) {
        let has_come = || {
            shared
                .since_begin_ns()
                .is_some_and(|it| it >= after_begin_ns)
        };
        while !has_come() && !shared.is_over() {
            thread::sleep(NAP);
        }
    }
}
