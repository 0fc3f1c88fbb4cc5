//! Recompiles expired definitions while the workers continue.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::policy::SoapPolicy;
use crate::process::{Background, STACK_BYTES, in_background};

/// The maximum sleep. When the thread wakes up, it forgets the policies that have been dropped.
const SLEEP_MAX: Duration = Duration::from_secs(60);

/// A thread that recompiles policies one after another, each when its TTL expires. After each
/// compilation, the thread pauses for as long as the compilation took. The thread has the lowest
/// `nice` priority, so even a hundred compilations that become due at the same time hardly delay
/// messages. The thread ends when this value is dropped.
///
/// The allocator keeps a pool per thread. This thread compiles in the pool where the policies were
/// first compiled, so that new definitions reuse the memory of old ones. No worker waits for a pool
/// that a low-priority thread holds.
#[derive(Debug)]
pub struct Refresher {
    _thread: Background<()>,
}

impl Refresher {
    /// Starts the thread. It does not keep the policies alive.
    ///
    /// # Errors
    /// Fails if the system cannot start a thread.
    pub fn start(policies: &[Arc<SoapPolicy>]) -> std::io::Result<Self> {
        let policies = policies.to_vec();
        let (stop, stopped) = mpsc::channel();
        let (ready, is_ready) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("xml-refresher".into())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                // The first allocation of this thread selects the pool that became free last.
                let known = policies.iter().map(Arc::downgrade).collect();
                drop(policies);
                // Sending fails only if the starting thread has ended.
                let _ = ready.send(());
                in_background();
                run(known, &stopped);
            })?;
        // Workers start after this, so they find that pool taken.
        let _ = is_ready.recv();
        Ok(Self {
            _thread: Background::new(stop, thread),
        })
    }
}

fn run(mut policies: Vec<Weak<SoapPolicy>>, stopped: &mpsc::Receiver<()>) {
    let mut rest = Duration::ZERO;
    loop {
        match stopped.recv_timeout(rest) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
        policies.retain(|policy| policy.strong_count() > 0);
        let next = policies
            .iter()
            .filter_map(Weak::upgrade)
            .min_by_key(|policy| policy.due_in());
        rest = match next {
            None => SLEEP_MAX,
            Some(policy) => match policy.due_in() {
                Duration::ZERO => {
                    let started = Instant::now();
                    policy.recompile_on_this_thread();
                    started.elapsed()
                }
                due => due.min(SLEEP_MAX),
            },
        };
    }
}
