//! The worker threads of a server, each with its own loop and listeners, and pinned to a core if
//! cores are given.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use rustix::thread::CpuSet;

use crate::{Backend, Io, IoTask, ListenerId, run};

/// The work that each worker of a server does, compiled once for each backend.
pub trait Service: Sync {
    /// Serves the listeners already open on `io` until [`Seat::stopped`] returns true. To notice
    /// this in time, the service must not wait in [`Io::poll`] for longer than [`STOP_CHECK_NS`].
    ///
    /// # Errors
    /// Only if the loop itself fails.
    fn run<I: Io>(&self, io: I, seat: Seat<'_>) -> io::Result<()>;
}

/// The maximum time between two checks by a worker for a stop request.
pub const STOP_CHECK_NS: u64 = 50_000_000;

/// The identity and the listeners of one worker.
pub struct Seat<'a> {
    /// The worker's number, from 0.
    pub index: usize,
    /// The kernel's thread ID, as in `/proc/self/task`.
    pub thread_id: i32,
    pub listeners: Vec<ListenerId>,
    stop: &'a AtomicBool,
    halt: &'a AtomicBool,
}

impl Seat<'_> {
    /// Reports whether the worker must stop: the server was stopped from outside, or another worker
    /// has ended.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.halt.load(Ordering::Relaxed)
    }
}

/// The settings of a server's workers.
pub struct Workers<'a> {
    /// The addresses that every worker listens on. For port 0, a free port is chosen once, and all
    /// workers use it.
    pub listen: &'a [SocketAddr],
    /// The number of workers (at least one runs).
    pub count: usize,
    /// The cores of the workers, assigned in turn; if empty, the kernel chooses.
    pub cores: &'a [usize],
    /// The backend; `None` chooses io_uring if the kernel allows it, and otherwise epoll.
    pub backend: Option<Backend>,
    /// Set from outside to stop all workers.
    pub stop: &'a AtomicBool,
}

impl Workers<'_> {
    /// Runs `service` on all workers until they are stopped; `on_listening` receives the addresses
    /// once every worker listens on them.
    ///
    /// # Errors
    /// The error of the lowest-numbered worker that failed, after all workers have ended.
    pub fn serve<S: Service>(
        &self,
        service: &S,
        on_listening: impl FnOnce(&[SocketAddr]),
    ) -> Result<(), WorkersError> {
        let halt = AtomicBool::new(false);
        thread::scope(|scope| {
            let (ready, heard) = mpsc::channel();
            let mut bound = self.listen.to_vec();
            let mut threads = Vec::new();
            let mut listening = 0;
            for index in 0..self.count.max(1) {
                let worker = Worker {
                    workers: self,
                    service,
                    index,
                    listen: bound.clone(),
                    halt: &halt,
                    ready: ready.clone(),
                };
                threads.push(scope.spawn(move || worker.serve()));
                // The workers start one after another: the others use the port that the first one
                // gets for port 0.
                match heard.recv() {
                    Ok(Some(addresses)) => bound = addresses,
                    Ok(None) | Err(_) => break,
                }
                listening += 1;
            }
            if listening == self.count.max(1) {
                on_listening(&bound);
            }
            let mut outcome = Ok(());
            for thread in threads {
                outcome = outcome.and(joined(thread));
            }
            outcome
        })
    }

    fn core_of(&self, index: usize) -> Option<usize> {
        (!self.cores.is_empty()).then(|| self.cores[index % self.cores.len()])
    }
}

/// The reason why a server ended without being stopped.
#[derive(Debug, thiserror::Error)]
#[error("environment: {}; {}", self.what(), self.remedy())]
pub enum WorkersError {
    Core {
        core: usize,
        source: io::Error,
    },
    Backend(#[source] io::Error),
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
    Loop(#[source] io::Error),
}

impl WorkersError {
    /// Returns the description of the error without the prefix `environment:` and the remedy.
    pub fn what(&self) -> String {
        match self {
            Self::Core { core, source } => {
                format!("cannot pin a worker to core {core}: {source}")
            }
            Self::Backend(source) => format!("the kernel refuses the chosen backend: {source}"),
            Self::Listen { address, source } => format!("cannot listen on {address}: {source}"),
            Self::Loop(source) => format!("the event loop failed: {source}"),
        }
    }

    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Core { .. } => "name a core that this process may use (see `taskset -p $$`)",
            Self::Backend(_) => "choose the other backend",
            Self::Listen { .. } => "choose another address, or port 0 for a free one",
            Self::Loop(_) => "if this happens again, choose the other backend",
        }
    }
}

/// Waits for a thread and returns its result. A panic of the thread continues in the caller.
pub fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Pins the calling thread to one core.
///
/// # Errors
/// The core does not exist, or this process may not use it.
pub fn pin_to_core(core: usize) -> io::Result<()> {
    if core >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut cores = CpuSet::new();
    cores.set(core);
    Ok(rustix::thread::sched_setaffinity(None, &cores)?)
}

struct Worker<'a, S> {
    workers: &'a Workers<'a>,
    service: &'a S,
    index: usize,
    listen: Vec<SocketAddr>,
    halt: &'a AtomicBool,
    ready: mpsc::Sender<Option<Vec<SocketAddr>>>,
}

impl<S: Service> Worker<'_, S> {
    fn serve(self) -> Result<(), WorkersError> {
        // The end of this worker, even by a panic, also stops the others.
        let halt = HaltOnDrop(self.halt);
        let (ready, backend) = (self.ready.clone(), self.workers.backend);
        let outcome = self
            .pin()
            .and_then(|()| run(backend, self).map_err(WorkersError::Backend)?);
        drop(halt);
        // If `Workers::serve` still waits for this worker or a later one to listen, this message
        // ends the wait. Once all workers listen, nothing receives it.
        let _ = ready.send(None);
        outcome
    }

    fn pin(&self) -> Result<(), WorkersError> {
        match self.workers.core_of(self.index) {
            Some(core) => pin_to_core(core).map_err(|source| WorkersError::Core { core, source }),
            None => Ok(()),
        }
    }
}

struct HaltOnDrop<'a>(&'a AtomicBool);

impl Drop for HaltOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<S: Service> IoTask for Worker<'_, S> {
    type Output = Result<(), WorkersError>;

    fn run<I: Io>(self, mut io: I) -> Self::Output {
        let (mut bound, mut listeners) = (Vec::new(), Vec::new());
        for &address in &self.listen {
            let (listener, at) = io
                .listen(address, self.workers.count > 1)
                .map_err(|source| WorkersError::Listen { address, source })?;
            bound.push(at);
            listeners.push(listener);
        }
        // The receiver outlives the workers.
        let _ = self.ready.send(Some(bound));
        let seat = Seat {
            index: self.index,
            thread_id: rustix::thread::gettid().as_raw_nonzero().get(),
            listeners,
            stop: self.workers.stop,
            halt: self.halt,
        };
        self.service.run(io, seat).map_err(WorkersError::Loop)
    }
}
