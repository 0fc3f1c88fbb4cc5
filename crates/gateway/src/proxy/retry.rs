//! Retries a request whose connection to a target failed, if that is harmless.

use gatebench_net::Io;

use super::client::Exchange;
use super::exchange::Core;
use super::origin::Origin;
use crate::message::Choice;

/// The largest number of targets that are tried for one request.
const ATTEMPTS_MAX: usize = 8;

impl Exchange {
    /// Sends a request again over a new connection; reports whether the attempt could be started.
    pub(crate) fn try_again<I: Io>(
        &mut self,
        failed: &Origin,
        why: Choice,
        core: &mut Core<I>,
    ) -> bool {
        if !failed.is_connected {
            return self.try_another(failed, core);
        }
        if failed.is_gated && self.failures < ATTEMPTS_MAX {
            // A kept connection closed while the request waited for Redis: nothing of it was sent.
            self.failures += 1;
            let begun = failed.outbox.queued();
            return self.begin_again(failed, failed.target, begun, core);
        }
        let may_repeat = !failed.has_responded && !failed.replay.is_empty();
        if why != Choice::Error(502) || !may_repeat {
            return false;
        }
        core.totals.retries += 1;
        self.begin_again(failed, failed.target, &failed.replay, core)
    }

    /// Tries another target. Nothing was sent, so this is safe for any request.
    fn try_another<I: Io>(&mut self, failed: &Origin, core: &mut Core<I>) -> bool {
        self.failures += 1;
        let targets = self.active.compiled.upstreams[self.upstream].weights.len();
        if self.failures >= targets.min(ATTEMPTS_MAX) {
            return false;
        }
        let active = std::rc::Rc::clone(&self.active);
        let next = core
            .current
            .next_target(&active, self.upstream, core.now_ns);
        if next == failed.target {
            return false;
        }
        self.target = next;
        core.totals.retries += 1;
        self.begin_again(failed, next, failed.outbox.queued(), core)
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
        let Some(origin) = core.origins.get_mut(id) else {
            return false;
        };
        origin.outbox.queue().extend_from_slice(bytes);
        origin.client = failed.client;
        origin.is_gated = self.asking.is_some();
        origin.decoder.expect(self.toward.is_head);
        self.origin = Some(id);
        true
    }
}
