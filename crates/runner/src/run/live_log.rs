//! Writes the events of a trial into its folder while it runs, so that another process can follow
//! them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use gatebench_store::{LiveEvent, Timestamp, TrialWriter};

use crate::context::TrialContext;
use crate::progress::{Observer, Progress};
use crate::trial::{self, TrialResult};

/// The maximum number of events that wait for the disk. Further events are dropped.
const WAITING_MAX: usize = 1_024;

/// One of this many consecutive warm-up events is written, which is about one per second.
const WARM_UP_EVERY: u32 = 4;

/// Runs a trial with a live log. `left` is the expected duration of this and all further trials.
pub(super) fn run_logged(
    context: TrialContext<'_>,
    writer: &TrialWriter,
    left: Duration,
) -> TrialResult {
    let log = LiveLog::start(context.observer, writer, left);
    let context = TrialContext {
        observer: &log,
        ..context
    };
    trial::run(&context, writer)
}

/// Forwards all events, and writes some of them on a separate thread, because measurements must not
/// wait for a disk.
struct LiveLog<'a> {
    observer: &'a dyn Observer,
    events: Option<SyncSender<LiveEvent>>,
    /// The number of warm-up events since the start of the load; `u32::MAX` once the measurement
    /// has started.
    warm_ups: AtomicU32,
    writing: Option<JoinHandle<()>>,
}

impl<'a> LiveLog<'a> {
    /// If the file cannot be created, no process can follow the trial, but the trial continues.
    fn start(observer: &'a dyn Observer, writer: &TrialWriter, left: Duration) -> Self {
        let (events, received) = sync_channel(WAITING_MAX);
        let writing = writer.live().ok().and_then(|mut file| {
            let write = move || {
                let mut received = received.into_iter();
                // A full disk is reported when the record of the trial is written.
                let _ = received.try_for_each(|event| file.write(&event));
            };
            thread::Builder::new().name("live".into()).spawn(write).ok()
        });
        let log = Self {
            observer,
            events: writing.is_some().then_some(events),
            warm_ups: AtomicU32::new(0),
            writing,
        };
        log.write(LiveEvent::Trial {
            began: Timestamp::now(),
            left_seconds: left.as_secs_f64(),
        });
        log
    }

    fn write(&self, event: LiveEvent) {
        let warm_ups = match event {
            LiveEvent::Second(_) => u32::MAX,
            _ => 0,
        };
        if !matches!(event, LiveEvent::WarmUp { .. }) {
            self.warm_ups.store(warm_ups, Ordering::Relaxed);
        }
        if let Some(events) = &self.events {
            let _ = events.try_send(event);
        }
    }

    fn is_warm_up_due(&self) -> bool {
        let count = |count: u32| count.checked_add(1);
        let before = self
            .warm_ups
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, count);
        before.is_ok_and(|count| count % WARM_UP_EVERY == 0)
    }
}

impl Observer for LiveLog<'_> {
    fn observe(&self, progress: Progress) {
        match &progress {
            Progress::StepStarted(step) => self.write(LiveEvent::Step {
                step: step.as_str().into(),
            }),
            Progress::PhaseStarted { name } => self.write(LiveEvent::Phase {
                phase: name.clone(),
            }),
            Progress::Live {
                completed_per_second,
                failed,
            } if self.is_warm_up_due() => self.write(LiveEvent::WarmUp {
                completed_per_second: *completed_per_second,
                failed: *failed,
            }),
            Progress::Second(second) => self.write(LiveEvent::Second(second.clone())),
            _ => {}
        }
        self.observer.observe(progress);
    }
}

impl Drop for LiveLog<'_> {
    fn drop(&mut self) {
        self.events = None;
        // A panic in the thread has already been reported, and affects nothing else.
        let _ = self.writing.take().map(JoinHandle::join);
    }
}
