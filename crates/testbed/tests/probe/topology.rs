//! Tests placements on other machines, whose topology is read from folders in the kernel's layout.

use std::fs;
use std::path::PathBuf;

use gatebench_model::{Placement, Topology};
use gatebench_testbed::probe::topology_below;

/// A folder of CPUs that is removed on drop.
struct Machine {
    root: PathBuf,
}

impl Machine {
    fn new(name: &str) -> Self {
        let root =
            std::env::temp_dir().join(format!("gatebench-topology-{}-{name}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        Self { root }
    }

    fn put(&self, cpu: usize, file: &str, text: &str) {
        let path = self.root.join(format!("cpu{cpu}")).join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    /// Returns a machine with these cores, each described by its threads and its node.
    fn of(name: &str, cores: &[(&[usize], usize)]) -> Self {
        let machine = Self::new(name);
        for (core, (threads, node)) in cores.iter().enumerate() {
            let list: Vec<String> = threads.iter().map(ToString::to_string).collect();
            for &cpu in *threads {
                machine.put(cpu, "topology/thread_siblings_list", &list.join(","));
                machine.put(cpu, "topology/core_id", &core.to_string());
                machine.put(cpu, "topology/physical_package_id", &node.to_string());
                fs::create_dir_all(machine.root.join(format!("cpu{cpu}/node{node}"))).unwrap();
            }
        }
        machine
    }

    fn topology(&self, allowed: &[usize]) -> Topology {
        topology_below(&self.root, allowed)
    }

    fn placed(&self, allowed: &[usize], gateway_cores: usize) -> Placement {
        Placement::with_gateway_cores(&self.topology(allowed), gateway_cores).unwrap()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// The cores of the gateway, the load generator and the upstream; whether the load generator is
/// alone on its cores; whether another component runs on a sibling thread of one of the gateway's
/// cores.
type Seen = (Vec<usize>, Vec<usize>, Vec<usize>, bool, bool);

fn seen(placed: &Placement) -> Seen {
    (
        placed.gateway.clone(),
        placed.engine.clone(),
        placed.upstream.clone(),
        placed.engine_is_alone(),
        placed.gateway_has_siblings(),
    )
}

fn expected(
    gateway: &[usize],
    engine: &[usize],
    upstream: &[usize],
    spins: bool,
    shared: bool,
) -> Seen {
    (
        gateway.into(),
        engine.into(),
        upstream.into(),
        spins,
        shared,
    )
}

#[test]
fn two_cores_of_two_threads_in_both_numberings() {
    let next = Machine::of("next", &[(&[0, 1], 0), (&[2, 3], 0)]);
    let far = Machine::of("far", &[(&[0, 2], 0), (&[1, 3], 0)]);
    let all = [0, 1, 2, 3];
    assert_eq!(
        seen(&next.placed(&all, 1)),
        expected(&[3], &[0], &[1], false, false)
    );
    assert_eq!(
        seen(&far.placed(&all, 1)),
        expected(&[3], &[0], &[2], false, false)
    );
    assert_eq!(
        far.placed(&all, 1).note,
        "The gateway has CPU 3 and shares no physical core. The load generator (CPU 0) and the upstream (CPU 2) run \
         on threads of one core, so a gateway that is too fast for them is reported as limited; its CPU per request \
         stays valid. CPU 1 stays idle: it shares a physical core with a measured component."
    );
    assert_eq!(
        seen(&next.placed(&all, 2)),
        expected(&[2, 3], &[0], &[1], false, false)
    );
    assert_eq!(
        seen(&far.placed(&all, 2)),
        expected(&[1, 3], &[0], &[2], false, false)
    );
    let crowded = far.placed(&all, 3);
    assert_eq!(
        seen(&crowded),
        expected(&[1, 2, 3], &[0], &[0], false, true)
    );
    assert!(
        crowded.note.contains("no other layout exists"),
        "{}",
        crowded.note
    );
}

#[test]
fn one_core_of_two_threads_leaves_no_choice() {
    let machine = Machine::of("one", &[(&[0, 1], 0)]);
    let placed = machine.placed(&[0, 1], 1);
    assert_eq!(seen(&placed), expected(&[1], &[0], &[0], false, true));
    assert!(
        placed
            .note
            .contains("use a machine with more physical cores"),
        "{}",
        placed.note
    );
}

#[test]
fn eight_cpus_of_four_cores_are_used_as_four_cores() {
    let far = Machine::of(
        "eight-far",
        &[(&[0, 4], 0), (&[1, 5], 0), (&[2, 6], 0), (&[3, 7], 0)],
    );
    let next = Machine::of(
        "eight-next",
        &[(&[0, 1], 0), (&[2, 3], 0), (&[4, 5], 0), (&[6, 7], 0)],
    );
    let all: Vec<usize> = (0..8).collect();
    assert_eq!(
        seen(&far.placed(&all, 1)),
        expected(&[7], &[0, 1], &[2], true, false)
    );
    assert_eq!(
        seen(&next.placed(&all, 1)),
        expected(&[7], &[0, 2], &[4], true, false)
    );
    assert_eq!(
        seen(&next.placed(&all, 2)),
        expected(&[5, 7], &[0], &[2], true, false)
    );
    // The gateway's four CPUs are both threads of two cores, because the load generator and the
    // upstream need a core each.
    assert_eq!(
        seen(&far.placed(&all, 4)),
        expected(&[2, 3, 6, 7], &[0], &[1], true, false)
    );
    let note = far.placed(&all, 4).note;
    assert!(
        note.contains("threads of one physical core. They do less"),
        "{note}"
    );
}

#[test]
fn two_sockets_keep_everything_on_one_node_if_it_fits() {
    // Even CPUs on node 0, odd ones on node 1, as on many servers.
    let cores: Vec<([usize; 2], usize)> = (0..8).map(|cpu| ([cpu, cpu + 8], cpu % 2)).collect();
    let cores: Vec<(&[usize], usize)> = cores
        .iter()
        .map(|(threads, node)| (&threads[..], *node))
        .collect();
    let machine = Machine::of("sockets", &cores);
    let all: Vec<usize> = (0..16).collect();
    assert_eq!(
        seen(&machine.placed(&all, 1)),
        expected(&[15], &[1, 3], &[5], true, false)
    );
    assert_eq!(
        seen(&machine.placed(&all, 2)),
        expected(&[13, 15], &[1], &[3], true, false)
    );
    assert!(!machine.placed(&all, 2).note.contains("NUMA"));
    // No node has three cores for the gateway and two more for the other components, so cores of
    // both nodes are used.
    let wide = machine.placed(&all, 3);
    assert_eq!(
        seen(&wide),
        expected(&[11, 13, 15], &[0, 1, 2], &[4, 6], true, false)
    );
    assert!(wide.note.contains("NUMA nodes 0-1"), "{}", wide.note);
    // Only node 0 may be used.
    let some = [0, 2, 4, 6, 8, 10, 12, 14];
    assert_eq!(
        seen(&machine.placed(&some, 1)),
        expected(&[14], &[0, 2], &[4], true, false)
    );
}

#[test]
fn fast_and_slow_cores_are_not_mixed_in_a_gateway() {
    let slow_first: Vec<[usize; 1]> = (0..8).map(|cpu| [cpu]).collect();
    let cores: Vec<(&[usize], usize)> =
        slow_first.iter().map(|threads| (&threads[..], 0)).collect();
    let machine = Machine::of("big-little", &cores);
    for cpu in 0..8 {
        machine.put(cpu, "cpu_capacity", if cpu < 4 { "446" } else { "1024" });
    }
    let all: Vec<usize> = (0..8).collect();
    assert_eq!(
        seen(&machine.placed(&all, 1)),
        expected(&[7], &[4, 5], &[6], true, false)
    );
    assert_eq!(
        seen(&machine.placed(&all, 4)),
        expected(&[4, 5, 6, 7], &[0, 1], &[2, 3], true, false)
    );
    let note = machine.placed(&all, 4).note;
    assert!(
        note.contains("differ in speed from the gateway's"),
        "{note}"
    );
    let note = machine.placed(&all, 5).note;
    assert!(note.contains("its workers are not equally fast"), "{note}");
}

#[test]
fn a_hybrid_processor_is_known_by_its_frequencies() {
    // Two cores with two threads each, at 5.2 and 5.0 GHz, and four cores with one thread each, at
    // 3.9 GHz; all capacities are equal.
    let cores: [(&[usize], usize); 6] = [
        (&[0, 1], 0),
        (&[2, 3], 0),
        (&[4], 0),
        (&[5], 0),
        (&[6], 0),
        (&[7], 0),
    ];
    let machine = Machine::of("hybrid", &cores);
    for cpu in 0..8 {
        machine.put(cpu, "cpu_capacity", "1024");
        let khz = match cpu {
            0 | 1 => "5200000",
            2 | 3 => "5000000",
            _ => "3900000",
        };
        machine.put(cpu, "cpufreq/cpuinfo_max_freq", khz);
    }
    let all: Vec<usize> = (0..8).collect();
    let placed = machine.placed(&all, 1);
    assert_eq!(seen(&placed), expected(&[3], &[0, 4], &[6, 7], true, false));
    assert!(placed.note.contains("differ in speed"), "{}", placed.note);
    assert_eq!(machine.placed(&all, 2).gateway, [1, 3]);
    assert_eq!(machine.placed(&all, 3).gateway, [5, 6, 7]);
}

#[test]
fn the_cpus_that_a_group_allows_are_divided_by_core() {
    let machine = Machine::of(
        "limited",
        &[(&[0, 4], 0), (&[1, 5], 0), (&[2, 6], 0), (&[3, 7], 0)],
    );
    // One thread of each of two cores; this process may not use the other threads.
    let placed = machine.placed(&[1, 2], 1);
    assert_eq!(seen(&placed), expected(&[2], &[1], &[1], false, false));
    assert!(
        placed.note.contains("This process cannot use CPUs 5-6"),
        "{}",
        placed.note
    );
    // Both threads of one core and one of another.
    let placed = machine.placed(&[1, 2, 5], 1);
    assert_eq!(seen(&placed), expected(&[2], &[1], &[5], false, false));
    // Only the two threads of one core.
    assert!(machine.placed(&[2, 6], 1).gateway_has_siblings());
    let only = Placement::automatic(&machine.topology(&[6]));
    assert_eq!(seen(&only), expected(&[6], &[6], &[6], false, false));
    assert!(only.note.contains("share the only core"), "{}", only.note);
}

#[test]
fn an_unreadable_cpu_is_a_separate_core() {
    let machine = Machine::new("nothing");
    assert_eq!(
        machine.topology(&[0, 1, 2, 3]),
        Topology::flat(&[0, 1, 2, 3])
    );
    machine.put(0, "topology/thread_siblings_list", "garbage");
    assert_eq!(machine.topology(&[0, 1]), Topology::flat(&[0, 1]));
}
