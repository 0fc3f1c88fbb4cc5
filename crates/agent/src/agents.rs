//! Connects to the agents of a run, and sends the coordinator's requests to all of them at the same
//! time.

use std::net::IpAddr;
use std::thread;
use std::time::Duration;

use gatebench_engine::{Load, Part};
use gatebench_model::Place;
use gatebench_net::trace::Nonce;
use gatebench_testbed::kubernetes::Pods;
use gatebench_testbed::remote::RemoteHost;
use gatebench_testbed::{DriverError, Launcher};
use serde::de::DeserializeOwned;

use crate::protocol::{Ask, Facts};

/// An agent that does not respond for this long counts as lost. Time during which the connection
/// to a pod is broken is not included. Agents keep records for ten minutes, so a shorter outage
/// loses no record.
pub(crate) const SILENCE: Duration = Duration::from_secs(5);

/// Connected agents. Dropping this value closes the connections and ends the loads.
#[derive(Debug)]
pub struct Agents {
    pub(crate) all: Vec<Connected>,
}

#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) place: Place,
    pub(crate) host: RemoteHost,
    pub(crate) facts: Facts,
}

#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub(crate) part: Part,
    pub(crate) cores: Vec<usize>,
    pub(crate) trace_tag: Option<u16>,
    /// True if all upstreams use the same clock as the agent.
    pub(crate) shares_clock: bool,
}

impl Agents {
    /// Connects to all places, which may be pods of the run, and copies the agent's program to
    /// those that lack it. Unless `here` is empty, an agent on this machine may use only the cores
    /// in `here`, because other parts of a trial use the other cores.
    ///
    /// # Errors
    /// Fails if a place cannot be reached, or if the agent's program cannot be copied there, cannot
    /// run there, or has another version.
    pub fn connect(
        places: &[Place],
        launcher: &Launcher,
        here: &[usize],
        pods: Option<&Pods>,
    ) -> Result<Self, DriverError> {
        let program = launcher.small();
        let connect = |place: &Place| {
            let host = RemoteHost::connect(place, &program, pods)?;
            let mut facts: Facts = host.ask_role(&Ask::Introduce, SILENCE)?;
            if *place == Place::Here && !here.is_empty() {
                facts.cores = here.to_vec();
            }
            Ok(Connected {
                place: place.clone(),
                host,
                facts,
            })
        };
        let all = at_once(places, |_, place| connect(place));
        Ok(Self {
            all: all.into_iter().collect::<Result<_, DriverError>>()?,
        })
    }

    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// This machine's address as seen from the first host that was reached over SSH; `None` if all
    /// agents are on this machine or in pods.
    pub fn here(&self) -> Option<IpAddr> {
        let is_host = |it: &&Connected| matches!(it.place, Place::Ssh(_));
        let mut elsewhere = self.all.iter().filter(is_host);
        elsewhere.next().map(|it| it.host.here)
    }

    /// The total number of workers that the agents use for a load on `cores`. If `cores` is empty,
    /// the load uses all cores that the agents may use.
    pub fn workers(&self, cores: &[usize]) -> usize {
        self.all.iter().map(|it| it.cores(cores).len()).sum()
    }

    /// The number of nonce tags that all agents together use for a load on `cores`, which may be
    /// empty as in [`Agents::workers`].
    pub fn tags(&self, cores: &[usize]) -> usize {
        let each = self.all.iter().map(|it| Nonce::tags(it.cores(cores).len()));
        each.sum()
    }

    /// Distributes the workers of a load among the agents, and notes which agents share the clock
    /// of all upstreams.
    pub(crate) fn assignments(&self, load: &Load, upstream_clocks: &[String]) -> Vec<Assignment> {
        let workers = self.workers(&load.cores);
        let mut first_worker = 0;
        let mut trace_tag = load.trace_tag;
        let assign = |agent: &Connected| {
            let cores = agent.cores(&load.cores).to_vec();
            let assignment = Assignment {
                part: Part {
                    first_worker,
                    workers,
                },
                trace_tag,
                shares_clock: upstream_clocks.iter().all(|it| *it == agent.host.clock),
                cores,
            };
            let count = assignment.cores.len();
            first_worker += count;
            trace_tag = trace_tag.map(|tag| tag.wrapping_add(Nonce::tags(count) as u16));
            assignment
        };
        self.all.iter().map(assign).collect()
    }

    pub(crate) fn ask_each<T: DeserializeOwned + Send>(
        &self,
        ask: impl Fn(usize) -> Ask + Sync,
        limit: Duration,
    ) -> Result<Vec<T>, DriverError> {
        self.each(|number, agent| agent.host.ask_role(&ask(number), limit))
    }

    pub(crate) fn each<T: Send>(
        &self,
        work: impl Fn(usize, &Connected) -> Result<T, DriverError> + Sync,
    ) -> Result<Vec<T>, DriverError> {
        at_once(&self.all, work).into_iter().collect()
    }
}

impl Connected {
    fn cores<'a>(&'a self, of_load: &'a [usize]) -> &'a [usize] {
        match of_load {
            [] => &self.facts.cores,
            cores => cores,
        }
    }
}

fn at_once<T: Sync, R: Send>(items: &[T], work: impl Fn(usize, &T) -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = items
            .iter()
            .enumerate()
            .map(|(number, item)| scope.spawn(move || work(number, item)))
            .collect();
        let results = threads.into_iter().map(gatebench_net::workers::joined);
        results.collect()
    })
}
