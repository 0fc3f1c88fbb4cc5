//! Starts a load on all agents at the same moment.

use std::thread;
use std::time::{Duration, Instant};

use gatebench_engine::{Control, Group, Load};
use gatebench_model::Shape;
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
/// The time that agents may take to open the connections of a load, in addition to the time that
/// its limit of connections per second requires.
const READY_TIMEOUT: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Returns how long it takes to open the connections of a load at its limits of connections per
/// second: 0 without such limits, and at most `u32::MAX` seconds, which can still be added to an
/// [`Instant`].
fn opening(groups: &[Group]) -> Duration {
    let of_group = |group: &Group| {
        let (connections, rate) = match &group.shape {
            Shape::Closed(it) => (it.connections, it.connections_per_second?),
            Shape::Open(it) => (it.connections_max, it.connections_per_second?),
        };
        // The first connection is opened at once.
        Some(f64::from(connections.saturating_sub(1)) / rate)
    };
    let seconds = groups.iter().filter_map(of_group).fold(0.0_f64, f64::max);
    Duration::from_secs_f64(seconds.min(u32::MAX.into()))
}

/// Returns the error of an agent whose connections were not up in time. A limit of connections per
/// second is not the reason, because it extends the time.
fn not_ready(name: &str, limit: Duration) -> RemoteError {
    let seconds = limit.as_secs_f64();
    let what = format!("the connections of agent {name} were not up after {seconds:.0} s");
    let remedy = "open fewer connections, or check whether another program uses that agent's CPUs";
    RemoteError::environment(what, remedy)
}

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
            agent.wait_until_ready(control, READY_TIMEOUT + opening(&load.groups))
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
            let remedy = "use faster connections to the agents, and make sure that neither this machine nor an agent's is overloaded";
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
        // If workers polled on all cores, they would delay the connection to the coordinator.
        let spin = load.spin && cores.len() < self.facts.cores.len();
        let load = Load {
            spin,
            shares_clock: assignment.shares_clock,
            ..load.clone()
        };
        Order::new(&load, assignment.part, cores, assignment.trace_tag)
    }

    fn wait_until_ready(&self, control: &Control, limit: Duration) -> Result<(), DriverError> {
        let deadline = Instant::now() + limit;
        while !control.stopped() && !self.host.ask_role::<bool>(&Ask::IsReady, SILENCE)? {
            if deadline <= Instant::now() {
                return Err(DriverError::Remote(not_ready(self.host.name(), limit)));
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

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use gatebench_engine::Target;
    use gatebench_model::load::{Closed, Open};
    use gatebench_model::{Order as InOrder, Request};

    use super::*;

    fn group(shape: Shape) -> Group {
        Group {
            name: "all".into(),
            target: Target::new(SocketAddr::from(([127, 0, 0, 1], 80)), "a.test"),
            requests: vec![Request::new("GET", "/")],
            order: InOrder::Random,
            shape,
            timeout: Duration::from_secs(1),
        }
    }

    #[test]
    fn the_slowest_group_determines_the_time_for_opening() {
        let closed = |connections, rate| {
            group(Shape::Closed(Closed {
                connections_per_second: rate,
                ..Closed::new(connections)
            }))
        };
        let open = group(Shape::Open(Open {
            connections_max: 31,
            connections_per_second: Some(10.0),
            ..Open::new(1.0)
        }));
        assert_eq!(opening(&[closed(1000, None)]), Duration::ZERO);
        assert_eq!(opening(&[closed(1, Some(0.1))]), Duration::ZERO);
        let groups = [closed(21, Some(10.0)), open];
        assert_eq!(opening(&groups), Duration::from_secs(3));
        let endless = READY_TIMEOUT + opening(&[closed(u32::MAX, Some(1e-10))]);
        assert!(Instant::now().checked_add(endless).is_some());
    }

    #[test]
    fn an_agent_that_is_not_ready_is_named_with_whole_seconds() {
        let error = not_ready("b", READY_TIMEOUT + Duration::from_secs(100) / 3);
        assert_eq!(
            error.message,
            "the connections of agent b were not up after 153 s"
        );
    }
}
