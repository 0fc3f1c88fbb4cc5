//! The thread that sends to one target.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use gatebench_net::clock;
use rustix::process::nice;
use rustix::thread::{CpuSet, sched_setaffinity};

use super::client::{Client, TIMEOUT};
use super::queue::Queue;
use super::target::Target;
use gatebench_testbed::probe::allowed_cores;

/// The lowest priority.
const NICE: i32 = 19;

/// Starts the thread that sends queued bodies, on these cores, or on any if there are none. Nothing
/// waits for the thread longer than the queue allows, because resolving a name may block.
pub(super) fn start(target: Target, queue: Arc<Queue>, cores: Vec<usize>) -> std::io::Result<()> {
    let builder = thread::Builder::new().name("output".into());
    builder.spawn(move || {
        step_aside(&cores);
        run(target, &queue);
    })?;
    Ok(())
}

/// Returns the cores of this machine except these, for threads that must not disturb a measurement;
/// empty if all are used.
pub fn spare_cores(used: &[usize]) -> Vec<usize> {
    let mut cores = allowed_cores();
    cores.retain(|core| !used.contains(core));
    cores
}

/// Gives this thread the lowest priority and moves it to these cores.
pub(super) fn step_aside(cores: &[usize]) {
    // On Linux, this applies only to the calling thread. If it is not permitted, the thread keeps
    // its priority.
    let _ = nice(NICE);
    let mut set = CpuSet::new();
    for core in cores.iter().filter(|core| **core < CpuSet::MAX_CPU) {
        set.set(*core);
    }
    if !cores.is_empty() {
        let _ = sched_setaffinity(None, &set);
    }
}

fn run(target: Target, queue: &Queue) {
    let push_every = target.push_every;
    let mut client = Client::new(target);
    let until = |begun: Instant| move || queue.deadline(begun + TIMEOUT);
    queue.probed(client.probe(&until(Instant::now())));
    while let Some(push) = queue.next() {
        let begun = Instant::now();
        match client.deliver(push.bytes(), &until(begun)) {
            Ok(()) => {
                queue.delivered(&push);
                queue.spent(clock::thread_cpu_ns());
                queue.pause(push_every.saturating_sub(begun.elapsed()));
            }
            Err(refusal) => {
                let pause = queue.refused(push, refusal);
                queue.pause(pause);
            }
        }
    }
}
