//! One worker's loop: events to connections.

use std::io;
use std::sync::atomic::Ordering;

use gatebench_net::timers::Timers;
use gatebench_net::workers::{STOP_CHECK_NS, Seat, Service};
use gatebench_net::{ConnMap, Event, Io};

use crate::Kind;
use crate::connection::{Connection, Env, Fate};
use crate::ledger::Ledger;
use crate::random::Random;
use crate::wall_clock::TimeBodies;

/// What the workers share.
pub(crate) struct Origin {
    kind: Kind,
    ledger: Ledger,
}

impl Origin {
    pub(crate) fn new(kind: Kind, workers: usize) -> Self {
        Self {
            kind,
            ledger: Ledger::new(workers),
        }
    }
}

impl Service for Origin {
    fn run<I: Io>(&self, io: I, seat: Seat<'_>) -> io::Result<()> {
        let counters = self.ledger.of_worker(seat.index);
        counters.thread_id.store(seat.thread_id, Ordering::Relaxed);
        let mut env = Env {
            io,
            kind: self.kind,
            ledger: &self.ledger,
            counters,
            timers: Timers::default(),
            time_bodies: TimeBodies::default(),
            random: Random::new(seat.index as u64),
            now_ns: 0,
        };
        let mut conns = ConnMap::default();
        let mut events = Vec::new();
        env.now_ns = env.io.now_ns();
        while !seat.stopped() {
            let check_ns = env.now_ns + STOP_CHECK_NS;
            let until_ns = env
                .timers
                .next_ns()
                .map_or(check_ns, |due_ns| due_ns.min(check_ns));
            env.io.poll(Some(until_ns), &mut events)?;
            env.now_ns = env.io.now_ns();
            for event in events.drain(..) {
                handle(&mut env, &mut conns, event);
            }
            while let Some(id) = env.timers.pop_due(env.now_ns) {
                let fate = conns.get_mut(id).map(|conn| conn.due(&mut env));
                obey(&mut env, &mut conns, id, fate);
            }
        }
        Ok(())
    }
}

fn handle<I: Io>(env: &mut Env<'_, I>, conns: &mut ConnMap<Connection>, event: Event) {
    let id = event.conn();
    let fate = match event {
        Event::Accepted { conn, .. } => {
            env.counters.accepted.add(1);
            conns.insert(conn, Connection::new(conn));
            Some(Fate::Keep)
        }
        Event::Received { bytes, .. } => conns.get_mut(id).map(|conn| conn.received(env, &bytes)),
        Event::EndOfStream { .. } => conns.get_mut(id).map(|conn| conn.end_of_stream(env)),
        Event::Sent { bytes, .. } => conns.get_mut(id).map(|conn| conn.sent(env, bytes)),
        Event::Failed { .. } => Some(Fate::Close),
        // An origin connects to nobody.
        Event::Connected { .. } => None,
    };
    obey(env, conns, id, fate);
}

fn obey<I: Io>(
    env: &mut Env<'_, I>,
    conns: &mut ConnMap<Connection>,
    id: gatebench_net::ConnId,
    fate: Option<Fate>,
) {
    if fate == Some(Fate::Close)
        && let Some(conn) = conns.remove(id)
    {
        if conn.is_counted() {
            env.counters.closed.add(1);
        }
        env.io.close(id);
    }
}
