//! A thread that samples all components and the machine at a fixed interval.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::clock::thread_cpu_ns;
use super::machine::MachineSample;
use super::sampler::{Sample, Sampler, Scope};

/// A component to sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Its name.
    pub name: String,
    /// Root of its process tree.
    pub root: u32,
    /// Which processes of the tree.
    pub scope: Scope,
}

/// All components at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeSample {
    /// The components in the order in which they were given.
    pub components: Vec<Sample>,
    /// The machine.
    pub machine: MachineSample,
}

/// Everything that a probe saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeSeries {
    /// Names of the components.
    pub names: Vec<String>,
    /// The samples: one at the start, one at each interval from it, one at the end.
    pub samples: Vec<ProbeSample>,
    /// CPU time that the probe itself took.
    pub probe_cpu_ns: u64,
}

impl ProbeSeries {
    /// The samples of one component.
    pub fn of(&self, name: &str) -> Vec<Sample> {
        let index = self.names.iter().position(|known| known == name);
        self.samples
            .iter()
            .filter_map(|sample| sample.components.get(index?).copied())
            .collect()
    }
}

/// A probe at work. Dropping it ends it and forgets what it saw.
#[derive(Debug)]
pub struct ProbeThread {
    /// Sending or closing ends the thread; its answer is what it saw.
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<ProbeSeries>>,
}

impl ProbeThread {
    /// Takes the first sample now and further ones each `interval` after it, on the cores of the caller.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(components: Vec<Component>, interval: Duration) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let work = move || watch(components, interval, &stopped);
        let thread = thread::Builder::new().name("probe".into()).spawn(work)?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Takes a last sample and gives all of them.
    ///
    /// # Errors
    /// The thread ended in a panic.
    pub fn stop(mut self) -> io::Result<ProbeSeries> {
        self.stop = None;
        let thread = self
            .thread
            .take()
            .ok_or_else(|| io::Error::other("the probe has ended before"))?;
        thread
            .join()
            .map_err(|_| io::Error::other("the probe has panicked"))
    }
}

impl Drop for ProbeThread {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // Nobody asks any more for what it saw.
            let _ = thread.join();
        }
    }
}

fn watch(
    components: Vec<Component>,
    interval: Duration,
    stopped: &mpsc::Receiver<()>,
) -> ProbeSeries {
    let start = Instant::now();
    let mut samplers: Vec<Sampler> = components
        .iter()
        .map(|component| Sampler::new(component.root, component.scope))
        .collect();
    let mut samples = vec![take(&mut samplers)];
    // Due times come from the start and the index, so that a late sample does not delay the next.
    let mut index: u32 = 1;
    loop {
        let due = start + interval.saturating_mul(index);
        let stopping = stopped.recv_timeout(due.saturating_duration_since(Instant::now()));
        samples.push(take(&mut samplers));
        if !matches!(stopping, Err(RecvTimeoutError::Timeout)) {
            break;
        }
        index = index.saturating_add(1);
    }
    ProbeSeries {
        names: components
            .into_iter()
            .map(|component| component.name)
            .collect(),
        samples,
        probe_cpu_ns: thread_cpu_ns(),
    }
}

fn take(samplers: &mut [Sampler]) -> ProbeSample {
    ProbeSample {
        components: samplers.iter_mut().map(Sampler::sample).collect(),
        machine: MachineSample::read(),
    }
}
