//! Describes a placement and its consequences in sentences.

use super::{Placement, SHARED_CORE_REMEDY, cores, ranges};
use crate::topology::Topology;

pub(super) fn of(placed: &Placement, topology: &Topology) -> String {
    let sentences = [
        Some(shares(placed)),
        threads_of_gateway(placed),
        idle(placed, topology),
        not_ours(placed, topology),
        nodes(placed, topology),
        kinds(placed, topology),
    ];
    sentences
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
}

fn shares(placed: &Placement) -> String {
    let lists = [&placed.gateway, &placed.engine, &placed.upstream];
    let [gateway, engine, upstream] = lists.map(|list| cpus(list));
    if placed.gateway_has_siblings() {
        return format!(
            "The gateway ({gateway}) and the load generator ({engine}) or the upstream ({upstream}) run on threads \
             of one physical core, because no other layout exists. They slow each other down, so throughput, latency \
             and CPU per request are reported as limited; {SHARED_CORE_REMEDY}."
        );
    }
    if engine != upstream && !placed.engine_is_alone() {
        return format!(
            "The gateway has {gateway} and shares no physical core. The load generator ({engine}) and the upstream \
             ({upstream}) run on threads of one core, so a gateway that is too fast for them is reported as \
             limited; its CPU per request stays valid."
        );
    }
    let [gateway, engine, upstream] = lists.map(|list| cores(list));
    if engine == upstream {
        return format!(
            "The gateway has {gateway} to itself. The load generator and the upstream share {engine}, so a gateway \
             that is too fast for them is reported as limited; its CPU per request stays valid."
        );
    }
    format!(
        "The gateway, the load generator and the upstream share no core: the gateway has {gateway}, the load \
         generator {engine}, the upstream {upstream}."
    )
}

fn threads_of_gateway(placed: &Placement) -> Option<String> {
    let is_shared = |threads: &Vec<usize>| {
        let own = threads.iter().filter(|cpu| placed.gateway.contains(cpu));
        own.count() > 1
    };
    placed.siblings.iter().any(is_shared).then(|| {
        "Some of the gateway's CPUs are threads of one physical core. They do less work than separate \
         cores.".to_owned()
    })
}

fn idle(placed: &Placement, topology: &Topology) -> Option<String> {
    let idle: Vec<usize> = unused_threads(placed)
        .filter(|cpu| topology.numbers().contains(cpu))
        .collect();
    (!idle.is_empty()).then(|| {
        let verb = match idle.len() {
            1 => "stays idle: it shares",
            _ => "stay idle: they share",
        };
        let what = cpus(&idle);
        format!("{what} {verb} a physical core with a measured component.")
    })
}

fn not_ours(placed: &Placement, topology: &Topology) -> Option<String> {
    let others: Vec<usize> = unused_threads(placed)
        .filter(|cpu| !topology.numbers().contains(cpu))
        .collect();
    (!others.is_empty()).then(|| {
        format!(
            "This process cannot use {}. Programs that run there slow down the measured cores, so do not run any.",
            cpus(&others)
        )
    })
}

fn unused_threads(placed: &Placement) -> impl Iterator<Item = usize> {
    let used = placed.used();
    let threads = placed.siblings.iter().flatten().copied();
    threads.filter(move |cpu| !used.contains(cpu))
}

fn nodes(placed: &Placement, topology: &Topology) -> Option<String> {
    let used = placed.used();
    let cpus = topology.cpus().iter();
    let cpus = cpus.filter(|cpu| used.contains(&cpu.number));
    let mut nodes: Vec<usize> = cpus.filter_map(|cpu| cpu.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    (nodes.len() > 1).then(|| {
        format!(
            "The cores are on NUMA nodes {}, because no single node has enough cores of the fastest kind. \
             Access to another node's memory is slower.",
            ranges(&nodes)
        )
    })
}

fn kinds(placed: &Placement, topology: &Topology) -> Option<String> {
    let all = topology.cores();
    let kinds = |list: &[usize]| {
        let own = all
            .iter()
            .filter(|core| core.cpus.iter().any(|cpu| list.contains(cpu)));
        own.map(|core| core.kind)
            .collect::<std::collections::BTreeSet<_>>()
    };
    let [gateway, ends] = [
        kinds(&placed.gateway),
        kinds(&[&placed.engine[..], &placed.upstream].concat()),
    ];
    if gateway.len() > 1 {
        return Some(
            "The gateway's cores differ in speed, because there are too few of any one kind, so its workers \
             are not equally fast."
                .into(),
        );
    }
    (gateway != ends).then(|| {
        "Some cores of the load generator or the upstream differ in speed from the gateway's."
            .into()
    })
}

/// Lists CPUs: `CPU 3`, `CPUs 1-4`. A CPU is a thread of a core.
fn cpus(numbers: &[usize]) -> String {
    let noun = if numbers.len() == 1 { "CPU" } else { "CPUs" };
    format!("{noun} {}", ranges(numbers))
}
