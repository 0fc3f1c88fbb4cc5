//! Counts requests in Redis. Either each request waits for its count, or the worker counts the
//! requests itself and periodically exchanges its counts with Redis.
//!
//! The worker's own loop serves one connection to each Redis server, or several if limits have
//! different passwords or timeouts. A connection is opened when it is first needed, and closed when
//! a reload has removed the limits that use it. The first request of a window begins the window
//! (INCRBY, then PEXPIRE with NX, which needs Redis 7), and Redis ends it. While a request waits,
//! its upstream connection is already chosen, and its bytes are queued there, unless the request is
//! being collected or a mock responds to it.

use std::rc::Rc;

use gatebench_model::policy::{RedisCounting, WithoutRedis};
use gatebench_net::http1::Head;
use gatebench_net::{ConnId, Event, Io};

use super::client::{Client, Exchange, Fate, Phase};
use super::exchange::Core;
use super::worker::Worker;
use crate::message::{Choice, Standing};
use crate::redis::{Asker, Base, Link, Question, RedisLimit, Said};

/// A limit's verdict on a request, or the setting that applies while Redis is unavailable.
type Verdict = Result<Standing, WithoutRedis>;

impl Exchange {
    /// Counts a request. Returns a response if the limit refuses the request now; a synchronous
    /// limit may also refuse it later.
    pub(crate) fn count<I: Io>(
        &mut self,
        limit: &RedisLimit,
        head: &Head<'_>,
        core: &mut Core<I>,
    ) -> Option<Choice> {
        let mut key = std::mem::take(&mut core.redis_key);
        let consumers = &self.active.compiled.consumers;
        let consumer = self.notes.consumer.and_then(|one| consumers.name(one));
        limit.write_key(&mut key, head, consumer);
        let verdict = match limit.policy.counting {
            RedisCounting::Synchronous => self.ask(limit, &key, core),
            RedisCounting::Asynchronous => Some(core.count_alone(limit, &key)),
        };
        core.redis_key = key;
        self.note(verdict?)
    }

    /// Asks Redis to count a request. Returns a verdict immediately if Redis is unavailable.
    fn ask<I: Io>(
        &mut self,
        limit: &RedisLimit,
        key: &[u8],
        core: &mut Core<I>,
    ) -> Option<Verdict> {
        core.asked += 1;
        let serial = core.asked;
        let at = core.link(limit);
        let (links, mut base) = links_of(core);
        if !links[at].ask(&mut base, limit, key, 1, Asker::Request(self.id, serial)) {
            return Some(Err(limit.policy.without_redis));
        }
        self.asking = Some(serial);
        None
    }

    /// Stores the verdict of the limit. Returns a response if the limit or the setting refuses the
    /// request.
    fn note(&mut self, verdict: Verdict) -> Option<Choice> {
        match verdict {
            Ok(standing) => self.notes.limit(standing),
            Err(WithoutRedis::Allow) => None,
            Err(WithoutRedis::Refuse) => Some(Choice::Error(503)),
        }
    }

    /// Handles the verdict on a waiting request.
    fn counted<I: Io>(&mut self, serial: u64, verdict: Verdict, core: &mut Core<I>) {
        if self.asking != Some(serial) {
            return;
        }
        self.asking = None;
        if let Some(choice) = self.note(verdict) {
            core.give_back(self.origin.take());
            self.collected.clear();
            self.toward.keep_alive &= self.is_request_done;
            return self.response(core, choice);
        }
        match self.phase {
            // If there is no room for the response yet, the response is sent as soon as there is
            // room.
            Phase::Local(choice) if self.sends_no_more() && !self.is_crowded => {
                self.toward.keep_alive &= self.is_request_done;
                self.response(core, choice);
            }
            Phase::Collecting if self.is_request_done => self.send_collected(core),
            _ => {}
        }
        if let Some(origin) = self.origin.and_then(|id| core.origins.get_mut(id)) {
            origin.is_gated = false;
            origin.flush(&mut core.io);
            // The upstream's timeout starts when the request is sent, not while the request waits
            // for Redis.
            if origin.is_connected && !origin.is_paused {
                origin.expect_life(core.now_ns, &mut core.timers);
            }
        }
    }
}

impl<I: Io> Core<I> {
    /// Returns the number of the link to a limit's Redis server with the limit's timeout; creates
    /// the link on first use.
    fn link(&mut self, limit: &RedisLimit) -> usize {
        let mut links = self.links.iter();
        let known = links.position(|link| link.server == limit.server);
        known.unwrap_or_else(|| {
            self.links.push(Link::new(limit.server.clone()));
            self.links.len() - 1
        })
    }

    fn count_alone(&mut self, limit: &RedisLimit, key: &[u8]) -> Verdict {
        let at = self.link(limit);
        let counts = &mut self.current.counts[limit.number];
        if self.links[at].is_gone {
            // One request is still counted, because sending its count shows whether Redis is
            // available again.
            if !counts.has_unsent() {
                counts.count(limit, key, self.now_ns);
            }
            return Err(limit.policy.without_redis);
        }
        Ok(counts.count(limit, key, self.now_ns))
    }

    /// Sends Redis the counts of requests that did not wait for it, for each limit whose interval
    /// has passed or whose counts are urgent. Called once per round of the worker's loop.
    pub(crate) fn send_counts_to_redis(&mut self) {
        if self.current.active.compiled.asynchronous_limits.is_empty() {
            return;
        }
        let active = Rc::clone(&self.current.active);
        let routes = &active.compiled.routes;
        let limited = active.compiled.asynchronous_limits.iter();
        for limit in limited.filter_map(|&route| routes[route].chain.redis.as_ref()) {
            let now_ns = self.now_ns;
            let counts = &self.current.counts[limit.number];
            if !counts.is_urgent && now_ns < counts.sent_at_ns + limit.policy.interval.as_nanos() {
                continue;
            }
            let at = self.link(limit);
            let mut counts = std::mem::take(&mut self.current.counts[limit.number]);
            counts.sent_at_ns = now_ns;
            counts.is_urgent = false;
            let mut lost = Vec::new();
            let (links, mut base) = links_of(self);
            counts.send(|key, amount| {
                let asker = Asker::Counts(key.into(), amount);
                if !links[at].ask(&mut base, limit, key, amount, asker) {
                    lost.push((Box::<[u8]>::from(key), amount));
                }
            });
            for (key, amount) in lost {
                counts.lost(&key, amount);
            }
            self.current.counts[limit.number] = counts;
        }
    }

    /// Closes and removes the links that no limit uses any longer, once they wait for no reply.
    pub(crate) fn drop_unused_links(&mut self) {
        let (links, mut base) = links_of(self);
        links.retain_mut(|link| {
            let is_kept = link.is_used || link.is_asked();
            if !is_kept {
                link.give_up(&mut base);
            }
            is_kept
        });
    }

    pub(crate) fn link_of(&self, conn: ConnId) -> Option<usize> {
        self.links.iter().position(|link| link.owns(conn))
    }
}

impl<I: Io> Worker<I> {
    pub(crate) fn handle_link(&mut self, at: usize, event: Event) {
        let (links, mut base) = links_of(&mut self.core);
        let link = &mut links[at];
        match event {
            Event::Connected { .. } => link.connected(base.io),
            Event::Sent { bytes, .. } => link.sent(bytes, base.io),
            Event::Received { bytes, .. } => {
                let mut replies = Vec::new();
                let heard = |question, said| replies.push((question, said));
                let is_fine = link.received(&mut base, &bytes, heard);
                for (question, said) in replies {
                    self.redis_said(question, said);
                }
                if !is_fine {
                    self.link_broke(at);
                }
            }
            Event::Failed { error, .. } => {
                link.complain(&format!("{error}; start Redis, or correct the address"));
                self.link_broke(at);
            }
            Event::EndOfStream { .. } => {
                if link.is_asked() {
                    link.complain("Redis closed the connection; read the log of the Redis server");
                }
                self.link_broke(at);
            }
            Event::Accepted { .. } => {}
        }
    }

    pub(crate) fn link_due(&mut self, at: usize) {
        let (links, mut base) = links_of(&mut self.core);
        if links[at].is_due(&mut base) {
            links[at].complain("Redis did not reply in time; make sure that it is not overloaded, or raise `timeout`");
            self.link_broke(at);
        }
    }

    /// Handles the loss of a link: its pending commands get no replies.
    fn link_broke(&mut self, at: usize) {
        if let Some(words) = self.core.links[at].trouble.take() {
            (self.core.notices)(&words);
        }
        let (links, mut base) = links_of(&mut self.core);
        for question in links[at].give_up(&mut base) {
            self.redis_said(question, Said::Nothing);
        }
    }

    fn redis_said(&mut self, question: Question, said: Said) {
        let Question { asker, limit, .. } = question;
        match asker {
            Asker::Greeting => {}
            Asker::Counts(key, amount) => {
                let now_ns = self.core.now_ns;
                // A reload may have removed the limit.
                let Some(counts) = self.core.current.counts.get_mut(limit) else {
                    return;
                };
                match said {
                    Said::Count { count, left_ms } => {
                        counts.adopt(&key, amount, count, left_ms, now_ns)
                    }
                    Said::Nothing => counts.lost(&key, amount),
                }
            }
            Asker::Request(client_ref, serial) => self.with_client(client_ref, |client, core| {
                client.redis_said(serial, said, core)
            }),
        }
    }
}

/// Borrows the links of a worker, and the parts of the worker that they use.
fn links_of<I>(core: &mut Core<I>) -> (&mut Vec<Link>, Base<'_, I>) {
    let base = Base {
        io: &mut core.io,
        timers: &mut core.timers,
        polled_ns: core.polled_ns,
        now_ns: core.now_ns,
    };
    (&mut core.links, base)
}

impl Client {
    fn redis_said<I: Io>(&mut self, serial: u64, said: Said, core: &mut Core<I>) -> Fate {
        let exchange = &mut self.exchange;
        let active = Rc::clone(&exchange.active);
        let route = exchange.route.map(|route| &active.compiled.routes[route]);
        if let Some(limit) = route.and_then(|route| route.chain.redis.as_ref()) {
            let verdict = match said {
                Said::Count { count, left_ms } => Ok(limit.standing(count, left_ms)),
                Said::Nothing => Err(limit.policy.without_redis),
            };
            exchange.counted(serial, verdict, core);
        }
        self.advance(core)
    }
}
