//! Moves the threads of this process to cores that no measurement uses, if there are any.

use std::cell::RefCell;
use std::sync::Mutex;

use gatebench_model::{Placement, Plan};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::shared::locked;

/// The nice value of the lowest priority.
const NICE: i32 = 19;

pub(crate) struct Cores {
    allowed: Vec<usize>,
    now: Mutex<Vec<usize>>,
}

thread_local! {
    /// The cores that this thread was moved to; empty if it was not moved.
    static OWN: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

impl Cores {
    /// Returns the cores that this process may use. Gives this thread, and all threads that it
    /// starts later, the lowest priority.
    pub(crate) fn new() -> Self {
        // If the system does not permit this, the priority is unchanged.
        let _ = rustix::process::nice(NICE);
        let allowed = allowed();
        let now = Mutex::new(allowed.clone());
        Self { allowed, now }
    }

    /// Keeps this process off the physical cores of a plan that is being executed: all of them if
    /// other cores are free, otherwise, if possible, those of the gateways. Without a plan, all
    /// cores may be used.
    pub(crate) fn avoid(&self, plan: Option<&Plan>) {
        let free = plan.map(|plan| free(&self.allowed, &plan.placement));
        *locked(&self.now) = free.unwrap_or_else(|| self.allowed.clone());
    }

    pub(crate) fn move_thread(&self) {
        let now = locked(&self.now);
        OWN.with_borrow_mut(|own| {
            if *own == *now {
                return;
            }
            let mut set = CpuSet::new();
            now.iter().for_each(|core| set.set(*core));
            // If the system does not permit this, the thread stays on its cores.
            let _ = sched_setaffinity(None, &set);
            own.clone_from(&now);
        });
    }
}

fn free(allowed: &[usize], placement: &Placement) -> Vec<usize> {
    let without = |used: Vec<usize>| {
        let free = allowed.iter().filter(|core| !used.contains(core));
        Some(free.copied().collect::<Vec<_>>()).filter(|free| !free.is_empty())
    };
    let siblings = placement.siblings.iter().flatten().copied();
    without(placement.used().into_iter().chain(siblings).collect())
        .or_else(|| without(placement.gateway_cores_whole()))
        .unwrap_or_else(|| allowed.to_vec())
}

fn allowed() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU)
        .filter(|core| set.is_set(*core))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_shares_a_physical_core_with_a_gateway_if_another_core_exists() {
        // The hardware threads of one core have the numbers 0 and 2, those of the other 1 and 3.
        let mut placement = Placement {
            gateway: vec![1],
            engine: vec![0],
            upstream: vec![2],
            siblings: vec![vec![0, 2], vec![1, 3]],
            ..Placement::default()
        };
        assert_eq!(free(&[0, 1, 2, 3], &placement), [0, 2]);
        assert_eq!(free(&[0, 1, 2, 3, 4], &placement), [4]);
        assert_eq!(free(&[1, 3], &placement), [1, 3]);
        placement.gateway_is_elsewhere = true;
        placement.siblings = vec![vec![0, 2]];
        assert_eq!(free(&[0, 1, 2, 3], &placement), [1, 3]);
    }
}
