//! Runs the thread that encodes facts, and one sending thread for each target.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant, SystemTime};

use gatebench_net::clock;
use gatebench_outputs::{Encoder, Fact};

use super::client::{Client, TIMEOUT};
use super::queue::{self, Body, Delivery, Queue};
use super::refusal::Refusal;
use super::target::Target;
use crate::threads::step_aside;

/// The interval at which facts are encoded.
const EVERY: Duration = Duration::from_secs(1);
/// The maximum time to wait for the results of all probes.
const PROBE: Duration = Duration::from_secs(2);
/// The maximum time for sending the remaining data at the end.
const FLUSH: Duration = Duration::from_secs(5);
/// The number of facts that may wait before further facts are merged with them. A second has up to
/// three facts.
const UNMERGED_MAX: usize = 120;

/// The output settings of a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    pub targets: Vec<Target>,
    /// True if the run fails when a target refuses the probe or does not respond before the first
    /// trial.
    pub required: bool,
    /// True if files keep their contents, because the run is resumed, or because the command has
    /// already written other runs to them.
    pub appends: bool,
    /// Labels that are added to all series.
    pub tags: BTreeMap<String, String>,
}

/// The outputs of a run, from before its first trial to its end.
pub struct Outputs {
    pub(super) run: String,
    pub(super) tags: BTreeMap<String, String>,
    /// The same instant on the wall clock and on `CLOCK_MONOTONIC`, in nanoseconds. The wall clock
    /// is read only once, so that facts stay in order if it is set back later.
    wall: (u64, u64),
    loads: AtomicU64,
    inbox: Mutex<Inbox>,
    changed: Condvar,
    targets: Vec<(Target, Arc<Queue>)>,
    cores: Vec<usize>,
}

/// Signals on drop that no more facts follow.
struct Closing<'a>(&'a Outputs);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.inbox().is_closed = true;
        self.0.changed.notify_all();
    }
}

#[derive(Default)]
struct Inbox {
    facts: Vec<Fact>,
    is_closed: bool,
}

impl Inbox {
    /// Adds a fact. If too many facts wait, because the encoding thread gets too little CPU time,
    /// merges the fact with the last waiting one that it can be merged with. At least one earlier
    /// fact of the same load and kind remains unmerged, because the first reading of a gateway's
    /// counter is the one from which the others are counted.
    fn add(&mut self, fact: Fact) {
        if self.facts.len() < UNMERGED_MAX {
            return self.facts.push(fact);
        }
        let waiting = self.facts.iter_mut().rev();
        let mut alike = waiting.filter(|it| it.merges_with(&fact));
        match (alike.next(), alike.next()) {
            (Some(last), Some(_)) => last.merge(fact),
            _ => self.facts.push(fact),
        }
    }
}

impl Outputs {
    /// Starts one sender for each target on `cores`, or on any core if the list is empty, and
    /// probes the targets. `run` is the run directory. Unless outputs are required, the reason why
    /// a target refuses or does not respond is passed to `warn`. Returns `None` if there are no
    /// targets.
    ///
    /// # Errors
    /// A sender cannot be started, or a target fails the probe and outputs are required.
    pub fn start(
        settings: &Settings,
        run: &Path,
        cores: Vec<usize>,
        warn: &dyn Fn(Refusal),
    ) -> Result<Option<Self>, Refusal> {
        if settings.targets.is_empty() {
            return Ok(None);
        }
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let wall_ns = since_1970.map_or(0, |it| it.as_nanos() as u64);
        let run = run.file_name().unwrap_or(run.as_os_str());
        let targets = settings.targets.iter();
        let targets = targets.map(|target| (target.clone(), Arc::default()));
        let outputs = Self {
            run: run.to_string_lossy().into_owned(),
            tags: settings.tags.clone(),
            wall: (wall_ns, clock::now_ns()),
            loads: AtomicU64::new(0),
            inbox: Mutex::default(),
            changed: Condvar::new(),
            targets: targets.collect(),
            cores,
        };
        let until = Instant::now() + PROBE;
        for (target, queue) in &outputs.targets {
            let (queue, cores) = (Arc::clone(queue), outputs.cores.clone());
            let started = start_sender(target.clone(), settings.appends, queue, cores);
            started.map_err(|error| Refusal::of_io(target, &error))?;
        }
        for (target, queue) in &outputs.targets {
            let probe = queue.await_probe(until).unwrap_or_else(|| {
                let late = io::ErrorKind::TimedOut.into();
                Err(Refusal::of_io(target, &late))
            });
            if let Err(refusal) = probe {
                if settings.required {
                    return Err(refusal);
                }
                queue.has_been_reported();
                warn(refusal);
            }
        }
        Ok(Some(outputs))
    }

    /// Encodes facts on a separate thread until the guard is dropped, even by a panic. The thread
    /// then waits up to five seconds for the remaining data to be sent, and passes the result of
    /// each target to `done`. The first failure of each target is passed to `warn`, unless the
    /// target's probe had already failed.
    pub fn encode_on<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        warn: impl Fn(Refusal) + Send + 's,
        done: impl Fn(Delivery) + Send + 's,
    ) -> impl Drop + 's {
        scope.spawn(move || self.encode(&warn).into_iter().for_each(done));
        Closing(self)
    }

    fn encode(&self, warn: &dyn Fn(Refusal)) -> Vec<Delivery> {
        step_aside(&self.cores);
        let targets = self.targets.iter();
        let mut encoders: Vec<Encoder> = targets.map(|(target, _)| target.encoder()).collect();
        loop {
            let (facts, is_closed) = self.wait();
            for (encoder, (_, queue)) in encoders.iter_mut().zip(&self.targets) {
                let begun_ns = clock::thread_cpu_ns();
                let bytes: Vec<u8> = facts.iter().flat_map(|it| encoder.encode(it)).collect();
                let took_ns = clock::thread_cpu_ns() - begun_ns;
                if !bytes.is_empty() {
                    queue.add(Body::new(bytes), took_ns);
                }
                queue.take_failure().into_iter().for_each(warn);
            }
            if is_closed {
                return self.flush(warn);
            }
        }
    }

    fn flush(&self, warn: &dyn Fn(Refusal)) -> Vec<Delivery> {
        let until = Instant::now() + FLUSH;
        for (_, queue) in &self.targets {
            queue.close(until);
        }
        let delivery = |(target, queue): &(Target, Arc<Queue>)| {
            let delivery = queue.await_end(target);
            queue.take_failure().into_iter().for_each(warn);
            delivery
        };
        self.targets.iter().map(delivery).collect()
    }

    /// Waits one second, or until no more facts follow. Returns the facts since the last call, and
    /// whether they are the last facts.
    fn wait(&self) -> (Vec<Fact>, bool) {
        let until = Instant::now() + EVERY;
        let mut inbox = self.inbox();
        let left = || until.saturating_duration_since(Instant::now());
        while !inbox.is_closed && !left().is_zero() {
            let waited = self.changed.wait_timeout(inbox, left());
            inbox = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        (std::mem::take(&mut inbox.facts), inbox.is_closed)
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take(&self, fact: Fact) {
        self.inbox().add(fact);
    }

    pub(super) fn next_load(&self) -> u64 {
        self.loads.fetch_add(1, Ordering::Relaxed)
    }

    /// Converts a time of `CLOCK_MONOTONIC` to wall-clock time.
    pub(super) fn unix_ns(&self, at_ns: u64) -> u64 {
        (self.wall.0 + at_ns).saturating_sub(self.wall.1)
    }
}

/// Starts the thread that sends queued bodies, on these cores, or on any core if the list is empty.
/// Name resolution in this thread may block, so callers wait for the thread only through the queue,
/// whose waits are limited.
fn start_sender(
    target: Target,
    appends: bool,
    queue: Arc<Queue>,
    cores: Vec<usize>,
) -> io::Result<()> {
    let builder = thread::Builder::new().name("output".into());
    builder.spawn(move || {
        step_aside(&cores);
        send(target, appends, &queue);
    })?;
    Ok(())
}

fn send(target: Target, appends: bool, queue: &Queue) {
    let push_every = target.push_every;
    let mut client = Client::new(target, appends);
    let until = |begun: Instant| move || queue.deadline(begun + TIMEOUT);
    queue.probed(client.probe(&until(Instant::now())));
    while let Some(push) = queue.next() {
        let begun = Instant::now();
        match client.deliver(queue::bytes(&push), &until(begun)) {
            Ok(()) => {
                queue.delivered(&push);
                queue.spent(clock::thread_cpu_ns());
                queue.pause(push_every.saturating_sub(begun.elapsed()));
            }
            Err(refusal) => {
                let pause = queue.refused(push, refusal);
                queue.pause(pause);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use gatebench_outputs::{
        Class, Component, Distribution, Duration as Sense, Format, Load, OpenMetrics, Own, Second,
        Stat, Trend, Usage, What,
    };

    use super::*;

    const SECONDS: u32 = 600;

    /// The facts of a load of ten minutes. CPU times are multiples of a quarter of a second, whose
    /// sums are exact in floating point.
    fn facts(id: u64) -> Vec<Fact> {
        let load = Arc::new(Load {
            id,
            labels: [("phase".into(), id.to_string())].into(),
            checks: vec!["status=200".into()],
            ..Load::default()
        });
        let of_second = |number: u32| {
            let from_ns = (id * 1_000 + u64::from(number)) * 1_000_000_000;
            [second(number), usage(number), own(number)].map(|what| Fact {
                load: Arc::clone(&load),
                from_ns,
                to_ns: from_ns + 1_000_000_000,
                what,
            })
        };
        (0..SECONDS).flat_map(of_second).collect()
    }

    fn second(number: u32) -> What {
        let count = u64::from(number % 7 + 1);
        let times = Distribution::new((1..=count).map(|it| (it * 1_000 + count, it)));
        What::Second(Second {
            number,
            statuses: [(200, count), (503, 1)].into(),
            classes: [(Class::Redirection, 2)].into(),
            errors: [("timeout".into(), 3)].into(),
            dropped: 4,
            checks_failed: [(0, 5)].into(),
            failing_checks: 2,
            bytes_sent: 7,
            bytes_received: 8,
            busy: count,
            engine_cpu_ns: 250_000_000,
            times: [((Trend::Response, Class::Success), times)].into(),
        })
    }

    fn usage(second: u32) -> What {
        let gateway = Component {
            cpu_ns: Some(500_000_000),
            memory_bytes: u64::from(second),
            descriptors: u64::from(second),
        };
        let components = [("gateway", gateway)].into();
        What::Usage(Usage { second, components })
    }

    fn own(number: u32) -> What {
        What::Own(Own {
            requests: Some(u64::from(number) * 10),
            pools: [("pool_bytes".into(), u64::from(number))].into(),
        })
    }

    /// The last value of each series with its time. The times of each series ascend.
    fn last(facts: &[Fact]) -> BTreeMap<String, (String, f64)> {
        let mut text = OpenMetrics::new(Stat::DEFAULT.to_vec(), Sense::Response);
        facts.iter().for_each(|fact| text.take(fact));
        let mut last = BTreeMap::new();
        for line in text.finish().lines() {
            let Some((series, sample)) = line.rsplit_once("} ") else {
                continue;
            };
            let (value, at) = sample.split_once(' ').unwrap();
            let at: f64 = at.parse().unwrap();
            let before = last.insert(series.to_owned(), (value.to_owned(), at));
            assert!(before.is_none_or(|(_, before)| before < at), "{line}");
        }
        last
    }

    /// The sum of a counter's increases, as in InfluxDB.
    fn sum(facts: &[Fact], measurement: &str) -> f64 {
        let format = Format::Influx { sampling: Some(1) };
        let mut encoder = Encoder::new(&format, Sense::Response);
        let text = facts.iter().flat_map(|it| encoder.encode(it)).collect();
        let text = String::from_utf8(text).unwrap();
        let lines = text.lines().filter(|it| it.starts_with(measurement));
        let value = |line: &str| {
            let (_, value) = line.rsplit_once(" value=")?;
            value.split_once(' ')?.0.parse::<f64>().ok()
        };
        lines.map(|line| value(line).unwrap()).sum()
    }

    #[test]
    fn facts_that_wait_for_long_are_merged_without_changing_a_total() {
        let all: Vec<Fact> = (1..=3).flat_map(facts).collect();
        let mut inbox = Inbox::default();
        all.iter().cloned().for_each(|fact| inbox.add(fact));
        let merged = &inbox.facts;
        // The first load fills the inbox. Each further load adds two facts of each of three kinds.
        assert_eq!(merged.len(), UNMERGED_MAX + 2 * 6);
        let unmerged = UNMERGED_MAX - 3;
        assert_eq!(merged[..unmerged], all[..unmerged]);
        assert_eq!(last(merged), last(&all));
        for (counter, total) in [
            ("http_reqs,", all.iter().map(requests).sum::<u64>()),
            ("gatebench_own_requests,", 3 * 10 * u64::from(SECONDS - 1)),
        ] {
            assert_eq!(sum(merged, counter), total as f64, "{counter}");
        }
    }

    fn requests(fact: &Fact) -> u64 {
        match &fact.what {
            What::Second(second) => second.requests(),
            _ => 0,
        }
    }
}
