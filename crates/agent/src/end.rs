//! The agent: a load generator that receives its load from a coordinator.

use std::env;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use gatebench_engine::{Control, EngineError, Interval, Load, Merge, Outcome};
use gatebench_net::{choose, clock};
use gatebench_testbed::RemoteError;
use gatebench_testbed::probe::{MachineSample, usable_cores};
use gatebench_testbed::remote::Role;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;
use serde_json::Value as Json;

use crate::order::Order;
use crate::outbox::Outbox;
use crate::protocol::{Ask, Facts, Health, Progress, Totals};
use crate::record::Record;
use crate::totals::WireOutcome;

/// The agent as a role of the remote end. Dropping it ends its load.
#[derive(Default)]
pub struct Agent {
    running: Option<Running>,
}

/// A load that is prepared, running or finished.
struct Running {
    shared: Arc<Shared>,
    cores: Vec<usize>,
    /// The requested start time, on the agent's clock. The load starts only if the coordinator
    /// confirms this time.
    start_ns: Option<u64>,
    /// The state of the machine when the start was confirmed.
    before: Option<MachineSample>,
    thread: Option<JoinHandle<Result<Outcome, EngineError>>>,
}

struct Shared {
    control: Control,
    outbox: Mutex<Outbox>,
}

impl Shared {
    fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Role for Agent {
    fn respond(&mut self, ask: Json) -> Result<Json, RemoteError> {
        match serde_json::from_value(ask)? {
            Ask::Introduce => json(&facts()),
            Ask::Ping => json(&clock::now_ns()),
            Ask::Prepare(order) => json(&self.prepare(*order)?),
            Ask::IsReady => json(&self.running()?.is_ready()?),
            Ask::StartAt { at_ns } => {
                self.running()?.start_ns = Some(at_ns);
                json(&())
            }
            Ask::Confirm => json(&self.running()?.confirm()?),
            Ask::Records { after } => json(&self.running()?.progress(after)),
            Ask::Stop => {
                self.running()?.shared.control.stop();
                json(&())
            }
            Ask::Finish => {
                let running = self.running.take().ok_or_else(nothing_runs)?;
                json(&running.finish()?)
            }
        }
    }
}

fn json(value: &impl Serialize) -> Result<Json, RemoteError> {
    Ok(serde_json::to_value(value)?)
}

fn nothing_runs() -> RemoteError {
    RemoteError::environment("no load was prepared", "start the load again")
}

fn facts() -> Facts {
    // In a pod, the host name is usually the name of the pod, so NODE_NAME is preferred.
    let node = env::var("NODE_NAME").or_else(|_| fs::read_to_string("/proc/sys/kernel/hostname"));
    let node = node.unwrap_or_default();
    Facts {
        node: node.trim().to_owned(),
        cores: usable_cores(),
        backend: choose(None).as_str().to_owned(),
    }
}

impl Agent {
    fn running(&mut self) -> Result<&mut Running, RemoteError> {
        self.running.as_mut().ok_or_else(nothing_runs)
    }

    /// Starts opening the connections of a load, which replaces any earlier load.
    fn prepare(&mut self, order: Order) -> Result<(), RemoteError> {
        self.running = None;
        let load = order.into_load().map_err(|error| {
            RemoteError::environment(
                format!("the load cannot be sent from here: {error}"),
                "correct the load, or use agents of the same version as gatebench",
            )
        })?;
        allow_descriptors();
        let shared = Arc::new(Shared {
            control: Control::new(load.cores.len()),
            outbox: Mutex::default(),
        });
        let cores = load.cores.clone();
        let own = Arc::clone(&shared);
        let builder = thread::Builder::new().name("load".into());
        let thread = builder.spawn(move || run(&load, &own));
        self.running = Some(Running {
            shared,
            cores,
            start_ns: None,
            before: None,
            thread: Some(thread.map_err(|error| {
                let what = format!("the load cannot be started: {error}");
                RemoteError::environment(what, "raise the limit on threads")
            })?),
        });
        Ok(())
    }
}

fn allow_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let _ = setrlimit(Resource::Nofile, raised);
}

fn run(load: &Load, shared: &Shared) -> Result<Outcome, EngineError> {
    let mut merge = Merge::new(load.cores.len());
    let keep = |second: &Interval| {
        let record = serde_json::to_string(&Record::of(second));
        let record = record.expect("a record has no maps whose keys JSON cannot represent");
        if !shared.outbox().push(record) {
            shared.control.stop();
        }
    };
    let outcome = gatebench_engine::run(load, &shared.control, |worker, interval| {
        merge.take(worker, interval).iter().for_each(keep);
        merge.overdue().iter().for_each(keep);
    });
    merge.rest().iter().for_each(keep);
    outcome
}

impl Running {
    fn is_over(&self) -> bool {
        let thread = self.thread.as_ref();
        thread.is_none_or(JoinHandle::is_finished)
    }

    fn is_ready(&mut self) -> Result<bool, RemoteError> {
        if self.is_over() {
            // If a load ends before its start, it has failed or was stopped.
            self.end()?;
            return Err(nothing_runs());
        }
        Ok(self.shared.control.is_ready())
    }

    fn confirm(&mut self) -> Result<(), RemoteError> {
        let start_ns = self.start_ns.filter(|start_ns| *start_ns > clock::now_ns());
        let Some(start_ns) = start_ns else {
            self.shared.control.stop();
            return Err(RemoteError::environment(
                "the confirmation of the start came too late",
                "use a faster connection to this host, and make sure that neither end is overloaded",
            ));
        };
        self.before = Some(MachineSample::read());
        self.shared.control.starts_at(start_ns);
        Ok(())
    }

    fn progress(&self, after: u64) -> Progress {
        // The load's thread may add records until it ends, so its end is checked before the records
        // are read.
        let is_over = self.is_over();
        let (first, records) = self.shared.outbox().after(after);
        let live = self.shared.control.live();
        let sum = |pick: fn(&gatebench_engine::Live) -> &AtomicU64| -> u64 {
            live.iter().map(|it| pick(it).load(Ordering::Relaxed)).sum()
        };
        Progress {
            first,
            records,
            completed: sum(|it| &it.completed),
            failed: sum(|it| &it.failed),
            queued: sum(|it| &it.queued),
            is_over,
        }
    }

    /// Waits for the end of the load; returns `None` if an earlier call has already waited for it.
    fn end(&mut self) -> Result<Option<Outcome>, RemoteError> {
        let Some(thread) = self.thread.take() else {
            return Ok(None);
        };
        let ended = thread.join().map_err(|_| {
            let what = "the load generator panicked";
            RemoteError::environment(what, "report this as a defect, and include the load")
        })?;
        ended.map(Some).map_err(|error| refused(&error))
    }

    fn finish(mut self) -> Result<Totals, RemoteError> {
        self.shared.control.stop();
        let outcome = self.end()?.ok_or_else(nothing_runs)?;
        let (records, sha256) = self.shared.outbox().end();
        Ok(Totals {
            outcome: WireOutcome::of(&outcome),
            records,
            sha256,
            health: self.health(),
        })
    }

    fn health(&self) -> Health {
        let Some(before) = &self.before else {
            return Health::default();
        };
        let after = MachineSample::read();
        let cores = &self.cores;
        Health {
            window_ns: after.at_ns.saturating_sub(before.at_ns),
            cores: u32::try_from(cores.len()).unwrap_or(u32::MAX),
            steal_ns: after.steal_ns(cores).saturating_sub(before.steal_ns(cores)),
            throttled_ns: after.throttled_ns.saturating_sub(before.throttled_ns),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.control.stop();
        // Either the error has already been reported, or nobody waits for it.
        let _ = self.end();
    }
}

fn refused(error: &EngineError) -> RemoteError {
    match error {
        EngineError::Unreachable { address, reason } => {
            let what = format!("cannot connect to {address}: {}", reason.what());
            let reachable = "start the target, and make sure that this host can reach it";
            RemoteError::environment(what, reason.remedy().unwrap_or(reachable))
        }
        EngineError::Data(_) => {
            RemoteError::environment(error.to_string(), "correct the load's data")
        }
        EngineError::Environment(_) => {
            let remedy = "try --backend epoll, and check the limits of this host";
            RemoteError::environment(error.to_string(), remedy)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use gatebench_engine::ConnectError;

    use super::*;

    #[test]
    fn the_remedy_fits_the_reason() {
        let refused = |reason| {
            let address = SocketAddr::from(([127, 0, 0, 1], 80)).into();
            let error = refused(&EngineError::Unreachable { address, reason });
            (error.message, error.remedy)
        };
        let no_source = ConnectError::NoSource([192, 0, 2, 1].into());
        let (message, remedy) = refused(no_source.clone());
        assert_eq!(
            message,
            format!("cannot connect to 127.0.0.1:80: {}", no_source.what())
        );
        assert_eq!(Some(remedy.as_str()), no_source.remedy());
        let (message, remedy) = refused(ConnectError::Kernel("Connection refused".into()));
        assert_eq!(
            message,
            "cannot connect to 127.0.0.1:80: Connection refused"
        );
        assert!(remedy.starts_with("start the target"), "{remedy}");
    }
}
