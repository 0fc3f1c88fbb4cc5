//! A load that all agents send together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use gatebench_engine::{Control, Interval, Load, Outcome, WorkerFacts};
use gatebench_net::{Backend, choose, clock};
use gatebench_testbed::DriverError;

use crate::agents::{Agents, Assignment};
use crate::clocks::Offset;
use crate::follow::{Ended, Follower, News};
use crate::order::backend;
use crate::protocol::Health;

const SECOND_NS: u64 = 1_000_000_000;
/// The maximum interval between two checks of whether the load must stop.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The results of a load that agents sent together.
#[derive(Debug)]
pub struct Conducted {
    /// The combined outcome of all agents, marked as interrupted if one was lost.
    pub outcome: Outcome,
    /// The results of each agent, in the order of the places.
    pub agents: Vec<AgentReport>,
    /// The spread of the start times; `None` if no agent reported a first request.
    pub start: Option<StartReport>,
    pub failure: Option<AgentFailure>,
}

/// The results of one agent.
#[derive(Debug)]
pub struct AgentReport {
    /// The place: `here`, a host as `ssh` accepts it, or the name of a pod.
    pub place: String,
    /// The host name of the agent's machine; for a pod, the name of its node.
    pub node: String,
    pub cores: Vec<usize>,
    /// The number of the agent's first worker among the workers of all agents.
    pub first_worker: usize,
    /// True if all upstreams use the same clock as the agent.
    pub shares_clock: bool,
    pub clock: Offset,
    /// The agent's own outcome, with times on the clock of this machine. If the agent was lost, the
    /// outcome covers only the records that arrived.
    pub outcome: Outcome,
    pub health: Health,
    /// The number of records that arrived, and their total length in bytes; both are 0 if the agent
    /// was lost.
    pub records: u64,
    pub bytes: u64,
}

/// The spread of the agents' start times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartReport {
    /// The largest delay of an agent's first request minus the smallest. The delay is the time from
    /// the scheduled moment of the request to the moment at which it was sent.
    pub spread_ns: u64,
    /// The maximum error of the spread: the sum of the two largest uncertainties of agents' clock
    /// offsets.
    pub uncertainty_ns: u64,
}

/// An agent that was lost.
#[derive(Debug, thiserror::Error)]
#[error("lost {}, so the other agents were stopped: {}", self.when(), error.to_string().trim_end())]
pub struct AgentFailure {
    pub agent: String,
    /// The second in which the agent was lost, counted from 0 at the start of the measurement;
    /// `None` if it was lost earlier.
    pub second: Option<u64>,
    pub error: DriverError,
}

impl AgentFailure {
    fn when(&self) -> String {
        match self.second {
            Some(second) => format!("in second {} of the measurement", second + 1),
            None => "before the measurement".to_owned(),
        }
    }
}

impl Agents {
    /// Runs a load to its end, like [`gatebench_engine::run`]. `control` must have one set of
    /// counters for each agent. `sink` receives each finished second of every agent, with the
    /// agent's number. For a traced load, `upstream_clocks` are the clocks of the upstreams
    /// ([`clock_identity`](gatebench_testbed::probe::clock_identity)).
    ///
    /// If an agent is lost after the start, all others are stopped, and the result contains the
    /// failure and the results that arrived.
    ///
    /// # Errors
    /// Fails if an agent could not start the load; in that case, there are no results.
    pub fn run(
        &self,
        load: &Load,
        control: &Control,
        upstream_clocks: &[String],
        mut sink: impl FnMut(usize, &Interval),
    ) -> Result<Conducted, DriverError> {
        let assignments = self.assignments(load, upstream_clocks);
        let offsets = self.begin(load, &assignments, control)?;
        let mut course = Course {
            agents: self,
            load,
            control,
            partial: self.all.iter().map(|_| self.empty(load, control)).collect(),
            ended: self.all.iter().map(|_| None).collect(),
            failure: None,
        };
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let (news, received) = mpsc::channel();
            for ((number, agent), offset) in self.all.iter().enumerate().zip(&offsets) {
                let follower = Follower {
                    number,
                    agent,
                    offset: *offset,
                    stop: &stop,
                    news: news.clone(),
                };
                scope.spawn(move || follower.run());
            }
            drop(news);
            loop {
                match received.recv_timeout(LOOK_EVERY) {
                    Ok(news) => course.take(news, &mut sink),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if control.stopped() || course.failure.is_some() {
                    stop.store(true, Ordering::Release);
                }
            }
        });
        Ok(course.conclude(assignments, offsets))
    }

    fn empty(&self, load: &Load, control: &Control) -> Outcome {
        let start_ns = control.start_ns().unwrap_or_else(clock::now_ns);
        let begin_ns = start_ns + load.warm_up.as_nanos() as u64;
        Outcome {
            start_ns,
            window_ns: (begin_ns, begin_ns),
            interrupted: true,
            workers: vec![WorkerFacts::default()],
            ..Outcome::of(load, choose(load.backend))
        }
    }
}

struct Course<'a> {
    agents: &'a Agents,
    load: &'a Load,
    control: &'a Control,
    /// For each agent, the sum of its seconds so far.
    partial: Vec<Outcome>,
    ended: Vec<Option<Box<Ended>>>,
    failure: Option<AgentFailure>,
}

impl Course<'_> {
    fn take(&mut self, news: News, sink: &mut impl FnMut(usize, &Interval)) {
        match news {
            News::Second(number, second) => {
                let partial = &mut self.partial[number];
                partial.add(0, &second);
                let seconds = u64::from(second.second) + 1;
                let end_ns = partial.window_ns.0 + seconds * SECOND_NS;
                partial.window_ns.1 = end_ns.min(partial.window_ns.0 + nanos(self.load.measure));
                sink(number, &second);
            }
            News::Live(number, counts) => {
                let live = &self.control.live()[number];
                let counters = [&live.completed, &live.failed, &live.queued];
                for (counter, count) in counters.into_iter().zip(counts) {
                    counter.store(count, Ordering::Relaxed);
                }
            }
            News::Ended(number, Ok(ended)) => {
                self.ended[number] = Some(ended);
                // The outcome in `ended` contains the same histograms.
                self.partial[number].recordings.clear();
            }
            News::Ended(number, Err(error)) => {
                let measured_ns = clock::now_ns().checked_sub(self.partial[number].window_ns.0);
                self.failure.get_or_insert(AgentFailure {
                    agent: self.agents.all[number].host.name().to_owned(),
                    second: measured_ns.map(|ns| ns / SECOND_NS),
                    error,
                });
            }
        }
    }

    fn conclude(self, assignments: Vec<Assignment>, offsets: Vec<Offset>) -> Conducted {
        let parts = self.agents.all.iter().zip(assignments).zip(offsets);
        let results = self.ended.into_iter().zip(self.partial);
        let agents = parts.zip(results).map(|(part, (ended, partial))| {
            let ((agent, assignment), clock) = part;
            let ended = ended.map(|it| *it).unwrap_or(Ended {
                outcome: Outcome {
                    backend: backend(&agent.facts.backend).unwrap_or(Backend::Epoll),
                    ..partial
                },
                health: Health::default(),
                records: 0,
                bytes: 0,
            });
            AgentReport {
                place: agent.host.name().to_owned(),
                node: agent.facts.node.clone(),
                cores: assignment.cores,
                first_worker: assignment.part.first_worker,
                shares_clock: assignment.shares_clock,
                clock,
                outcome: ended.outcome,
                health: ended.health,
                records: ended.records,
                bytes: ended.bytes,
            }
        });
        let agents: Vec<AgentReport> = agents.collect();
        Conducted {
            outcome: together(&agents, self.failure.is_some()),
            start: start(&agents),
            failure: self.failure,
            agents,
        }
    }
}

/// Returns the combined outcome of all agents. Only complete outcomes have groups and routes, so
/// these outcomes come first.
fn together(agents: &[AgentReport], is_failed: bool) -> Outcome {
    let mut outcomes: Vec<&Outcome> = agents.iter().map(|it| &it.outcome).collect();
    outcomes.sort_by_key(|outcome| outcome.groups.is_empty());
    let mut outcomes = outcomes.into_iter();
    let first = outcomes.next().expect("there is at least one agent");
    let mut sum = first.clone();
    outcomes.for_each(|outcome| sum.join(outcome.clone()));
    sum.interrupted |= is_failed;
    sum
}

fn start(agents: &[AgentReport]) -> Option<StartReport> {
    let firsts = agents.iter().filter_map(|it| it.outcome.first);
    let late_ns = firsts.map(|it| it.sent_ns.saturating_sub(it.due_ns));
    let late_ns: Vec<u64> = late_ns.collect();
    let spread_ns = late_ns.iter().max()? - late_ns.iter().min()?;
    let mut uncertain_ns: Vec<u64> = agents.iter().map(|it| it.clock.uncertainty_ns).collect();
    uncertain_ns.sort_unstable();
    Some(StartReport {
        spread_ns,
        uncertainty_ns: uncertain_ns.iter().rev().take(2).sum(),
    })
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
