//! A worker's upstream side: connections to targets, and the answers that come over them.

use std::rc::Rc;

use gatebench_net::http1::{Event as Part, Head, write_last_chunk};
use gatebench_net::{ConnId, Io};

use super::client::{Client, Exchange, Fate};
use super::edit::{Edited, Refused};
use super::exchange::Core;
use super::origin::Origin;
use super::worker::Worker;
use crate::message::{
    AnswerEdits, CONTINUE, Choice, RateFields, Refusal, Relay, form_of, relay, write_response,
};
use crate::openapi::AnswerCheck;
use crate::policy::Chain;
use crate::soap::Fault;

impl<I: Io> Worker<I> {
    /// A connection to a target is established; where it speaks TLS, the handshake begins.
    pub(crate) fn origin_connected(&mut self, id: ConnId) {
        let Some(origin) = self.origins.get_mut(id) else {
            return;
        };
        let begun = match &self.core.current.targets[origin.target].tls {
            None => return self.origin_ready(id),
            Some(tls) => origin.shake_hands(&tls.context, &mut self.core.io),
        };
        if begun.is_err() {
            self.origin_broke(id, Choice::UpstreamTls);
        }
    }

    /// A connection to a target can carry requests.
    fn origin_ready(&mut self, id: ConnId) {
        if let Some(origin) = self.origins.get_mut(id) {
            origin.is_connected = true;
            origin.flush(&mut self.core.io);
            let exchange = origin.client.and_then(|id| self.clients.exchange_mut(id));
            match exchange.is_some_and(|exchange| exchange.is_crowded) {
                true => origin.pause(&mut self.core.io),
                false => origin.expect_life(self.core.now_ns, &mut self.core.timers),
            }
        }
    }

    pub(crate) fn origin_sent(&mut self, id: ConnId, bytes: Vec<u8>) {
        let Some(origin) = self.origins.get_mut(id) else {
            return;
        };
        origin.sent(bytes, &mut self.core.io);
        let Some(client) = origin.client else { return };
        if origin.is_connected && !origin.is_paused {
            origin.expect_life(self.core.now_ns, &mut self.core.timers);
        }
        if self.clients.client(client).is_some_and(Client::is_waiting) {
            self.with_client(client, Client::advance);
        }
    }

    pub(crate) fn origin_received(&mut self, id: ConnId, bytes: &[u8]) {
        let Some(origin) = self.origins.get_mut(id) else {
            return;
        };
        if !origin.is_sealed() {
            return self.origin_said(id, bytes);
        }
        let Ok(unsealed) = origin.unseal(bytes, &mut self.core.io) else {
            return self.origin_broke(id, Choice::UpstreamTls);
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
        if let Some(origin) = self.origins.get_mut(id) {
            origin.keep(unsealed.plain);
        }
    }

    /// A target has said something.
    fn origin_said(&mut self, id: ConnId, bytes: &[u8]) {
        let Some(origin) = self.origins.get_mut(id) else {
            return;
        };
        let client_id = origin.client;
        let Some(exchange) = client_id.and_then(|client| self.clients.exchange_mut(client)) else {
            // An answer nobody asked for (RFC 9112 9.2): the connection is of no further use.
            return self.discard(id);
        };
        origin.has_answered = true;
        let mut input = bytes;
        match pass_answer(origin, exchange, &mut self.core, &mut input) {
            Progress::Broken => self.origin_broke(id, Choice::Error(502)),
            Progress::Refused(why) => self.origin_broke(id, why),
            Progress::Whole => self.answer_is_whole(id, input.is_empty()),
            Progress::Partial => {
                let now_ns = self.core.now_ns;
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

    /// The answer's last byte was read: keeps the connection where it can be kept, and goes on with
    /// the client.
    fn answer_is_whole(&mut self, id: ConnId, nothing_follows: bool) {
        let Some(origin) = self.origins.get_mut(id) else {
            return;
        };
        let Some(client_id) = origin.client.take() else {
            return;
        };
        let Some(exchange) = self.clients.exchange_mut(client_id) else {
            return self.discard(id);
        };
        let edited = match exchange.end_answer(&mut self.core) {
            Ok(edited) => edited,
            Err(why) => {
                origin.client = Some(client_id);
                return self.origin_broke(id, why);
            }
        };
        let is_fit = nothing_follows
            && exchange.is_request_done
            && origin.decoder.keep_alive()
            && origin.outbox.queue().is_empty();
        exchange.origin = None;
        if edited == Edited::Done {
            exchange.complete(&mut self.core);
        }
        let keepalive = self.core.current.targets[origin.target].keepalive;
        if is_fit && self.core.current.pools.put(origin.target, id, keepalive) {
            origin.deadline.clear();
            origin.resume(&mut self.core.io);
        } else {
            self.discard(id);
        }
        self.with_client(client_id, Client::advance);
    }

    /// The target will send no more.
    pub(crate) fn origin_ended(&mut self, id: ConnId) {
        let Some(origin) = self.origins.get_mut(id) else {
            return;
        };
        match origin.decoder.end_of_stream() {
            Ok(true) if origin.client.is_some() && origin.may_end() => {
                self.answer_is_whole(id, false);
            }
            _ => self.origin_broke(id, Choice::Error(502)),
        }
    }

    /// A connection to a target is lost, or it took too long: tries again where that is harmless,
    /// else tells the client.
    pub(crate) fn origin_broke(&mut self, id: ConnId, why: Choice) {
        let Some(origin) = self.discard_with(id) else {
            return;
        };
        let now_ns = self.core.now_ns;
        if !origin.is_connected {
            self.core.current.rest(origin.target, now_ns);
        }
        let Some(client_id) = origin.client else {
            return;
        };
        let Some(exchange) = self.clients.exchange_mut(client_id) else {
            return;
        };
        exchange.origin = None;
        exchange.collected_answer.clear();
        if exchange.try_again(&origin, why, &mut self.origins, &mut self.core) {
            return;
        }
        self.core.totals.upstream_failures += 1;
        if exchange.has_answer {
            return self.obey(client_id, Fate::Abort);
        }
        exchange.toward.keep_alive &= exchange.is_request_done;
        exchange.answer(&mut self.core, why);
        self.with_client(client_id, Client::advance);
    }

    fn discard(&mut self, id: ConnId) {
        self.discard_with(id);
    }

    /// Closes a connection to a target and takes it out of everything.
    fn discard_with(&mut self, id: ConnId) -> Option<Origin> {
        let origin = self.origins.remove(id)?;
        self.core.io.close(id);
        if origin.client.is_none() {
            self.core.current.pools.forget(origin.target, id);
        }
        Some(origin)
    }
}

impl Exchange {
    /// Writes the head of an answer; or, where a policy wants the answer whole, keeps it until then.
    fn begin_answer(&mut self, head: &Head<'_>) -> Result<(), Choice> {
        let active = Rc::clone(&self.active);
        let Some(route) = self.route.map(|route| &active.compiled.routes[route]) else {
            return Ok(());
        };
        let chain = &route.chain;
        self.answer_check = self.judge_answer(chain, head)?;
        if let Some(why) = chain.unreadable_answer(head) {
            let words = format!("the upstream's answer cannot be edited: {why}");
            return Err(self.refuse_answer(502, &words));
        }
        let is_collected =
            self.answer_check.is_some_and(AnswerCheck::wants_body) || chain.collects_answer(head);
        let rate = self.notes.standing.filter(|standing| standing.has_headers);
        let edits = AnswerEdits {
            fields: &chain.response_headers,
            rate: rate.map(RateFields::new),
            is_collected,
            hides_length: chain.replaces_answers(),
        };
        let toward = self.toward;
        self.status = head.status();
        if is_collected {
            if chain.soap.is_some() {
                self.passage.turn(head);
            }
            self.answer_form = form_of(head);
            self.collected_answer.begin(|out| {
                write_response(out, head, toward, &edits);
            });
            return Ok(());
        }
        let (relay, until_close) = write_response(self.outbox.queue(), head, toward, &edits);
        self.answer_relay = relay;
        self.toward.keep_alive &= !until_close;
        self.has_answer = true;
        Ok(())
    }

    /// Holds an answer's head against the route's OpenAPI document, where answers are.
    fn judge_answer(
        &mut self,
        chain: &Chain,
        head: &Head<'_>,
    ) -> Result<Option<AnswerCheck>, Choice> {
        let contract = chain.openapi.as_ref().zip(self.notes.operation);
        let Some((contract, check)) = contract.filter(|(contract, _)| contract.are_responses)
        else {
            return Ok(None);
        };
        match contract.judge_answer(check, head) {
            Ok(answer) => Ok(Some(answer)),
            Err(refusal) => {
                self.notes.refusal = Some(refusal);
                Err(Choice::Refused)
            }
        }
    }

    /// The last byte of an answer was read. An answer that is not the JSON it says it is is an error, and
    /// so is one that its OpenAPI document does not allow.
    fn end_answer<I: Io>(&mut self, core: &mut Core<I>) -> Result<Edited, Choice> {
        if !self.collected_answer.is_begun() {
            if self.answer_relay == Relay::Chunked {
                write_last_chunk(self.outbox.queue());
            }
            return Ok(Edited::Done);
        }
        let edited = self.edit_answer(core);
        core.note_time();
        match edited {
            Ok(edited) => Ok(self.write_edited(Ok(edited))),
            Err(Refused::NotJson) => {
                let words = "the upstream's answer is not the JSON it says it is";
                Err(self.refuse_answer(502, words))
            }
            Err(Refused::NotTransformed) => {
                let words = "a stylesheet makes nothing of the upstream's answer";
                Err(self.refuse_answer(500, words))
            }
            Err(Refused::Contract(refusal)) => {
                self.notes.refusal = Some(refusal);
                Err(Choice::Refused)
            }
            Err(Refused::Fault(fault)) => Ok(self.write_edited(Err(fault))),
        }
    }

    /// Says instead of an answer why it does not go on.
    fn refuse_answer(&mut self, status: u16, words: &str) -> Choice {
        self.notes.refusal = Some(Refusal::new(status, words));
        Choice::Error(status)
    }

    /// Puts a collected answer, or what is said instead of it, into the queue, unless it is not done yet.
    fn write_edited(&mut self, edited: Result<Edited, Fault>) -> Edited {
        match edited {
            Ok(Edited::Parked) => return Edited::Parked,
            Ok(Edited::Done) => {
                self.collected_answer.write(self.outbox.queue());
                self.has_answer = true;
            }
            Err(fault) => {
                self.collected_answer.clear();
                self.write_fault(&fault);
            }
        }
        Edited::Done
    }

    /// A helper is done with an answer.
    pub(crate) fn finish_answer<I: Io>(
        &mut self,
        edited: Result<Edited, Fault>,
        core: &mut Core<I>,
    ) {
        if self.write_edited(edited) == Edited::Done {
            self.complete(core);
        }
    }
}

/// How far an answer has come.
enum Progress {
    Partial,
    Whole,
    Broken,
    Refused(Choice),
}

/// Passes on what a target sent.
fn pass_answer<I: Io>(
    origin: &mut Origin,
    exchange: &mut Exchange,
    core: &mut Core<I>,
    input: &mut &[u8],
) -> Progress {
    loop {
        match origin.decoder.next(input) {
            Ok(None) => return Progress::Partial,
            Ok(Some(Part::Head(head))) => {
                if let Err(why) = exchange.begin_answer(&head) {
                    return Progress::Refused(why);
                }
                let delay_ns = exchange.delays.response_ns;
                exchange
                    .hold
                    .begin(delay_ns, core.now_ns, exchange.id, &mut core.faults);
            }
            Ok(Some(Part::Body(piece))) => {
                if exchange.collected_answer.is_begun() {
                    if !exchange
                        .collected_answer
                        .add(piece, core.limits.collected_max)
                    {
                        let words =
                            "the upstream's answer is larger than one that is kept whole may be";
                        return Progress::Refused(exchange.refuse_answer(502, words));
                    }
                } else {
                    relay(exchange.outbox.queue(), exchange.answer_relay, piece);
                }
            }
            Ok(Some(Part::End)) => return Progress::Whole,
            Ok(Some(Part::Informational(100))) if exchange.expects_continue => {
                exchange.expects_continue = false;
                exchange.outbox.queue().extend_from_slice(CONTINUE);
            }
            Ok(Some(Part::Informational(_))) => {}
            Err(_) => return Progress::Broken,
        }
    }
}
