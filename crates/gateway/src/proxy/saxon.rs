//! Messages that helpers of Saxon's transform.
//!
//! A message waits parked in its exchange, and its worker goes on with others. What a worker orders in one
//! round leaves together, and so do the answers that a helper has ready within four milliseconds; and a worker
//! with helpers waits for its turn, in case they work on its core. So each goes on for many messages, and finds
//! the core's caches as it left them.
//!
//! A helper that ends costs the message that it was at. The others that were ordered from it are ordered from
//! another one.

use std::sync::Arc;

use gatebench_net::turns::preempt_on_wakeup;
use gatebench_net::{ConnId, ConnMap, Event, Io};

use super::client::{Client, Exchange, Fate, Phase};
use super::exchange::Core;
use super::origin::Origin;
use super::worker::Worker;
use crate::soap::{Asked, Line, Made, Order, Parked, Paused, Saxon};

/// Helpers that may end while they have a message, whichever they were at.
const LOSSES_MAX: u32 = 3;

impl Exchange {
    /// Orders a transformation and waits for it; or answers how to go on where there is no helper.
    pub(crate) fn park<I: Io>(
        &mut self,
        paused: Paused,
        order: Order,
        core: &mut Core<I>,
    ) -> Option<(Paused, Made)> {
        let number = order.number();
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

    /// A helper has said what a message waits for.
    fn transformed<I: Io>(
        &mut self,
        number: u64,
        made: Made,
        origins: &mut ConnMap<Origin>,
        core: &mut Core<I>,
    ) {
        let Some(parked) = self.parked.take_if(|parked| parked.number == number) else {
            return;
        };
        let waited = Some((parked.paused, made));
        if self.phase == Phase::Collecting {
            let processed = self.go_on_with_request(waited, core);
            self.send_edited(processed.map_err(Into::into), origins, core);
            if let Some(origin) = self.origin.and_then(|id| origins.get_mut(id)) {
                origin.flush(&mut core.io);
            }
        } else {
            let processed = self.go_on_with_answer(waited, core);
            self.finish_answer(processed, core);
        }
    }
}

impl<I: Io> Core<I> {
    /// Gives an order to a helper; it comes back where there is none.
    fn order(&mut self, asked: Asked) -> Result<(), Asked> {
        let saxon = Arc::clone(asked.order.saxon());
        let Some(engine) = saxon.engine(self.worker) else {
            return Err(asked);
        };
        let mut lines = self.lines.iter();
        let at = match lines.position(|line| Arc::ptr_eq(&line.engine, &engine)) {
            Some(at) => at,
            None => match Line::open(&mut self.io, engine, &saxon) {
                Ok(line) => {
                    self.lines.push(line);
                    self.mind_helpers();
                    self.lines.len() - 1
                }
                Err(_) => return Err(asked),
            },
        };
        self.lines[at].ask(asked, self.now_ns, &mut self.timers);
        Ok(())
    }

    /// Lets helpers work on as long as there are any: a worker that took the core from them for every byte
    /// that comes would have them begin anew with cold caches after each.
    fn mind_helpers(&self) {
        // Where the kernel refuses, all is well but slower.
        let _ = preempt_on_wakeup(self.lines.is_empty());
    }

    /// Once a round: what was ordered leaves.
    pub(crate) fn send_orders(&mut self) {
        for line in &mut self.lines {
            line.flush(&mut self.io);
        }
    }

    /// The line that a connection is.
    pub(crate) fn line_of(&self, conn: ConnId) -> Option<usize> {
        self.lines.iter().position(|line| line.conn == conn)
    }
}

impl<I: Io> Worker<I> {
    /// Something happened to a line.
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
                let mut answered = Vec::new();
                let is_fine = line.received(&bytes, |asked, made| answered.push((asked, made)));
                line.expect_life(*now_ns, timers);
                if !is_fine {
                    self.line_broke(at);
                }
                for (asked, made) in answered {
                    self.made(&asked, made);
                }
            }
            Event::Failed { .. } | Event::EndOfStream { .. } => self.line_broke(at),
            Event::Accepted { .. } => {}
        }
    }

    /// A deadline of a line came out of the queue.
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

    /// A helper has ended, or does not answer any more: the message that it was at has its error, and
    /// the others are ordered again.
    fn line_broke(&mut self, at: usize) {
        let line = self.core.lines.swap_remove(at);
        self.core.mind_helpers();
        self.core.io.close(line.conn);
        let at_hand = line.engine.at_hand();
        if let Some(saxon) = line.saxon.upgrade() {
            saxon.lost(&line.engine);
        }
        for mut asked in line.into_asked() {
            asked.losses += 1;
            if at_hand == Some(asked.order.number()) || asked.losses > LOSSES_MAX {
                let why = asked.order.saxon().ended();
                self.made(&asked, Err(why));
            } else if let Err(asked) = self.core.order(asked) {
                self.made(&asked, Err(Saxon::none_ready()));
            }
        }
    }

    fn made(&mut self, asked: &Asked, made: Made) {
        self.with_client(asked.client_ref, |client, origins, core| {
            client.transformed(asked.order.number(), made, origins, core)
        });
    }
}

impl Client {
    fn transformed<I: Io>(
        &mut self,
        number: u64,
        made: Made,
        origins: &mut ConnMap<Origin>,
        core: &mut Core<I>,
    ) -> Fate {
        self.exchange.transformed(number, made, origins, core);
        self.advance(origins, core)
    }
}
