//! XSLT 2.0 and 3.0 by SaxonC-HE, in separate processes called helpers. If a helper crashes, loops
//! or uses too much memory, one message fails and a new helper is started.
//!
//! A caller with an event loop connects to the helpers and sends many orders without waiting:
//! [`Saxon::engine`] returns the address, and an [`Order`] contains the bytes. A caller without an
//! event loop waits with [`Order::apply`].

mod engine;
mod helper;
mod maintenance;
mod slots;
mod text;
mod wire;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use self::engine::Folder;
use self::helper::Helper;
use self::maintenance::Chore;
use self::slots::Slot;
use crate::errors::Complaints;
use crate::limits::Limits;
use crate::process::Background;

pub(crate) use self::text::json_escaped;

pub use self::engine::Engine;
pub use self::wire::{Made, Unmade, next_response};

/// The limits of one transformation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The limit on the CPU time of an order. The helper may take five times as long in wall-clock
    /// time.
    pub time: Duration,
    /// The limit on a helper's private memory.
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

impl Bounds {
    /// Returns the maximum time without output from a helper that is working on an order. It is
    /// longer than the allowed CPU time, because other processes also need the processor.
    fn patience(&self) -> Duration {
        5 * self.time
    }
}

/// The helpers. They end when this value is dropped.
#[derive(Debug)]
pub struct Saxon {
    shared: Arc<Shared>,
    maintenance: Background<Chore>,
}

/// The state that the maintenance thread shares with the callers.
#[derive(Debug)]
struct Shared {
    /// The folder of the Python package.
    package: PathBuf,
    folder: Folder,
    bounds: Bounds,
    slots: Vec<Slot>,
    /// The orders to compile the stylesheets in use, by the stylesheets' numbers.
    used: Mutex<BTreeMap<u64, Vec<u8>>>,
    is_over: AtomicBool,
}

/// A stylesheet that every helper has compiled.
#[derive(Debug)]
pub struct SaxonStylesheet {
    saxon: Arc<Saxon>,
    number: u64,
}

/// A request for a transformation, to be sent to a helper.
#[derive(Debug)]
pub struct Order {
    /// The helpers that the order is for.
    pub saxon: Arc<Saxon>,
    /// The unique number of the order, which [`Engine::at_hand`] reports.
    pub number: u64,
    pub bytes: Vec<u8>,
}

/// The reason why there are no helpers.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the folder for the helpers' sockets cannot be created: {0}")]
    Folder(io::Error),
    #[error("a helper's socket cannot be created: {0}")]
    Socket(io::Error),
    #[error("python3 cannot be started: {0}")]
    Python(io::Error),
    /// The package is not in this folder or is defective.
    #[error("python3 cannot load saxonche from {}", .0.display())]
    Package(PathBuf),
    #[error("the thread that maintains the helpers cannot be started: {0}")]
    Thread(io::Error),
}

impl Saxon {
    /// Starts `count` helpers with the Python package in `package`.
    ///
    /// # Errors
    /// Fails if Python or the package cannot be loaded, or if sockets or the maintenance thread
    /// cannot be created.
    pub fn start(package: PathBuf, bounds: Bounds, count: usize) -> Result<Arc<Self>, StartError> {
        let folder = Folder::make().map_err(StartError::Folder)?;
        let slots = (0..count.max(1))
            .map(|_| Helper::start(&package, &folder, &bounds).map(Slot::new))
            .collect::<Result<_, _>>()?;
        let shared = Arc::new(Shared {
            package,
            folder,
            bounds,
            slots,
            used: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let maintenance = maintenance::start(&shared).map_err(StartError::Thread)?;
        Ok(Arc::new(Self {
            shared,
            maintenance,
        }))
    }

    /// Compiles a stylesheet on all helpers, one after another.
    ///
    /// # Errors
    /// Returns Saxon's error message about the stylesheet. Also fails if the stylesheet is not in
    /// UTF-8 or a helper ends.
    pub fn compile(
        self: &Arc<Self>,
        text: &[u8],
        parameters: &[(String, String)],
    ) -> Result<SaxonStylesheet, Complaints> {
        let number = next_number();
        let text = std::str::from_utf8(text)
            .map_err(|_| Complaints::own(0, "The stylesheet is not in UTF-8"))?;
        let order = text::compile_order(text, parameters);
        let order = wire::order(b'c', 0, number, order.as_bytes())?;
        // Helpers that are started later also compile it.
        locked(&self.shared.used).insert(number, order.clone());
        let stylesheet = SaxonStylesheet {
            saxon: Arc::clone(self),
            number,
        };
        for slot in &self.shared.slots {
            if let Some(made) = self.ask(slot, 0, &order) {
                made?;
            }
        }
        Ok(stylesheet)
    }

    /// Returns a helper for orders: the one in slot `first`, or another one if that helper is
    /// compiling or has ended. Returns `None` if all helpers have ended.
    pub fn engine(&self, first: usize) -> Option<Arc<Engine>> {
        slots::from(&self.shared.slots, first)
            .find_map(Slot::free_engine)
            .or_else(|| slots::from(&self.shared.slots, first).find_map(Slot::engine))
    }

    /// Schedules the replacement of a helper that has ended or does not respond in time.
    pub fn lost(&self, engine: &Engine) {
        let mut slots = self.shared.slots.iter();
        if let Some(at) = slots.position(|slot| slot.lose(engine)) {
            self.maintenance.send(Chore::Replace(at));
        }
    }

    /// Returns the maximum time without output from a helper that is working on an order.
    pub fn patience(&self) -> Duration {
        self.shared.bounds.patience()
    }

    /// Returns the result for a message whose transformation has ended a helper.
    pub fn ended(&self) -> Unmade {
        let bounds = self.shared.bounds;
        let message = format!(
            "The XSLT engine ended: the transformation crashed it, or needed more than {} s of CPU \
             time or {} MiB of memory",
            bounds.time.as_secs_f64(),
            bounds.memory_bytes >> 20
        );
        Unmade::Gone(Complaints::own(0, message))
    }

    pub fn none_ready() -> Unmade {
        let message = "No XSLT engine is ready; one is being started";
        Unmade::Gone(Complaints::own(0, message))
    }

    /// Sends an order with this number to a slot's helper and waits for the result. Returns `None`
    /// if the slot is empty, or if the helper fails because of another connection's order.
    fn ask(&self, slot: &Slot, number: u64, order: &[u8]) -> Option<Made> {
        let mut helper = locked(&slot.helper);
        let asked = helper.as_mut()?;
        let made = asked.ask(order);
        if made.is_some() {
            return made;
        }
        // If the helper was working on an order from another connection, this order did not cause
        // the failure.
        let at_hand = asked.engine.at_hand();
        let is_ours = at_hand.is_none_or(|at_hand| at_hand == number);
        self.lost(&asked.engine);
        *helper = None;
        is_ours.then(|| Err(self.ended()))
    }
}

impl Drop for Saxon {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
    }
}

impl SaxonStylesheet {
    /// Returns the order to transform an XML or JSON document. JSON becomes the text of a single
    /// element, for `json-to-xml(.)`. `xsl:output` determines the form of the result.
    ///
    /// # Errors
    /// Fails if the input exceeds a limit or has a document type. Also fails if the input is
    /// neither UTF-8 nor well-formed XML in another encoding.
    pub fn order(&self, input: &[u8], limits: &Limits) -> Result<Order, Complaints> {
        let number = next_number();
        let input = text::input(input, limits)?;
        Ok(Order {
            saxon: Arc::clone(&self.saxon),
            number,
            bytes: wire::order(b't', number, self.number, &input)?,
        })
    }

    /// Transforms a document and waits for the result.
    ///
    /// # Errors
    /// See [`order`](Self::order) and [`Order::apply`].
    pub fn apply(&self, input: &[u8], limits: &Limits) -> Made {
        self.order(input, limits)?.apply()
    }
}

impl Order {
    /// Sends the order to a helper and waits for the result.
    ///
    /// # Errors
    /// Returns Saxon's message if it rejects the input or the stylesheet. Also fails if the helper
    /// ends or none is ready.
    pub fn apply(&self) -> Made {
        let slots = &self.saxon.shared.slots;
        let free = slots.iter().find(|slot| slot.free_engine().is_some());
        let slot = free.unwrap_or(&slots[0]);
        let made = self.saxon.ask(slot, self.number, &self.bytes);
        made.unwrap_or_else(|| Err(Saxon::none_ready()))
    }
}

impl Drop for SaxonStylesheet {
    fn drop(&mut self) {
        self.saxon.maintenance.send(Chore::Forget(self.number));
    }
}

/// Returns a number, from 1, that is unique in this process.
fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
