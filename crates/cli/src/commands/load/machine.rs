//! Checks that this machine has the cores, addresses and file descriptors that a load needs.

use std::net::{IpAddr, UdpSocket};
use std::thread;

use gatebench_model::Shape;
use gatebench_net::workers::{WorkersError, pin_to_core};
use gatebench_runner::{allow_descriptors, connections_max};
use gatebench_testbed::probe::{EnvironmentFacts, MachineSample};

use crate::exit::Exit;
use crate::failure::Failure;

/// File descriptors in addition to those of the connections: event loops, files, standard streams.
const OTHER_DESCRIPTORS: u64 = 64;

/// Raises the limit on file descriptors if the connections of a load require it.
pub fn allow_connections(shape: &Shape) -> Result<(), Failure> {
    let needed = u64::from(connections_max(shape)) + OTHER_DESCRIPTORS;
    allow_descriptors(needed).map_err(|allowed| {
        Failure::environment(
            format!("the load needs {needed} open file descriptors, but the limit is {allowed}"),
            format!(
                "raise the limit (as root: ulimit -Hn {needed}), or use fewer connections with -c"
            ),
        )
    })
}

pub fn refuse_unusable_cores(cores: &[usize]) -> Result<(), Failure> {
    let cores = cores.to_vec();
    // Only an attempt shows whether a core can be used. Another thread tries, because this one must
    // keep its affinity.
    let tried = thread::spawn(move || {
        cores.into_iter().try_for_each(|core| {
            pin_to_core(core).map_err(|source| WorkersError::Core { core, source })
        })
    });
    let tried = tried
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    Ok(tried?)
}

pub fn refuse_foreign_sources(sources: &[IpAddr]) -> Result<(), Failure> {
    for source in sources {
        // Nothing is sent: the kernel only checks whether the address is local.
        UdpSocket::bind((*source, 0)).map_err(|error| {
            let what = format!("cannot connect from {source}: {error}");
            let remedy = "use an address of this machine (see `ip address`), or add it: \
                          `ip address add ADDRESS dev lo`";
            Failure::said(Exit::Environment, "--source", what, remedy)
        })?;
    }
    Ok(())
}

/// Reports whether the workers may poll without sleeping: they may if they leave a core for other
/// processes.
pub fn has_cores_to_spare(workers: usize) -> bool {
    let mut limits = EnvironmentFacts::read().limits.cgroup_cpu.into_iter();
    let is_time_limited = limits.any(|limit| !limit.starts_with("max") && !limit.starts_with('-'));
    // `available_parallelism` respects CPU affinity (`taskset`) and CPU time limits.
    let allowed = thread::available_parallelism().map_or(1, |cores| cores.get());
    let online = MachineSample::read().cores.len();
    are_spared(workers, online, allowed, is_time_limited)
}

/// Cores that only other processes may use also count as left for them, unless the CPU time is
/// limited: polling would then use up that time.
fn are_spared(workers: usize, online: usize, allowed: usize, is_time_limited: bool) -> bool {
    let used_by_all = if is_time_limited { allowed } else { online };
    used_by_all > workers && allowed >= workers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_polls_only_if_other_processes_have_a_core_left() {
        let spared =
            |online, allowed, is_time_limited| are_spared(1, online, allowed, is_time_limited);
        assert!(spared(2, 2, false));
        assert!(spared(2, 1, false), "bound to one of two cores");
        assert!(!spared(2, 1, true), "the CPU time of one of two cores");
        assert!(spared(4, 2, true));
        assert!(!spared(1, 1, false));
    }
}
