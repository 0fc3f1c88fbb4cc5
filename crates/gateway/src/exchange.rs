//! A request on its way: from its head to an upstream's connection, or to an answer of our own.

use std::io;

use gatebench_net::http1::{Framing, Head, write_chunk, write_last_chunk};
use gatebench_net::timers::Timers;
use gatebench_net::{ConnId, ConnMap, Io};

use crate::balance::Balance;
use crate::client::{Choice, Exchange, Phase};
use crate::forward::{Destination, Relay, Target, write_request};
use crate::hold::{DelayTurns, Delays, Holds};
use crate::local::{Local, Toward};
use crate::log::AccessLog;
use crate::origin::Origin;
use crate::pool::Pools;
use crate::routes::strip;
use crate::site::{Site, Stage};
use crate::worker::Totals;

/// Output of one connection beyond this stops the reading of what feeds it.
pub(crate) const PENDING_BYTES_MAX: usize = 128 * 1024;

/// Below this it is read again.
pub(crate) const PENDING_BYTES_LOW: usize = 64 * 1024;

/// What all connections of a worker use.
pub(crate) struct Core<'a, I> {
    pub(crate) io: I,
    pub(crate) site: &'a Site,
    pub(crate) pools: Pools,
    pub(crate) balances: Vec<Balance>,
    /// By route.
    pub(crate) delays: Vec<Option<DelayTurns>>,
    pub(crate) timers: Timers<ConnId>,
    pub(crate) holds: Holds,
    pub(crate) log: AccessLog,
    pub(crate) totals: Totals,
    /// The clock as it was after the last poll.
    pub(crate) now_ns: u64,
}

impl<I: Io> Core<'_, I> {
    /// A connection to a target: an idle one, else one that is being opened.
    fn origin_for(&mut self, origins: &mut ConnMap<Origin>, target: usize) -> io::Result<ConnId> {
        if let Some(id) = self.pools.take(target)
            && let Some(origin) = origins.get_mut(id)
        {
            origin.is_reused = true;
            origin.has_answered = false;
            let due_ns = self.now_ns + self.site.limits.upstream_ns;
            origin.deadline.set(due_ns, id, &mut self.timers);
            return Ok(id);
        }
        self.open(origins, target)
    }

    /// Begins to open a connection to a target.
    pub(crate) fn open(
        &mut self,
        origins: &mut ConnMap<Origin>,
        target: usize,
    ) -> io::Result<ConnId> {
        let id = self.io.connect(self.site.targets[target].address, None)?;
        let mut origin = Origin::connecting(id, target);
        let due_ns = self.now_ns + self.site.limits.connect_ns;
        origin.deadline.set(due_ns, id, &mut self.timers);
        origins.insert(id, origin);
        Ok(id)
    }

    /// Closes the connection that serves a request nobody waits for any more.
    pub(crate) fn cancel(&mut self, origins: &mut ConnMap<Origin>, id: Option<ConnId>) {
        if let Some(id) = id
            && origins.remove(id).is_some()
        {
            self.io.close(id);
        }
    }
}

impl Exchange {
    /// A head was read: chooses the route, applies its policies, sends it on.
    pub(crate) fn begin<I: Io>(
        &mut self,
        head: &Head<'_>,
        origins: &mut ConnMap<Origin>,
        core: &mut Core<'_, I>,
    ) {
        self.toward = Toward {
            is_head: head.method() == "HEAD",
            is_http10: head.version_minor() == 0,
            keep_alive: head.keep_alive(),
        };
        self.expects_continue = head.expects_continue();
        self.is_request_done = false;
        self.has_answer = false;
        if core.log.is_on() {
            self.log.begin(head.method(), head.target(), core.now_ns);
        }
        let target = Target::new(head.target());
        self.route = core.site.table.find(target.path);
        let choice = match self.route {
            None => Some(Choice::Error(404)),
            Some(route) => self.judge(route, head, core).or_else(|| {
                let sent = self.send_on(route, head, target, origins, core);
                sent.err().map(|_| Choice::Error(502))
            }),
        };
        match choice {
            None => self.phase = Phase::Relaying,
            // The client waits for a word before it sends the body, which nobody wants.
            Some(choice) if self.expects_continue => {
                self.toward.keep_alive = false;
                self.answer(core, local(core.site, choice));
            }
            Some(choice) => self.phase = Phase::Local(choice),
        }
    }

    /// The policies of a route: an answer, or nothing against the request.
    fn judge<I>(&self, route: usize, head: &Head<'_>, core: &Core<'_, I>) -> Option<Choice> {
        for (at, stage) in core.site.routes[route].stages.iter().enumerate() {
            match stage {
                Stage::ApiKey { header } => {
                    if !head
                        .field(header)
                        .is_some_and(|key| core.site.keys.contains(key))
                    {
                        return Some(Choice::Error(401));
                    }
                }
                Stage::Mock(_) => return Some(Choice::Mock(route, at)),
            }
        }
        None
    }

    /// Writes the head to a connection of the route's upstream.
    fn send_on<I: Io>(
        &mut self,
        route: usize,
        head: &Head<'_>,
        target: Target<'_>,
        origins: &mut ConnMap<Origin>,
        core: &mut Core<'_, I>,
    ) -> io::Result<()> {
        let site = core.site;
        let upstream = site.routes[route].upstream;
        let turn = core.balances[upstream].next();
        let number = site.upstreams[upstream].first_target + turn;
        let id = core.origin_for(origins, number)?;
        let Some(origin) = origins.get_mut(id) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let prefix = &site.routes[route].prefix;
        let to = Destination {
            rest: if site.routes[route].strip_path {
                strip(target.rest, prefix)
            } else {
                target.rest
            },
            authority: target.authority,
            fallback_authority: &site.targets[number].authority,
            is_last: site.targets[number].keepalive == 0,
        };
        self.request_relay = write_request(origin.outbox.queue(), head, &to);
        origin.replay.clear();
        if origin.is_reused && may_repeat(head) {
            origin.replay.extend_from_slice(origin.outbox.queue());
        }
        origin.client = Some(self.id);
        origin.decoder.expect(self.toward.is_head);
        self.origin = Some(id);
        self.delays = core.delays[route]
            .as_mut()
            .map_or(Delays::default(), DelayTurns::next);
        origin
            .hold
            .begin(self.delays.request_ns, core.now_ns, id, &mut core.holds);
        Ok(())
    }

    /// A piece of the request's body was read.
    pub(crate) fn pass_body(&mut self, piece: &[u8], origins: &mut ConnMap<Origin>) {
        let relaying = self.origin.filter(|_| self.phase == Phase::Relaying);
        if let Some(origin) = relaying.and_then(|id| origins.get_mut(id)) {
            relay(origin.outbox.queue(), self.request_relay, piece);
        }
    }

    /// The request is whole.
    pub(crate) fn end_request<I: Io>(
        &mut self,
        origins: &mut ConnMap<Origin>,
        core: &mut Core<'_, I>,
    ) {
        self.is_request_done = true;
        match self.phase {
            Phase::Local(choice) => self.answer(core, local(core.site, choice)),
            Phase::Draining => self.phase = Phase::Idle,
            Phase::Relaying => {
                if let Some(origin) = self.origin.and_then(|id| origins.get_mut(id)) {
                    if self.request_relay == Relay::Chunked {
                        write_last_chunk(origin.outbox.queue());
                    }
                    // From the last byte on the upstream has its full time, however slowly it got it.
                    if origin.is_connected {
                        let due_ns = core.now_ns + core.site.limits.upstream_ns;
                        origin.deadline.set(due_ns, origin.id, &mut core.timers);
                    }
                }
            }
            Phase::Idle | Phase::Closing | Phase::Lingering => {}
        }
    }
}

/// Writes a piece of a body as its reader expects it.
pub(crate) fn relay(out: &mut Vec<u8>, how: Relay, piece: &[u8]) {
    match how {
        Relay::Plain => out.extend_from_slice(piece),
        Relay::Chunked => write_chunk(out, piece),
    }
}

/// Whether sending a request twice does what sending it once does (RFC 9110 9.2.2), and it is whole
/// with its head.
fn may_repeat(head: &Head<'_>) -> bool {
    matches!(head.framing(), Framing::None | Framing::Length(0))
        && matches!(
            head.method(),
            "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE"
        )
}

/// The answer chosen.
fn local(site: &Site, choice: Choice) -> Local<'_> {
    match choice {
        Choice::Error(status) => Local::error(status),
        Choice::Mock(route, stage) => match &site.routes[route].stages[stage] {
            Stage::Mock(mock) => Local::mock(mock),
            Stage::ApiKey { .. } => Local::error(500),
        },
    }
}
