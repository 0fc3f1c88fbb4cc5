//! Moves the threads of this process to cores that no measurement uses, if there are any.

use std::cell::RefCell;
use std::sync::Mutex;

use gatebench_model::{Plan, Variant};
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

    /// Keeps this process off the cores of a plan that is being executed: all of them if other
    /// cores are free, otherwise, if possible, those of the gateways. Without a plan, all cores may
    /// be used.
    pub(crate) fn avoid(&self, plan: Option<&Plan>) {
        let of_gateways = plan.map(gateways).unwrap_or_default();
        let mut all = of_gateways.clone();
        if let Some(Plan { placement, .. }) = plan {
            all.extend(placement.engine.iter().chain(&placement.upstream));
            all.extend(placement.siblings.iter().flatten());
        }
        let without = |used: &[usize]| {
            let free = self.allowed.iter().copied();
            let free = free.filter(|core| !used.contains(core));
            Some(free.collect::<Vec<_>>()).filter(|free| !free.is_empty())
        };
        let free = without(&all).or_else(|| without(&of_gateways));
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

fn gateways(plan: &Plan) -> Vec<usize> {
    let setups = plan.variants.iter().filter_map(Variant::setup);
    let cores = setups.flat_map(|setup| setup.gateway_cores(&plan.placement));
    cores.chain(&plan.placement.gateway).copied().collect()
}

fn allowed() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU)
        .filter(|core| set.is_set(*core))
        .collect()
}
