//! Passes messages to Saxon helpers, which transform them.
//!
//! A message waits in its exchange while the worker serves other messages. The orders of one round
//! are sent together, and a helper sends results together, about every 4 ms. A worker with helpers
//! does not preempt them, because they may use its core. Each helper thus processes many messages
//! in a row while the core's caches stay warm.
//!
//! If a helper ends, the message that it was processing fails. The messages that waited for this
//! helper are passed to another one.

use std::sync::Arc;

use gatebench_net::turns::preempt_on_wakeup;
use gatebench_net::{ConnId, Event, Io};

use super::client::{Exchange, Phase};
use super::exchange::Core;
use super::worker::Worker;
use crate::soap::{Asked, Line, Made, Order, Parked, Paused, Saxon};

/// The maximum number of helpers that may end while a message waits for them. If another one ends,
/// the message fails, even if that helper was processing a different message.
const LOSSES_MAX: u32 = 3;

impl Exchange {
    /// Orders a transformation and parks the message until the result arrives. If no helper is
    /// available, returns the paused chain with the error that it continues with.
    pub(crate) fn park<I: Io>(
        &mut self,
        paused: Paused,
        order: Order,
        core: &mut Core<I>,
    ) -> Option<(Paused, Made)> {
        let number = order.number;
        let asked = Asked {
            client_ref: self.id,
            order,
            losses: 0,
        };
        if core.order(asked).is_err() {
            return Some((paused, Err(Saxon::none_ready())));
        }
        self.parked = Some(Parked { number, paused });
        None
    }

    fn transformed<I: Io>(&mut self, number: u64, made: Made, core: &mut Core<I>) {
        let Some(parked) = self.parked.take_if(|parked| parked.number == number) else {
            return;
        };
        let waited = Some((parked.paused, made));
        if self.phase == Phase::Collecting {
            let processed = self.process_request(waited, core);
            self.send_edited(processed.map_err(Into::into), core);
            if let Some(origin) = self.origin.and_then(|id| core.origins.get_mut(id)) {
                origin.flush(&mut core.io);
            }
        } else {
            let processed = self.process_response(waited, core);
            self.finish_response(processed, core);
        }
    }
}

impl<I: Io> Core<I> {
    fn order(&mut self, asked: Asked) -> Result<(), Asked> {
        let saxon = Arc::clone(&asked.order.saxon);
        let Some(engine) = saxon.engine(self.worker) else {
            return Err(asked);
        };
        let mut lines = self.lines.iter();
        let known = lines.position(|line| Arc::ptr_eq(&line.engine, &engine));
        if known.is_none() {
            let Ok(line) = Line::open(&mut self.io, engine, &saxon) else {
                return Err(asked);
            };
            self.lines.push(line);
            self.mind_helpers();
        }
        let at = known.unwrap_or(self.lines.len() - 1);
        self.lines[at].ask(asked, self.now_ns, &mut self.timers);
        Ok(())
    }

    /// Lets the worker preempt other processes only while it is connected to no helper. If the
    /// worker preempted a helper for every received byte, the helper would resume with cold caches
    /// each time.
    fn mind_helpers(&self) {
        // If the kernel refuses this, everything still works, only more slowly.
        let _ = preempt_on_wakeup(self.lines.is_empty());
    }

    pub(crate) fn send_orders(&mut self) {
        for line in &mut self.lines {
            line.flush(&mut self.io);
        }
    }

    pub(crate) fn line_of(&self, conn: ConnId) -> Option<usize> {
        self.lines.iter().position(|line| line.conn == conn)
    }
}

impl<I: Io> Worker<I> {
    pub(crate) fn handle_line(&mut self, at: usize, event: Event) {
        let Core {
            io,
            timers,
            lines,
            now_ns,
            ..
        } = &mut self.core;
        let line = &mut lines[at];
        match event {
            Event::Connected { .. } => line.connected(io),
            Event::Sent { bytes, .. } => line.sent(bytes, io),
            Event::Received { bytes, .. } => {
                let mut replies = Vec::new();
                let is_fine = line.received(&bytes, |asked, made| replies.push((asked, made)));
                line.expect_life(*now_ns, timers);
                if !is_fine {
                    self.line_broke(at);
                }
                for (asked, made) in replies {
                    self.made(&asked, made);
                }
            }
            Event::Failed { .. } | Event::EndOfStream { .. } => self.line_broke(at),
            Event::Accepted { .. } => {}
        }
    }

    pub(crate) fn line_due(&mut self, at: usize) {
        let Core {
            timers,
            lines,
            polled_ns,
            ..
        } = &mut self.core;
        if lines[at].is_due(*polled_ns, timers) {
            self.line_broke(at);
        }
    }

    /// Handles a helper that has ended or no longer responds: the message that it was processing
    /// fails, and the others are ordered again.
    fn line_broke(&mut self, at: usize) {
        let line = self.core.lines.swap_remove(at);
        self.core.mind_helpers();
        self.core.io.close(line.conn);
        let at_hand = line.engine.at_hand();
        if let Some(saxon) = line.saxon.upgrade() {
            saxon.lost(&line.engine);
        }
        for mut asked in line.asked {
            asked.losses += 1;
            if at_hand == Some(asked.order.number) || asked.losses > LOSSES_MAX {
                let why = asked.order.saxon.ended();
                self.made(&asked, Err(why));
            } else if let Err(asked) = self.core.order(asked) {
                self.made(&asked, Err(Saxon::none_ready()));
            }
        }
    }

    fn made(&mut self, asked: &Asked, made: Made) {
        self.with_client(asked.client_ref, |client, core| {
            let number = asked.order.number;
            client.exchange.transformed(number, made, core);
            client.advance(core)
        });
    }
}
