//! A profile of the gateway, taken while it is measured.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use gatebench_model::{Flame, Stacks};
use gatebench_net::clock;
use gatebench_testbed::probe::{Profile, ProfileError, Profiler};

use super::Loading;
use super::samples::Samplers;
use super::watch::Shared;
use crate::context::TrialContext;
use crate::interrupt::{Interrupt, Urgency};

/// How often it is looked whether the measurement has begun, or is over.
const NAP: Duration = Duration::from_millis(5);

/// So long samples are read after an interrupt: with copies of stacks some thousands of them.
const READING: Duration = Duration::from_secs(2);

/// On a busy machine, where perf has hardly begun by then, so long until there are a few.
const READING_MAX: Duration = Duration::from_secs(10);

/// A few samples.
const SAMPLES_MIN: u64 = 100;

/// What is sampled, and when.
pub(crate) struct Profiling<'a> {
    flame: Flame,
    /// The processes of the gateway. Threads that they start later are sampled too.
    processes: Vec<u32>,
    /// Where perf writes.
    data: PathBuf,
    measure_ns: u64,
    interrupt: &'a Interrupt,
}

impl<'a> Profiling<'a> {
    /// What the plan wants sampled of the gateway in a phase; none where it wants nothing, or there is no gateway.
    pub(crate) fn of(
        context: &TrialContext<'a>,
        samplers: &Samplers,
        loading: &Loading<'_>,
    ) -> Option<Self> {
        Some(Self {
            flame: context.plan.study.profile()?,
            processes: samplers.gateway_processes()?,
            data: loading.folder.join("perf.data"),
            measure_ns: loading.phase.measure.as_nanos(),
            interrupt: context.interrupt,
        })
    }

    /// Samples from the begin of the measurement to its end; nothing where it never began. After an interrupt, as much of
    /// the samples is read as is soon done.
    pub(crate) fn run(&self, shared: &Shared) -> Option<Result<Profile, ProfileError>> {
        self.wait_until(shared, 0);
        if shared.over.load(Ordering::Acquire) {
            return None;
        }
        let Flame {
            samples_per_second,
            stacks,
        } = self.flame;
        let is_unwound = stacks == Stacks::Dwarf;
        let profiler = Profiler::start(&self.processes, samples_per_second, is_unwound, &self.data);
        Some(profiler.and_then(|profiler| {
            self.wait_until(shared, self.measure_ns);
            let seen = OnceLock::new();
            profiler.stop(&|samples| self.is_impatient(&seen, samples))
        }))
    }

    /// Whether whoever interrupts has waited long enough; `seen` is since when.
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
            let begin_ns = shared.begin_ns();
            begin_ns.is_some_and(|begin_ns| clock::now_ns() >= begin_ns + after_begin_ns)
        };
        while !has_come() && !shared.over.load(Ordering::Acquire) {
            thread::sleep(NAP);
        }
    }
}
