//! Starts a load on all agents at the same moment.

use std::thread;
use std::time::{Duration, Instant};

use gatebench_engine::{Control, Load};
use gatebench_net::clock;
use gatebench_testbed::{DriverError, RemoteError};

use crate::agents::{Agents, Assignment, Connected, SILENCE};
use crate::clocks::{Offset, PINGS, Ping};
use crate::order::Order;
use crate::protocol::Ask;

/// The time from the comparison of the clocks to the start, in addition to the slowest ping.
const AHEAD: Duration = Duration::from_secs(2);
/// All agents must have acknowledged the start this long before it.
const ACKNOWLEDGED_BEFORE: Duration = Duration::from_millis(500);
/// The time that agents may take to open the connections of a load.
const READY_TIMEOUT: Duration = Duration::from_secs(120);
/// The interval between requests that ask an agent whether it is ready.
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl Agents {
    /// Lets all agents open their connections, compares their clocks, and sets the common start.
    /// Returns the offset of each clock. If `control` is stopped before the start is set, no agent
    /// starts.
    ///
    /// # Errors
    /// Fails if an agent cannot be reached, cannot send the load, or does not acknowledge the start
    /// in time; in these cases, no agent starts. Also fails if an agent does not accept the
    /// confirmation in time; in this case, all agents are stopped.
    pub(crate) fn begin(
        &self,
        load: &Load,
        assignments: &[Assignment],
        control: &Control,
    ) -> Result<Vec<Offset>, DriverError> {
        let begun = self.try_to_begin(load, assignments, control);
        begun.inspect_err(|_| {
            // An agent that this request does not reach ends its load when its connection ends.
            let _ = self.ask_each::<()>(|_| Ask::Stop, SILENCE);
        })
    }

    fn try_to_begin(
        &self,
        load: &Load,
        assignments: &[Assignment],
        control: &Control,
    ) -> Result<Vec<Offset>, DriverError> {
        self.each(|number, agent| {
            let order = agent.order(load, &assignments[number]);
            agent
                .host
                .ask_role::<()>(&Ask::Prepare(Box::new(order)), READY_TIMEOUT)?;
            agent.wait_until_ready(control)
        })?;
        let pings = self.each(|_, agent| agent.pings())?;
        let offsets: Vec<Offset> = pings.iter().filter_map(|it| Offset::of(it)).collect();
        if control.stopped() {
            return Ok(offsets);
        }
        let slowest_ns = pings.iter().flatten();
        let slowest_ns = slowest_ns.map(|it| it.received_ns - it.sent_ns).max();
        let ahead = AHEAD + Duration::from_nanos(slowest_ns.unwrap_or(0));
        let begun = Instant::now();
        let start_ns = clock::now_ns() + ahead.as_nanos() as u64;
        let limit = ahead - ACKNOWLEDGED_BEFORE;
        let start_at = |number: usize| Ask::StartAt {
            at_ns: offsets[number].there(start_ns),
        };
        self.ask_each::<()>(start_at, limit)?;
        if begun.elapsed() > limit {
            let what = "not all agents acknowledged the start in time, so none started";
            let remedy = "use faster connections to the agents, and do not overload this machine";
            return Err(DriverError::Remote(RemoteError::environment(what, remedy)));
        }
        self.ask_each::<()>(|_| Ask::Confirm, ACKNOWLEDGED_BEFORE)?;
        control.starts_at(start_ns);
        Ok(offsets)
    }
}

impl Connected {
    fn order(&self, load: &Load, assignment: &Assignment) -> Order {
        let cores = assignment.cores.clone();
        // If workers polled on all cores, the connection to the coordinator would get no core.
        let spin = load.spin && cores.len() < self.facts.cores.len();
        let load = Load {
            spin,
            shares_clock: assignment.shares_clock,
            ..load.clone()
        };
        Order::new(&load, assignment.part, cores, assignment.trace_tag)
    }

    fn wait_until_ready(&self, control: &Control) -> Result<(), DriverError> {
        let deadline = Instant::now() + READY_TIMEOUT;
        while !control.stopped() && !self.host.ask_role::<bool>(&Ask::IsReady, SILENCE)? {
            if deadline <= Instant::now() {
                let name = self.host.name();
                let what =
                    format!("the connections of agent {name} were not up after {READY_TIMEOUT:?}");
                let remedy = "open fewer connections, or open more of them per second: \
                              --connection-rate, or connections_per_second in a load profile";
                return Err(DriverError::Remote(RemoteError::environment(what, remedy)));
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn pings(&self) -> Result<Vec<Ping>, DriverError> {
        let ping = |_| {
            let sent_ns = clock::now_ns();
            let there_ns = self.host.ask_role(&Ask::Ping, SILENCE)?;
            Ok(Ping {
                sent_ns,
                there_ns,
                received_ns: clock::now_ns(),
            })
        };
        (0..PINGS).map(ping).collect()
    }
}
