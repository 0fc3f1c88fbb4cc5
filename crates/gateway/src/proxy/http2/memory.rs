//! Bounds the bytes that a connection holds for its client, and decides which requests wait when
//! the bound is exceeded.
//!
//! Two kinds of bytes are counted together. Bodies that policies need in full are kept until they
//! are complete. Responses count as unread until they are passed to the kernel: they may be queued
//! at their streams, wait for the client's windows, or be queued for the socket. The bound applies
//! to their sum.
//!
//! When the bound is exceeded, only one of the bodies that are kept is read further: that of the
//! oldest request, so that this request can end. If, in addition, the client leaves more bytes
//! unread than one body may have, the client is behind. Everything that would add unread bytes then
//! stops: new requests are deferred; the gateway's own responses wait; responses that are partly
//! unread, or that policies will need in full, are not read from their upstreams; and a body is
//! read further only if no older response is unread. Only the client can reduce the unread bytes,
//! so a client that is behind must receive more bytes within the time allowed for an idle
//! connection. A client that reads slowly gets everything; one that does not read gets GOAWAY.

use gatebench_net::Io;
use gatebench_net::http2::{ErrorCode, StreamId};

use super::Multiplexed;
use super::stream::Stream;
use crate::compiled::Limits;
use crate::proxy::client::{Exchange, Fate, Phase};
use crate::proxy::exchange::Core;

/// Bytes held for one stream, or for all streams of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    /// Bytes of bodies that are kept until they are complete.
    pub(super) kept: usize,
    /// Bytes of responses that the connection has not yet converted to frames.
    pub(super) queued: usize,
}

impl Held {
    pub(super) fn of(exchange: &Exchange) -> Self {
        Self {
            kept: exchange.kept_bytes(),
            queued: exchange.outbox.queued().len(),
        }
    }

    pub(super) fn change(&mut self, before: Self, now: Self) {
        self.kept = self.kept + now.kept - before.kept;
        self.queued = self.queued + now.queued - before.queued;
    }

    /// Reports whether the bytes held for the streams, plus `sent` unread bytes of the connection,
    /// exceed the bound.
    fn is_full(self, sent: usize, limits: &Limits) -> bool {
        // A single body of the maximum size must fit.
        let bound = limits.connection_collected_max.max(limits.collected_max);
        self.kept + self.queued + sent > bound
    }

    /// Reports whether too much is held because the client leaves more bytes unread than one body
    /// may have.
    fn is_behind(self, sent: usize, limits: &Limits) -> bool {
        self.queued + sent > limits.collected_max && self.is_full(sent, limits)
    }
}

/// Returns the stream number of the oldest request that these streams serve.
fn oldest<'s>(streams: impl Iterator<Item = &'s Stream>) -> Option<u32> {
    let ids = streams.filter_map(|stream| stream.id);
    ids.map(StreamId::number).min()
}

impl Multiplexed {
    /// Returns the bytes that wait for the client's windows or are queued for the socket.
    fn sent_unread(&self) -> usize {
        self.server.unsent_bytes_of_all() + self.outbox.pending_bytes()
    }

    pub(super) fn is_behind(&self, limits: &Limits) -> bool {
        self.held.is_behind(self.sent_unread(), limits)
    }

    fn is_full(&self, limits: &Limits) -> bool {
        self.held.is_full(self.sent_unread(), limits)
    }

    /// Pauses streams that would hold more while too much is held, and resumes them when there is
    /// room.
    pub(super) fn share_memory<I: Io>(&mut self, core: &mut Core<I>) {
        if !self.was_full && !self.is_full(&core.limits) {
            return;
        }
        self.hold_back(core);
        self.take_up(core);
        // As long as a stream is paused, each call checks it again, even if the bound is no longer
        // exceeded.
        let mut streams = self.streams.iter();
        let waits = streams.any(|it| it.id.is_some() && it.client.exchange.is_crowded);
        self.was_full = waits || self.is_full(&core.limits);
    }

    fn hold_back<I: Io>(&mut self, core: &mut Core<I>) {
        let limits = core.limits;
        let sent = self.sent_unread();
        let oldest = self.oldest_keeper(&limits);
        for (slot, stream) in (0..).zip(&mut self.streams) {
            let Some(id) = stream.id else { continue };
            // Each resumed stream may use up the room, so `is_behind` is recomputed for every
            // stream.
            let is_behind = self.held.is_behind(sent, &limits);
            let exchange = &stream.client.exchange;
            let waits = match exchange.phase {
                _ if exchange.keeps() => {
                    Some(id.number()) != oldest && self.held.is_full(sent, &limits)
                }
                Phase::Local(_) => is_behind,
                // A response that is forwarded as it arrives proceeds as fast as the client reads
                // it.
                Phase::Relaying => {
                    let is_unread = stream.held.queued > 0 || self.server.unsent_bytes(id) > 0;
                    is_behind && (is_unread || exchange.may_keep_response())
                }
                _ => false,
            };
            if waits != exchange.is_crowded {
                stream.crowd(waits, core);
                stream.count(&mut self.held);
                self.stirred.push(slot);
            }
        }
    }

    /// Returns the stream number of the request whose body is read even if the bound is exceeded.
    fn oldest_keeper(&self, limits: &Limits) -> Option<u32> {
        let keepers = self.streams.iter().filter(|stream| stream.held.kept > 0);
        let keeper = oldest(keepers)?;
        if !self.is_behind(limits) {
            return Some(keeper);
        }
        // The body may be read further only if no older response is unread. Otherwise, one body
        // after another would become an unread response.
        let queued = self.streams.iter();
        let queued = queued.filter(|stream| stream.held.queued > 0);
        let unread = [oldest(queued), self.server.oldest_unsent()];
        let is_first = unread.into_iter().flatten().all(|it| keeper <= it);
        is_first.then_some(keeper)
    }

    /// Begins deferred requests as long as there is room.
    fn take_up<I: Io>(&mut self, core: &mut Core<I>) {
        while !self.is_behind(&core.limits) {
            let streams = (0_u32..).zip(&mut self.streams);
            let put_off = streams.filter(|(_, stream)| stream.is_put_off);
            let oldest = put_off.min_by_key(|(_, stream)| stream.id.map(StreamId::number));
            let Some((slot, stream)) = oldest else {
                return;
            };
            stream.take_up(core);
            stream.count(&mut self.held);
            self.stirred.push(slot);
        }
    }

    /// Sets a deadline for a client that falls behind, and restarts it whenever the client receives
    /// bytes.
    pub(super) fn watch<I: Io>(&mut self, core: &mut Core<I>) {
        let is_behind = self.is_behind(&core.limits);
        // Bytes that are queued for the socket do not count. They may include other frames, so
        // `taken` can decrease; only an increase is progress.
        let pending = self.outbox.pending_bytes() as u64;
        let taken = self.server.sent_bytes().saturating_sub(pending);
        if is_behind && self.behind_at.is_none_or(|before| taken > before) {
            self.behind_at = Some(taken);
            self.stir(core);
        } else if !is_behind && self.behind_at.is_some() {
            self.behind_at = None;
            if self.is_busy() {
                self.deadline.clear();
            }
        }
    }

    /// Ends the connection of a client that was behind and received nothing until its deadline.
    pub(super) fn turn_out<I: Io>(&mut self, core: &mut Core<I>) -> Fate {
        let code = ErrorCode::ENHANCE_YOUR_CALM;
        self.server.give_up(code, self.outbox.queue());
        self.end(core);
        self.settle(core)
    }
}
