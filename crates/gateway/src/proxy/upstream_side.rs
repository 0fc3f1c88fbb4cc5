//! A worker's upstream side, which handles connections to targets and the responses that arrive on
//! them.

use std::rc::Rc;

use gatebench_net::http1::{Decoder, Event as Part, Head, write_last_chunk};
use gatebench_net::{ConnId, Io};

use super::client::{Client, Exchange, Fate};
use super::edit::{Edited, Refused};
use super::exchange::Core;
use super::origin::Origin;
use super::worker::{Worker, client_mut, exchange_mut};
use crate::faults::Injector;
use crate::message::{
    CONTINUE, Choice, RateFields, Refusal, Relay, ResponseEdits, form_of, relay, write_response,
};
use crate::openapi::ResponseCheck;
use crate::policy::Chain;
use crate::soap::Fault;

impl<I: Io> Worker<I> {
    pub(crate) fn origin_connected(&mut self, id: ConnId) {
        let Some(origin) = self.core.origins.get_mut(id) else {
            return;
        };
        let begun = match &self.core.current.targets[origin.target].tls {
            None => return self.origin_ready(id),
            Some(context) => origin.shake_hands(context, &mut self.core.io),
        };
        if begun.is_err() {
            self.origin_broke(id, Choice::UpstreamTls);
        }
    }

    fn origin_ready(&mut self, id: ConnId) {
        if let Some(origin) = self.core.origins.get_mut(id) {
            origin.is_connected = true;
            origin.flush(&mut self.core.io);
            let exchange = origin
                .client
                .and_then(|id| exchange_mut(&mut self.clients, id));
            match exchange.is_some_and(|exchange| exchange.is_crowded) {
                true => origin.pause(&mut self.core.io),
                false => origin.expect_life(self.core.now_ns, &mut self.core.timers),
            }
        }
    }

    pub(crate) fn origin_sent(&mut self, id: ConnId, bytes: Vec<u8>) {
        let Some(origin) = self.core.origins.get_mut(id) else {
            return;
        };
        origin.sent(bytes, &mut self.core.io);
        let Some(client) = origin.client else { return };
        if origin.is_connected && !origin.is_paused {
            origin.expect_life(self.core.now_ns, &mut self.core.timers);
        }
        let waiting = client_mut(&mut self.clients, client);
        if waiting.is_some_and(|client| client.is_waiting()) {
            self.with_client(client, Client::advance);
        }
    }

    pub(crate) fn origin_received(&mut self, id: ConnId, bytes: &[u8]) {
        let Some(origin) = self.core.origins.get_mut(id) else {
            return;
        };
        let unsealed = match origin.unseal(bytes, &mut self.core.io) {
            Ok(None) => return self.origin_said(id, bytes),
            Ok(Some(unsealed)) => unsealed,
            Err(_) => return self.origin_broke(id, Choice::UpstreamTls),
        };
        if unsealed.is_ready {
            self.origin_ready(id);
        }
        if !unsealed.plain.is_empty() {
            self.origin_said(id, &unsealed.plain);
        }
        if unsealed.is_end {
            self.origin_ended(id);
        }
        if let Some(origin) = self.core.origins.get_mut(id) {
            origin.keep(unsealed.plain);
        }
    }

    fn origin_said(&mut self, id: ConnId, bytes: &[u8]) {
        let Some(origin) = self.core.origins.get_mut(id) else {
            return;
        };
        let client_id = origin.client;
        let Some(exchange) = client_id.and_then(|client| exchange_mut(&mut self.clients, client))
        else {
            // A response without a request (RFC 9112 9.2): the connection cannot be used again.
            self.discard(id);
            return;
        };
        origin.has_responded = true;
        let mut input = bytes;
        let max_bytes = self.core.limits.collected_max;
        let now_ns = self.core.now_ns;
        let faults = &mut self.core.faults;
        match exchange.pass_response(&mut origin.decoder, &mut input, max_bytes, now_ns, faults) {
            Err(why) => self.origin_broke(id, why),
            Ok(true) => self.response_is_whole(id, input.is_empty()),
            Ok(false) => {
                if exchange.is_full() {
                    origin.pause(&mut self.core.io);
                }
                if !origin.is_paused {
                    origin.expect_life(now_ns, &mut self.core.timers);
                }
                let client_id = exchange.id;
                self.with_client(client_id, Client::advance);
            }
        }
    }

    /// Handles a complete response: returns the connection to the pool if possible, and continues
    /// with the client.
    fn response_is_whole(&mut self, id: ConnId, nothing_follows: bool) {
        let Some(origin) = self.core.origins.get_mut(id) else {
            return;
        };
        let Some(client_id) = origin.client.take() else {
            return;
        };
        let Some(exchange) = exchange_mut(&mut self.clients, client_id) else {
            self.discard(id);
            return;
        };
        let is_fit = nothing_follows
            && exchange.is_request_done
            && origin.decoder.keep_alive()
            && origin.outbox.queue().is_empty();
        let edited = exchange.end_response(&mut self.core);
        let Some(origin) = self.core.origins.get_mut(id) else {
            return;
        };
        let edited = match edited {
            Ok(edited) => edited,
            Err(why) => {
                origin.client = Some(client_id);
                return self.origin_broke(id, why);
            }
        };
        let is_kept = is_fit && self.core.current.put_idle(origin.target, id);
        if is_kept {
            origin.deadline.clear();
            origin.resume(&mut self.core.io);
        }
        exchange.origin = None;
        if edited == Edited::Done {
            exchange.complete(&mut self.core);
        }
        if !is_kept {
            self.discard(id);
        }
        self.with_client(client_id, Client::advance);
    }

    /// Handles the end of a target's data: FIN or, over TLS, FIN or a close_notify alert.
    pub(crate) fn origin_ended(&mut self, id: ConnId) {
        let Some(origin) = self.core.origins.get_mut(id) else {
            return;
        };
        match origin.decoder.end_of_stream() {
            Ok(true) if origin.client.is_some() && origin.may_end() => {
                self.response_is_whole(id, false);
            }
            _ => self.origin_broke(id, Choice::Error(502)),
        }
    }

    /// Handles a target connection that failed or took too long: retries if that is safe.
    /// Otherwise, sends the client an error or, if its response has begun, cuts the response off.
    pub(crate) fn origin_broke(&mut self, id: ConnId, why: Choice) {
        let Some(origin) = self.discard(id) else {
            return;
        };
        let now_ns = self.core.now_ns;
        if !origin.is_connected {
            self.core.current.rest(origin.target, now_ns);
        }
        let Some(client_id) = origin.client else {
            return;
        };
        let Some(exchange) = exchange_mut(&mut self.clients, client_id) else {
            return;
        };
        exchange.origin = None;
        exchange.collected_response.clear();
        if exchange.try_again(&origin, why, &mut self.core) {
            return;
        }
        self.core.totals.upstream_failures += 1;
        if exchange.has_response {
            return self.obey(client_id, Fate::Abort);
        }
        exchange.toward.keep_alive &= exchange.is_request_done;
        exchange.response(&mut self.core, why);
        self.with_client(client_id, Client::advance);
    }

    /// Closes a connection to a target, and removes it from the worker's origins and from the pool.
    fn discard(&mut self, id: ConnId) -> Option<Origin> {
        let origin = self.core.origins.remove(id)?;
        self.core.io.close(id);
        if origin.client.is_none() {
            self.core.current.forget_idle(origin.target, id);
        }
        Some(origin)
    }
}

impl Exchange {
    /// Writes the head of a response or, if a policy needs the whole response, begins to collect
    /// it.
    fn begin_response(&mut self, head: &Head<'_>) -> Result<(), Choice> {
        let active = Rc::clone(&self.active);
        let Some(route) = self.route.map(|route| &active.compiled.routes[route]) else {
            return Ok(());
        };
        let chain = &route.chain;
        self.response_check = self.judge_response(chain, head)?;
        if let Some(why) = chain.unreadable_response(head) {
            let words = format!("the upstream's response cannot be edited: {why}");
            return Err(self.refused(Refusal::new(502, words)));
        }
        let is_collected = self.response_check.is_some_and(ResponseCheck::wants_body)
            || chain.collects_response(head);
        let rate = self.notes.standing.filter(|standing| standing.has_headers);
        let edits = ResponseEdits {
            fields: &chain.response_headers,
            rate: rate.map(RateFields::new),
            is_collected,
            hides_length: chain.replaces_responses(),
        };
        let toward = self.toward;
        self.status = head.status();
        if is_collected {
            if chain.soap.is_some() {
                self.passage.turn(head);
            }
            self.response_form = form_of(head);
            self.collected_response.begin(|out| {
                write_response(out, head, toward, &edits);
            });
            return Ok(());
        }
        let (relay, until_close) = write_response(self.outbox.queue(), head, toward, &edits);
        self.response_relay = relay;
        self.toward.keep_alive &= !until_close;
        self.has_response = true;
        Ok(())
    }

    /// Checks a response's head against the route's OpenAPI document, if responses are checked.
    fn judge_response(
        &mut self,
        chain: &Chain,
        head: &Head<'_>,
    ) -> Result<Option<ResponseCheck>, Choice> {
        let checked = chain.operation(&self.notes);
        let Some((operation, _)) = checked.filter(|_| chain.checks_responses()) else {
            return Ok(None);
        };
        let judged = operation.judge_response(head);
        judged.map(Some).map_err(|refusal| self.refused(refusal))
    }

    /// Ends a response after its last byte. Fails if a policy refuses the body.
    fn end_response<I: Io>(&mut self, core: &mut Core<I>) -> Result<Edited, Choice> {
        if !self.collected_response.is_begun() {
            if self.response_relay == Relay::Chunked {
                write_last_chunk(self.outbox.queue());
            }
            return Ok(Edited::Done);
        }
        let edited = self.edit_response(core);
        core.note_time();
        match edited {
            Ok(edited) => Ok(self.write_edited(Ok(edited))),
            Err(Refused::Refusal(refusal)) => Err(self.refused(refusal)),
            Err(Refused::Fault(fault)) => Ok(self.write_edited(Err(fault))),
        }
    }

    /// Queues a collected response, or the fault that replaces it, unless a helper is still
    /// processing the response.
    fn write_edited(&mut self, edited: Result<Edited, Fault>) -> Edited {
        match edited {
            Ok(Edited::Parked) => return Edited::Parked,
            Ok(Edited::Done) => {
                self.collected_response.write(self.outbox.queue());
                self.has_response = true;
            }
            Err(fault) => {
                self.collected_response.clear();
                self.write_fault(&fault);
            }
        }
        Edited::Done
    }

    /// Forwards or collects bytes from a target; a collected body may have at most `max_bytes`.
    /// Returns true at the end of the response. The error is the gateway's own response, which
    /// replaces one that cannot be forwarded.
    fn pass_response(
        &mut self,
        decoder: &mut Decoder,
        input: &mut &[u8],
        max_bytes: usize,
        now_ns: u64,
        faults: &mut Injector,
    ) -> Result<bool, Choice> {
        loop {
            match decoder.next(input) {
                Ok(None) => return Ok(false),
                Ok(Some(Part::Head(head))) => {
                    self.begin_response(&head)?;
                    let delay_ns = self.delays.response_ns;
                    self.hold.begin(delay_ns, now_ns, self.id, faults);
                }
                Ok(Some(Part::Body(piece))) if !self.collected_response.is_begun() => {
                    relay(self.outbox.queue(), self.response_relay, piece);
                }
                Ok(Some(Part::Body(piece))) => {
                    if !self.collected_response.add(piece, max_bytes) {
                        let words = "the upstream's response is larger than collected_bytes_max";
                        return Err(self.refused(Refusal::new(502, words)));
                    }
                }
                Ok(Some(Part::End)) => return Ok(true),
                Ok(Some(Part::Informational(100))) if self.expects_continue => {
                    self.expects_continue = false;
                    self.outbox.queue().extend_from_slice(CONTINUE);
                }
                Ok(Some(Part::Informational(_))) => {}
                Err(_) => return Err(Choice::Error(502)),
            }
        }
    }

    pub(crate) fn finish_response<I: Io>(
        &mut self,
        edited: Result<Edited, Fault>,
        core: &mut Core<I>,
    ) {
        if self.write_edited(edited) == Edited::Done {
            self.complete(core);
        }
    }
}

/// A request is not tried again after this many attempts to reach a target have failed.
const ATTEMPTS_MAX: usize = 8;

impl Exchange {
    /// Sends a request again over a new connection. Returns false if that is not safe or not
    /// possible.
    pub(crate) fn try_again<I: Io>(
        &mut self,
        failed: &Origin,
        why: Choice,
        core: &mut Core<I>,
    ) -> bool {
        if !failed.is_connected {
            return self.try_another(failed, core);
        }
        if failed.is_gated && self.gated_closes < ATTEMPTS_MAX {
            // The connection closed while the request waited for Redis; no part of the request was
            // sent.
            self.gated_closes += 1;
            let begun = failed.outbox.queued();
            return self.begin_again(failed, failed.target, begun, core);
        }
        let may_repeat = !failed.has_responded && !failed.replay.is_empty();
        if why != Choice::Error(502) || !may_repeat {
            return false;
        }
        self.count_retry(core);
        self.begin_again(failed, failed.target, &failed.replay, core)
    }

    /// Tries another target. Nothing was sent, so this is safe for any request.
    fn try_another<I: Io>(&mut self, failed: &Origin, core: &mut Core<I>) -> bool {
        self.unreachable.push(failed.target);
        let targets = self.active.compiled.upstreams[self.upstream].weights.len();
        if self.unreachable.len() >= targets.min(ATTEMPTS_MAX) {
            return false;
        }
        let active = Rc::clone(&self.active);
        let current = &mut core.current;
        let next = current.next_target(&active, self.upstream, &self.unreachable, core.now_ns);
        if self.unreachable.contains(&next) {
            return false;
        }
        self.target = next;
        self.count_retry(core);
        self.begin_again(failed, next, failed.outbox.queued(), core)
    }

    fn count_retry<I: Io>(&self, core: &mut Core<I>) {
        core.totals.retries += 1;
        if let Some(metrics) = &self.active.compiled.metrics
            && core.faults.counts_retries()
        {
            metrics.count(core.worker, self.route, 502, 0);
        }
    }

    fn begin_again<I: Io>(
        &mut self,
        failed: &Origin,
        target: usize,
        bytes: &[u8],
        core: &mut Core<I>,
    ) -> bool {
        let Ok(id) = core.open(target, failed.waits) else {
            return false;
        };
        let Some(origin) = self.attach(id, core) else {
            return false;
        };
        origin.outbox.queue().extend_from_slice(bytes);
        true
    }
}
