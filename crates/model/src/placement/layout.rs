//! Chooses the CPUs of the gateway, the load generator and the upstream on one machine.

use super::Placement;
use crate::topology::{Core, Topology};

/// The maximum number of cores that the load generator and the upstream each get per core of the
/// gateway. Both usually take less CPU time per request than a gateway, so two cores each are
/// rarely the bottleneck.
const CORES_PER_GATEWAY_CORE: usize = 2;

/// The number of cores that give the load generator and the upstream one each.
const ENDS: usize = 2;

/// Divides at least two CPUs. The gateway gets `count` of them (at least one, but not all), and
/// every component gets at least one.
///
/// If the machine has enough cores, the gateway does not share a core. It then gets one thread of
/// each of its cores, because two threads of a core slow each other down. All components are on the
/// fastest kind of core, and on one NUMA node, if there are enough such cores for all. Otherwise,
/// at least the gateway's cores are all of one kind, if any kind has enough of them. Among equal
/// cores, the gateway gets the last, because most kernels put interrupts and housekeeping on the
/// first.
pub(super) fn of(topology: &Topology, count: usize) -> Placement {
    let all = topology.cores();
    let pool = narrowed(&all, count + ENDS, Some(0)).unwrap_or(all);
    let (mut gateway, rest) = if count < pool.len() {
        of_own_cores(&pool, count)
    } else {
        of_threads(&pool, count)
    };
    gateway.sort_unstable();
    let (engine, upstream) = ends(rest, count);
    Placement {
        gateway,
        engine,
        upstream,
        ..Placement::default()
    }
}

/// Chooses CPUs for the load generator and the upstream on a machine without a gateway.
pub(super) fn without_gateway(topology: &Topology, count: usize) -> (Vec<usize>, Vec<usize>) {
    let all = topology.cores();
    ends(narrowed(&all, ENDS, Some(0)).unwrap_or(all), count)
}

/// Returns the cores of the fastest kind that has at least `at_least` cores. If a single node has
/// enough of them, returns only the cores on the last such node. Kinds that are slower than
/// `kind_max` are not considered. Returns `None` if no kind has enough cores.
fn narrowed(cores: &[Core], at_least: usize, kind_max: Option<usize>) -> Option<Vec<Core>> {
    let alike = |pick: &dyn Fn(&Core) -> bool| {
        let some: Vec<Core> = cores.iter().filter(|core| pick(core)).cloned().collect();
        (some.len() >= at_least).then_some(some)
    };
    let mut nodes: Vec<_> = cores.iter().map(|core| core.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let slowest = cores.iter().map(|core| core.kind).max()?;
    (0..=kind_max.unwrap_or(slowest)).find_map(|kind| {
        let of_node = nodes
            .iter()
            .rev()
            .find_map(|node| alike(&|core| core.kind == kind && core.node == *node));
        of_node.or_else(|| alike(&|core| core.kind == kind))
    })
}

/// Returns one thread of each of `count` cores, and the remaining cores.
fn of_own_cores(pool: &[Core], count: usize) -> (Vec<usize>, Vec<Core>) {
    let from = narrowed(pool, count, None).unwrap_or_else(|| pool.to_vec());
    let own = &from[from.len() - count..];
    let rest = pool.iter().filter(|core| !own.contains(core));
    let last = |core: &Core| core.cpus.last().copied();
    (
        own.iter().filter_map(last).collect(),
        rest.cloned().collect(),
    )
}

/// Returns `count` threads, beginning with those of the cores that have the most threads, and the
/// cores that have none of the returned threads. If there is no such core, returns the remaining
/// threads as one core.
fn of_threads(pool: &[Core], count: usize) -> (Vec<usize>, Vec<Core>) {
    // The load generator and the upstream get the cores with the fewest threads.
    let mut pool = pool.to_vec();
    pool.sort_by_key(|core| core.cpus.len());
    let cpus: Vec<usize> = pool.iter().flat_map(|core| &core.cpus).copied().collect();
    let (left, own) = cpus.split_at(cpus.len() - count);
    let is_free = |core: &&Core| !core.cpus.iter().any(|cpu| own.contains(cpu));
    let mut rest: Vec<Core> = pool.iter().filter(is_free).cloned().collect();
    if rest.is_empty() {
        rest.push(Core {
            cpus: left.to_vec(),
            node: None,
            kind: 0,
        });
    }
    (own.to_vec(), rest)
}

/// Divides cores between the load generator, which gets the faster ones, and the upstream. If the
/// number of cores is odd, the load generator gets one more, so that it is not the bottleneck. Each
/// gets at most [`CORES_PER_GATEWAY_CORE`] times `count`. If there is only one core, the two share
/// it, on separate threads if the core has several.
fn ends(mut cores: Vec<Core>, count: usize) -> (Vec<usize>, Vec<usize>) {
    cores.sort_by_key(|core| core.kind);
    let cpus: Vec<usize> = match &cores[..] {
        [only] => only.cpus.clone(),
        _ => cores.iter().map(|core| core.cpus[0]).collect(),
    };
    if cpus.len() <= 1 {
        return (cpus.clone(), cpus);
    }
    let most = count * CORES_PER_GATEWAY_CORE;
    let (engine, upstream) = cpus.split_at(cpus.len().div_ceil(2));
    let some = |cpus: &[usize]| cpus.iter().copied().take(most).collect();
    (some(engine), some(upstream))
}
