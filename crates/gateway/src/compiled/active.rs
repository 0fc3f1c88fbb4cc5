//! The configuration that one worker uses, which can be replaced while requests are in flight.

use std::rc::Rc;
use std::sync::Arc;

use gatebench_net::ConnId;

use super::balance::Balance;
use super::target::CompiledTarget;
use super::{CompiledConfig, CompiledUpstream};
use crate::faults::DelayTurns;
use crate::policy::jwt;
use crate::redis::Counts;

/// The configuration, with one worker's numbers for the configuration's targets. A request uses the
/// configuration that it began with until it ends, but new [`super::Limits`] apply to it
/// immediately.
#[derive(Debug)]
pub(crate) struct ActiveConfig {
    pub(crate) compiled: Arc<CompiledConfig>,
    /// The worker's number for each target of the configuration.
    target_ids: Vec<usize>,
}

/// The configuration for new requests, with the state that a worker keeps for it.
#[derive(Debug)]
pub(crate) struct Current {
    pub(crate) active: Rc<ActiveConfig>,
    /// Every target that any configuration has named, indexed by the worker's target number.
    pub(crate) targets: Vec<CompiledTarget>,
    /// The time until which each target is avoided, by the monotonic clock.
    resting_until_ns: Vec<u64>,
    idle: Vec<Vec<ConnId>>,
    balances: Vec<Balance>,
    /// The deliberate delays of upcoming requests, indexed by route.
    pub(crate) delays: Vec<DelayTurns>,
    pub(crate) caches: Vec<jwt::Cache>,
    /// The counts for each rate limit that uses Redis, indexed by limit number.
    pub(crate) counts: Vec<Counts>,
}

/// The data for the work that remains after a switch to another configuration.
#[derive(Debug)]
pub(crate) struct Replaced {
    /// Idle connections to close: the new configuration does not name their targets, or sets their
    /// `keepalive` to 0.
    pub(crate) idle: Vec<ConnId>,
    /// The new number of each rate limit that uses Redis, indexed by its old number; `None` if the
    /// limit was removed or changed.
    pub(crate) limits: Vec<Option<usize>>,
}

/// Moves the state of unchanged policies to their new positions. Returns the state in its new
/// order, and the new position of each old policy; `None` if the policy was removed or changed.
fn keep<T: Default, P: PartialEq>(
    learnt: Vec<T>,
    before: &[P],
    now: &[P],
) -> (Vec<T>, Vec<Option<usize>>) {
    let mut kept: Vec<T> = now.iter().map(|_| T::default()).collect();
    let mut places = vec![None; learnt.len()];
    let mut taken = vec![false; now.len()];
    for (from, (one, policy)) in learnt.into_iter().zip(before).enumerate() {
        let same = |&to: &usize| !taken[to] && now[to] == *policy;
        if let Some(to) = (0..now.len()).find(same) {
            kept[to] = one;
            taken[to] = true;
            places[from] = Some(to);
        }
    }
    (kept, places)
}

impl Current {
    pub(crate) fn new(compiled: Arc<CompiledConfig>) -> Self {
        let mut current = Self {
            active: Rc::new(ActiveConfig {
                compiled: Arc::clone(&compiled),
                target_ids: Vec::new(),
            }),
            targets: Vec::new(),
            resting_until_ns: Vec::new(),
            idle: Vec::new(),
            balances: Vec::new(),
            delays: Vec::new(),
            caches: Vec::new(),
            counts: Vec::new(),
        };
        current.replace(compiled);
        current
    }

    /// Keeps the idle connections and the policy state that remain valid. The turns of targets and
    /// of delays begin again.
    pub(crate) fn replace(&mut self, compiled: Arc<CompiledConfig>) -> Replaced {
        for target in &mut self.targets {
            target.keepalive = 0;
        }
        let targets = compiled.targets.iter();
        let target_ids = targets.map(|target| self.target_id(target)).collect();
        self.idle.resize_with(self.targets.len(), Vec::new);
        self.resting_until_ns.resize(self.targets.len(), 0);
        let conns = self.targets.iter().zip(&mut self.idle);
        let forgotten = conns.filter(|(target, _)| target.keepalive == 0);
        let idle = forgotten.flat_map(|(_, conns)| std::mem::take(conns));
        let idle = idle.collect();
        let upstreams = compiled.upstreams.iter();
        self.balances = upstreams
            .map(|one| Balance::new(one.weights.iter().copied()))
            .collect();
        let routes = compiled.routes.iter();
        self.delays = routes.map(|route| DelayTurns::new(route.delay)).collect();
        let before = Rc::clone(&self.active);
        let caches = std::mem::take(&mut self.caches);
        // Caches refer to consumers by number, so they are kept only if no number changes.
        let known = match before.compiled.consumers.names == compiled.consumers.names {
            true => before.compiled.caches.as_slice(),
            false => &[],
        };
        self.caches = keep(caches, known, &compiled.caches).0;
        let counts = std::mem::take(&mut self.counts);
        let before = &before.compiled.redis_limits;
        let (counts, limits) = keep(counts, before, &compiled.redis_limits);
        self.counts = counts;
        self.active = Rc::new(ActiveConfig {
            compiled,
            target_ids,
        });
        Replaced { idle, limits }
    }

    /// Returns the worker's number for a target, and adopts the target's settings.
    fn target_id(&mut self, target: &CompiledTarget) -> usize {
        let known = self.targets.iter().position(|one| one.is_same(target));
        let id = known.unwrap_or(self.targets.len());
        match self.targets.get_mut(id) {
            // Upstreams with the same target share its idle connections; the largest `keepalive`
            // applies.
            Some(known) => {
                known.keepalive = known.keepalive.max(target.keepalive);
                known.rest_ns = target.rest_ns;
            }
            None => self.targets.push(target.separate()),
        }
        id
    }

    /// Returns the number of the target whose turn it is. Targets that are avoided are skipped,
    /// unless all targets are avoided. `failed` contains the targets that the request could not
    /// reach; one of them is returned only if there is no other. A request with an older
    /// configuration takes no turn: it is sent to the target with the largest weight among those
    /// that are not avoided or, if all are avoided, among all.
    pub(crate) fn next_target(
        &mut self,
        active: &Rc<ActiveConfig>,
        upstream: usize,
        failed: &[usize],
        now_ns: u64,
    ) -> usize {
        let CompiledUpstream {
            first_target,
            weights,
        } = &active.compiled.upstreams[upstream];
        let ids = &active.target_ids[*first_target..first_target + weights.len()];
        let is_other = |at: usize| !failed.contains(&ids[at]);
        let rests = |at: usize| !is_other(at) || self.resting_until_ns[ids[at]] > now_ns;
        let others = || (0..ids.len()).filter(move |&at| weights[at] > 0 && is_other(at));
        if !Rc::ptr_eq(active, &self.active) {
            let every = 0..weights.len();
            let heaviest = others().max_by_key(|&at| (!rests(at), weights[at]));
            let heaviest = heaviest.or_else(|| every.max_by_key(|&at| weights[at]));
            return ids[heaviest.unwrap_or_default()];
        }
        let balance = &mut self.balances[upstream];
        let first = balance.next();
        if !rests(first) {
            return ids[first];
        }
        // This number of turns reaches every target with a weight above 0, unless the weights are
        // very unequal. In that case, `others` finds the targets that these turns miss.
        let turns = (0..4 * ids.len()).map(|_| balance.next());
        let awake = turns.into_iter().find(|&at| !rests(at));
        let awake = awake.or_else(|| others().find(|&at| !rests(at)));
        // If all targets are avoided, a request that could not reach one of them is sent to the
        // other target that will be avoided for the shortest time.
        let longest = || others().min_by_key(|&at| self.resting_until_ns[ids[at]]);
        let chosen = awake.or_else(|| failed.last().and_then(|_| longest()));
        ids[chosen.unwrap_or(first)]
    }

    /// Takes the most recently used idle connection to a target. The target is least likely to have
    /// closed it, and surplus connections stay idle until the target closes them.
    pub(crate) fn take_idle(&mut self, target: usize) -> Option<ConnId> {
        self.idle[target].pop()
    }

    /// Keeps an idle connection and returns true, unless the target already has `keepalive` of
    /// them.
    pub(crate) fn put_idle(&mut self, target: usize, conn: ConnId) -> bool {
        let has_room = self.idle[target].len() < self.targets[target].keepalive;
        if has_room {
            self.idle[target].push(conn);
        }
        has_room
    }

    pub(crate) fn forget_idle(&mut self, target: usize, conn: ConnId) {
        self.idle[target].retain(|idle| *idle != conn);
    }

    /// Avoids a target for a while, because connecting to it failed.
    pub(crate) fn rest(&mut self, target: usize, now_ns: u64) {
        self.resting_until_ns[target] = now_ns + self.targets[target].rest_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::GatewayConfig;

    fn of_weights(weights: &[u32]) -> Current {
        let ports = 1_u16..;
        let targets: Vec<_> = weights
            .iter()
            .zip(ports)
            .map(|(weight, port)| {
                serde_json::json!({"address": "127.0.0.1", "port": port, "weight": weight})
            })
            .collect();
        let config = serde_json::json!({
            "listen": ["127.0.0.1:0"],
            "upstreams": [{"name": "o", "keepalive": 1, "targets": targets}],
            "routes": [{"name": "all", "path": "/", "upstream": "o"}],
        });
        let config = GatewayConfig::parse(&config.to_string()).unwrap();
        Current::new(Arc::new(CompiledConfig::new(&config, None).unwrap()))
    }

    #[test]
    fn a_request_that_failed_is_sent_to_another_target() {
        for weights in [[9, 1], [1, 1], [1, 9]] {
            let mut current = of_weights(&weights);
            let newest = Rc::clone(&current.active);
            let older = Rc::new(ActiveConfig {
                compiled: Arc::clone(&newest.compiled),
                target_ids: newest.target_ids.clone(),
            });
            for are_resting in [false, true] {
                for failed in [0, 1].repeat(10) {
                    let others =
                        [&newest, &older].map(|it| current.next_target(it, 0, &[failed], 1));
                    assert_eq!(others, [1 - failed; 2], "{weights:?} {are_resting}");
                }
                current.rest(0, 1);
                current.rest(1, 1);
            }
        }
    }

    #[test]
    fn without_an_awake_target_the_one_that_failed_first_is_tried() {
        let mut current = of_weights(&[1, 1, 1]);
        let active = Rc::clone(&current.active);
        for (target, failed_ns) in [(0, 3), (1, 1), (2, 2)] {
            current.rest(target, failed_ns);
        }
        for _ in 0..6 {
            assert_eq!(current.next_target(&active, 0, &[1], 4), 2);
            assert_eq!(current.next_target(&active, 0, &[2], 4), 1);
        }
    }

    #[test]
    fn a_target_of_weight_zero_replaces_no_other() {
        let mut current = of_weights(&[1, 0]);
        let active = Rc::clone(&current.active);
        assert_eq!(current.next_target(&active, 0, &[0], 1), 0);
    }

    #[test]
    fn a_request_returns_to_no_target_that_it_could_not_reach() {
        // The targets are not avoided after a failure, as with `rest_after_failure_ms: 0`.
        let mut current = of_weights(&[5, 1, 1]);
        let active = Rc::clone(&current.active);
        for failed in [[0, 1], [1, 2], [2, 0]].repeat(7) {
            let other = 3 - failed.iter().sum::<usize>();
            assert_eq!(current.next_target(&active, 0, &failed, 1), other);
        }
    }
}
