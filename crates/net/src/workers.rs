//! The threads of a server: one worker per core, each with a loop and listeners of its own.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use rustix::thread::CpuSet;

use crate::{Backend, Io, IoTask, ListenerId, run};

/// What every worker of a server does, compiled once for each backend.
pub trait Service: Sync {
    /// Serves the listeners already open on `io` until [`Seat::stopped`]; to see that in time it must
    /// not wait in [`Io::poll`] for longer than [`STOP_CHECK_NS`].
    ///
    /// # Errors
    /// Only when the loop itself is broken.
    fn run<I: Io>(&self, io: I, seat: Seat<'_>) -> io::Result<()>;
}

/// How often a worker looks whether it shall stop: 50 ms.
pub const STOP_CHECK_NS: u64 = 50_000_000;

/// Where one worker sits.
pub struct Seat<'a> {
    /// Its number, from 0.
    pub index: usize,
    /// The kernel's number of its thread, as in `/proc/self/task`.
    pub thread_id: i32,
    /// What its loop listens on.
    pub listeners: Vec<ListenerId>,
    stop: &'a AtomicBool,
    halt: &'a AtomicBool,
}

impl Seat<'_> {
    /// Whether the worker shall end: its owner says so, or another worker has failed.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.halt.load(Ordering::Relaxed)
    }
}

/// How many workers listen where.
pub struct Workers<'a> {
    /// Addresses every worker listens on. Port 0 is chosen once and is then the same for all.
    pub listen: &'a [SocketAddr],
    /// How many workers (at least one runs).
    pub count: usize,
    /// The core of each worker, in turn; empty leaves them where the kernel puts them.
    pub cores: &'a [usize],
    /// The backend, or `None` for the best there is.
    pub backend: Option<Backend>,
    /// Set from outside to end all.
    pub stop: &'a AtomicBool,
}

impl Workers<'_> {
    /// Runs `service` on all workers until stopped; `on_listening` hears the addresses once every
    /// worker listens on them.
    ///
    /// # Errors
    /// The first failure of any worker, after all have ended.
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
                    index,
                    listen: bound.clone(),
                    core: self.core_of(index),
                    shared: self.count > 1,
                    stop: self.stop,
                    halt: &halt,
                    ready: ready.clone(),
                };
                let backend = self.backend;
                threads.push(scope.spawn(move || worker.serve(backend, service)));
                // Each worker in turn: the first one's port 0 is the others' port.
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
                let ended = thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                outcome = outcome.and(ended);
            }
            outcome
        })
    }

    fn core_of(&self, index: usize) -> Option<usize> {
        (!self.cores.is_empty()).then(|| self.cores[index % self.cores.len()])
    }
}

/// Why a server ended by itself. The culprit is the environment.
#[derive(Debug)]
pub enum WorkersError {
    /// A worker could not be pinned.
    Core {
        /// The core asked for.
        core: usize,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The backend was refused.
    Backend(io::Error),
    /// An address cannot be listened on.
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The loop broke while it served.
    Loop(io::Error),
}

impl WorkersError {
    /// Returns the description of the error without the culprit and the remedy.
    pub fn what(&self) -> String {
        match self {
            Self::Core { core, source } => {
                format!("cannot pin a worker to core {core}: {source}")
            }
            Self::Backend(source) => format!("the kernel refuses this event loop: {source}"),
            Self::Listen { address, source } => format!("cannot listen on {address}: {source}"),
            Self::Loop(source) => format!("the event loop failed: {source}"),
        }
    }

    /// Returns the action that removes the error.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Core { .. } => "name a core that this process may use (see `taskset -p $$`)",
            Self::Backend(_) => "choose the other backend",
            Self::Listen { .. } => "choose another address, or port 0 for a free one",
            Self::Loop(_) => "if this repeats, choose the other backend",
        }
    }
}

impl fmt::Display for WorkersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "environment: {}; {}", self.what(), self.remedy())
    }
}

impl std::error::Error for WorkersError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Core { source, .. } | Self::Listen { source, .. } => Some(source),
            Self::Backend(source) | Self::Loop(source) => Some(source),
        }
    }
}

/// Pins the calling thread to one core.
///
/// # Errors
/// When the core does not exist or is not granted to this process.
pub fn pin_to_core(core: usize) -> io::Result<()> {
    if core >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut cores = CpuSet::new();
    cores.set(core);
    Ok(rustix::thread::sched_setaffinity(None, &cores)?)
}

struct Worker<'a> {
    index: usize,
    listen: Vec<SocketAddr>,
    core: Option<usize>,
    shared: bool,
    stop: &'a AtomicBool,
    halt: &'a AtomicBool,
    ready: mpsc::Sender<Option<Vec<SocketAddr>>>,
}

impl Worker<'_> {
    fn serve<S: Service>(self, backend: Option<Backend>, service: &S) -> Result<(), WorkersError> {
        // Whatever ends this worker, a panic too, ends the others unless they were told to stop.
        let halt = HaltOnDrop(self.halt);
        let ready = self.ready.clone();
        let outcome = self.pin().and_then(|()| {
            run(
                backend,
                Task {
                    worker: self,
                    service,
                },
            )
            .map_err(WorkersError::Backend)?
        });
        drop(halt);
        // Unheard when the worker had listened; else it tells that nothing will come.
        let _ = ready.send(None);
        outcome
    }

    fn pin(&self) -> Result<(), WorkersError> {
        match self.core {
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

struct Task<'a, S> {
    worker: Worker<'a>,
    service: &'a S,
}

impl<S: Service> IoTask for Task<'_, S> {
    type Output = Result<(), WorkersError>;

    fn run<I: Io>(self, mut io: I) -> Self::Output {
        let worker = self.worker;
        let (mut bound, mut listeners) = (Vec::new(), Vec::new());
        for &address in &worker.listen {
            let (listener, at) = io
                .listen(address, worker.shared)
                .map_err(|source| WorkersError::Listen { address, source })?;
            bound.push(at);
            listeners.push(listener);
        }
        // The receiver outlives the workers.
        let _ = worker.ready.send(Some(bound));
        let seat = Seat {
            index: worker.index,
            thread_id: rustix::thread::gettid().as_raw_nonzero().get(),
            listeners,
            stop: worker.stop,
            halt: worker.halt,
        };
        self.service.run(io, seat).map_err(WorkersError::Loop)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Mutex;

    use super::*;

    /// Notes who ran and ends all when the last one is there.
    struct Roll<'a> {
        present: Mutex<Vec<usize>>,
        expected: usize,
        stop: &'a AtomicBool,
    }

    impl Service for Roll<'_> {
        fn run<I: Io>(&self, mut io: I, seat: Seat<'_>) -> io::Result<()> {
            let mut present = self.present.lock().unwrap();
            present.push(seat.index);
            self.stop
                .store(present.len() == self.expected, Ordering::Relaxed);
            drop(present);
            while !seat.stopped() {
                io.poll(Some(io.now_ns() + STOP_CHECK_NS), &mut Vec::new())?;
            }
            Ok(())
        }
    }

    fn localhost() -> SocketAddr {
        "127.0.0.1:0".parse().unwrap()
    }

    fn workers<'a>(listen: &'a [SocketAddr], stop: &'a AtomicBool) -> Workers<'a> {
        Workers {
            listen,
            count: 3,
            cores: &[],
            backend: Some(Backend::Epoll),
            stop,
        }
    }

    #[test]
    fn every_worker_listens_on_the_port_of_the_first() {
        let stop = AtomicBool::new(false);
        let roll = Roll {
            present: Mutex::default(),
            expected: 3,
            stop: &stop,
        };
        let mut heard = Vec::new();
        workers(&[localhost()], &stop)
            .serve(&roll, |bound| heard = bound.to_vec())
            .unwrap();
        assert_ne!(heard[0].port(), 0);
        let mut present = roll.present.into_inner().unwrap();
        present.sort_unstable();
        assert_eq!(present, [0, 1, 2]);
    }

    #[test]
    fn an_address_in_use_is_named() {
        let taken = std::net::TcpListener::bind(localhost()).unwrap();
        let address = taken.local_addr().unwrap();
        let stop = AtomicBool::new(false);
        let roll = Roll {
            present: Mutex::default(),
            expected: 3,
            stop: &stop,
        };
        let error = workers(&[address], &stop)
            .serve(&roll, |_| panic!("nothing listens"))
            .unwrap_err();
        assert!(error.to_string().contains(&address.to_string()), "{error}");
        assert!(
            !stop.load(Ordering::Relaxed),
            "the owner's flag is not ours to set"
        );
    }

    #[test]
    fn a_core_that_does_not_exist_is_named() {
        let stop = AtomicBool::new(false);
        let roll = Roll {
            present: Mutex::default(),
            expected: 1,
            stop: &stop,
        };
        let workers = Workers {
            cores: &[1023],
            ..workers(&[], &stop)
        };
        let error = workers.serve(&roll, |_| ()).unwrap_err();
        assert!(
            matches!(error, WorkersError::Core { core: 1023, .. }),
            "{error}"
        );
    }
}
