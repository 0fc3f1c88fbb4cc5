//! A worker's loop, which passes events and deadlines to connections.

use std::io;
use std::sync::atomic::Ordering;

use gatebench_net::timers::Timers;
use gatebench_net::tls::Session;
use gatebench_net::workers::{STOP_CHECK_NS, Seat, Service};
use gatebench_net::{ConnId, ConnMap, Event, Io};

use crate::Kind;
use crate::apps::Apps;
use crate::connection::{ConnectionOf, Origin};
use crate::env::{Conversation, Env, Fate, Speaker};
use crate::exchange::Exchange;
use crate::http1;
use crate::ledger::Ledger;

/// The state that the workers of an origin share, for all kinds except [`Kind::Pathology`].
pub(crate) struct Serving {
    pub(crate) kind: Kind,
    pub(crate) ledger: Ledger,
}

impl<I: Io> Origin<I> for Apps {
    type Http1 = http1::Connection;
    type Exchange = Exchange;
}

impl Service for Serving {
    fn run<I: Io>(&self, io: I, seat: Seat<'_>) -> io::Result<()> {
        run(io, Apps::new(self.kind, seat.index), &self.ledger, &seat)
    }
}

pub(crate) fn run<I: Io, O: Origin<I>>(
    io: I,
    origin: O,
    ledger: &Ledger,
    seat: &Seat<'_>,
) -> io::Result<()> {
    let counters = ledger.of_worker(seat.index);
    counters.thread_id.store(seat.thread_id, Ordering::Relaxed);
    let mut env = Env {
        now_ns: io.now_ns(),
        io,
        origin,
        ledger,
        counters,
        timers: Timers::default(),
    };
    let mut conns = ConnMap::default();
    let mut events = Vec::new();
    while !seat.stopped() {
        let check_ns = env.now_ns + STOP_CHECK_NS;
        let until_ns = env.timers.next_ns().map_or(check_ns, |due_ns| {
            due_ns.saturating_sub(env.origin.spin_ns()).min(check_ns)
        });
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

fn handle<I: Io, O: Origin<I>>(
    env: &mut Env<'_, I, O>,
    conns: &mut ConnMap<ConnectionOf<I, O>>,
    event: Event,
) {
    let id = event.conn();
    let fate = match event {
        Event::Accepted { conn, .. } => {
            env.counters.accepted.add(1);
            let begun = <ConnectionOf<I, O> as Conversation<I, O>>::new(conn);
            conns.insert(conn, begun);
            Some(Fate::Keep)
        }
        Event::Received { bytes, .. } => conns.get_mut(id).map(|conn| conn.received(env, &bytes)),
        Event::EndOfStream { .. } => conns.get_mut(id).map(|conn| conn.end_of_stream(env)),
        Event::Sent { bytes, .. } => conns.get_mut(id).map(|conn| conn.sent(env, bytes)),
        Event::Failed { .. } => {
            if env.io.session(id).is_some_and(Session::is_handshaking) {
                env.counters.tls_handshakes_failed.add(1);
            }
            Some(Fate::Close)
        }
        // An origin never opens connections.
        Event::Connected { .. } => None,
    };
    obey(env, conns, id, fate);
}

fn obey<I: Io, O: Origin<I>>(
    env: &mut Env<'_, I, O>,
    conns: &mut ConnMap<ConnectionOf<I, O>>,
    id: ConnId,
    fate: Option<Fate>,
) {
    let Some(fate @ (Fate::Close | Fate::Reset)) = fate else {
        return;
    };
    let Some(mut conn) = conns.remove(id) else {
        return;
    };
    if conn.gone(env) != Some(Speaker::Control) {
        env.counters.closed.add(1);
    }
    match fate {
        Fate::Reset => env.io.abort(id),
        Fate::Close | Fate::Keep => env.io.close(id),
    }
}
