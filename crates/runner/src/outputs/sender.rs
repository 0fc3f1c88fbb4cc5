//! The thread that sends to one target.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use gatebench_net::clock;

use super::client::{Client, TIMEOUT};
use super::queue::{self, Queue};
use super::target::Target;
use crate::threads::step_aside;

/// Starts the thread that sends queued bodies, on these cores, or on any if there are none. Callers
/// wait for it only through the queue, whose waits are limited, because the resolution of a name
/// may block.
pub(super) fn start(target: Target, queue: Arc<Queue>, cores: Vec<usize>) -> std::io::Result<()> {
    let builder = thread::Builder::new().name("output".into());
    builder.spawn(move || {
        step_aside(&cores);
        run(target, &queue);
    })?;
    Ok(())
}

fn run(target: Target, queue: &Queue) {
    let push_every = target.push_every;
    let mut client = Client::new(target);
    let until = |begun: Instant| move || queue.deadline(begun + TIMEOUT);
    queue.probed(client.probe(&until(Instant::now())));
    while let Some(push) = queue.next() {
        let begun = Instant::now();
        match client.deliver(queue::bytes(&push), &until(begun)) {
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
