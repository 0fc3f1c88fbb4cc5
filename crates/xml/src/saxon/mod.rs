//! XSLT 2.0 and 3.0 by SaxonC-HE, in processes of its own: it may crash, loop or eat memory there, which
//! costs one message and a helper that is started anew.
//!
//! The caller waits for its helper, which does the work on the caller's behalf, as long as a transformation
//! in the process would take, within [`Bounds`].

mod helper;
mod keeper;
mod text;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

use self::helper::{Helper, Trouble};
use crate::errors::Complaints;
use crate::limits::Limits;

/// What one transformation may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Processor time, until it is ended; five times that on the clock.
    pub time: Duration,
    /// Bytes of private memory of a helper.
    pub memory_bytes: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(2),
            memory_bytes: 1 << 30,
        }
    }
}

/// The helpers. They end when this is dropped.
#[derive(Debug)]
pub struct Saxon {
    shared: Arc<Shared>,
    /// Tells the keeper which seat has lost its helper; closed to end it.
    lost: Option<Sender<usize>>,
    keeper: Option<JoinHandle<()>>,
    /// Where the next caller looks first.
    next: AtomicUsize,
}

/// What the keeper shares with those who transform.
#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    bounds: Bounds,
    seats: Vec<Mutex<Option<Helper>>>,
    /// The stylesheets in use, by their numbers, as orders to compile them.
    used: Mutex<BTreeMap<u64, String>>,
    is_over: AtomicBool,
}

/// A stylesheet that every helper has compiled.
#[derive(Debug)]
pub struct SaxonStylesheet {
    saxon: Arc<Saxon>,
    number: u64,
}

impl Saxon {
    /// Starts `count` helpers with the Python package in `folder`. Where more transform at once than there
    /// are helpers, they wait for each other.
    ///
    /// # Errors
    /// Python or the package cannot be loaded.
    pub fn start(folder: PathBuf, bounds: Bounds, count: usize) -> Result<Arc<Self>, String> {
        let seats = (0..count.max(1))
            .map(|_| Helper::start(&folder, &bounds).map(|helper| Mutex::new(Some(helper))))
            .collect::<Result<_, _>>()?;
        let shared = Arc::new(Shared {
            folder,
            bounds,
            seats,
            used: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let (lost, keeper) = keeper::start(&shared)
            .map_err(|error| format!("the thread that keeps helpers cannot be started: {error}"))?;
        Ok(Arc::new(Self {
            shared,
            lost: Some(lost),
            keeper: Some(keeper),
            next: AtomicUsize::new(0),
        }))
    }

    /// Compiles a stylesheet on every helper.
    ///
    /// # Errors
    /// What Saxon says of it.
    pub fn compile(
        self: &Arc<Self>,
        text: &[u8],
        parameters: &[(String, String)],
    ) -> Result<SaxonStylesheet, Complaints> {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let text = std::str::from_utf8(text)
            .map_err(|_| Complaints::own(0, "The stylesheet is not in UTF-8"))?;
        let order = text::compile_order(text, parameters);
        // Helpers that are started from now on learn of it by this.
        locked(&self.shared.used).insert(number, order.clone());
        let stylesheet = SaxonStylesheet {
            saxon: Arc::clone(self),
            number,
        };
        for (at, seat) in self.shared.seats.iter().enumerate() {
            let mut seat = locked(seat);
            let Some(helper) = seat.as_mut() else {
                continue;
            };
            match helper.compile(number, &order) {
                Ok(()) => {}
                Err(Trouble::Refused(why)) => {
                    return Err(Complaints::own(0, text::one_line(&why)));
                }
                Err(Trouble::Gone) => {
                    self.lose(&mut seat, at);
                    return Err(gone(self.shared.bounds));
                }
            }
        }
        Ok(stylesheet)
    }

    /// A seat of nobody else, with or without a helper in it.
    fn seat(&self) -> (usize, MutexGuard<'_, Option<Helper>>) {
        let seats = &self.shared.seats;
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        // The first seats are taken first, so that a helper that is warm is used again.
        for (at, seat) in seats.iter().enumerate() {
            match seat.try_lock() {
                Ok(guard) if guard.is_some() => return (at, guard),
                Ok(_) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Poisoned(poisoned)) => return (at, poisoned.into_inner()),
            }
        }
        let at = first % seats.len();
        (at, locked(&seats[at]))
    }

    fn lose(&self, seat: &mut Option<Helper>, at: usize) {
        *seat = None;
        if let Some(lost) = &self.lost {
            // It has gone only where this is being dropped.
            let _ = lost.send(at);
        }
    }
}

impl Drop for Saxon {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        drop(self.lost.take());
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

impl SaxonStylesheet {
    /// The result of a transformation of a text, XML or JSON, as `xsl:output` asks for. JSON is the text of
    /// an element that stands alone, for `json-to-xml(.)`.
    ///
    /// # Errors
    /// What Saxon says of the input or the stylesheet; the input exceeds a limit; the helper has gone.
    pub fn apply(&self, input: &[u8], limits: &Limits) -> Result<Vec<u8>, Complaints> {
        let input = text::input(input, limits)?;
        let (at, mut seat) = self.saxon.seat();
        let Some(helper) = seat.as_mut() else {
            return Err(Complaints::own(
                0,
                "No XSLT engine is ready; one is being started",
            ));
        };
        match helper.transform(self.number, &input) {
            Ok(result) => Ok(result),
            Err(Trouble::Refused(why)) => Err(Complaints::own(0, text::one_line(&why))),
            Err(Trouble::Gone) => {
                self.saxon.lose(&mut seat, at);
                Err(gone(self.saxon.shared.bounds))
            }
        }
    }
}

impl Drop for SaxonStylesheet {
    fn drop(&mut self) {
        let shared = &self.saxon.shared;
        locked(&shared.used).remove(&self.number);
        for (at, seat) in shared.seats.iter().enumerate() {
            let mut seat = locked(seat);
            if let Some(helper) = seat.as_mut()
                && let Err(Trouble::Gone) = helper.forget(self.number)
            {
                self.saxon.lose(&mut seat, at);
            }
        }
    }
}

fn gone(bounds: Bounds) -> Complaints {
    let message = format!(
        "The XSLT engine ended: the transformation crashed it, or took more than {} s or {} MiB",
        bounds.time.as_secs_f64(),
        bounds.memory_bytes >> 20
    );
    Complaints::own(0, message)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
