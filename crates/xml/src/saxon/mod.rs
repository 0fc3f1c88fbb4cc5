//! XSLT 2.0 and 3.0 by SaxonC-HE, in processes of its own: it may crash, loop or eat memory there, which
//! costs one message and a helper that is started anew.
//!
//! Who has a loop opens lines to the helpers, over which many messages are ordered and none is waited for:
//! [`Saxon::engine`] says where, and an [`Order`] what. Who has none waits, with [`Order::apply`].

mod engine;
mod helper;
mod keeper;
mod seats;
mod text;
mod wire;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use self::engine::Folder;
use self::helper::{Helper, Trouble};
use self::keeper::Chore;
use self::seats::Seat;
use crate::errors::Complaints;
use crate::limits::Limits;

pub use self::engine::Engine;
pub use self::wire::{Made, Unmade, next_answer};

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

impl Bounds {
    /// How long a helper may say nothing while it owes an answer: longer than the processor time it may
    /// take, which others want too.
    fn patience(&self) -> Duration {
        5 * self.time
    }
}

/// The helpers. They end when this is dropped.
#[derive(Debug)]
pub struct Saxon {
    shared: Arc<Shared>,
    /// Tells the keeper what there is to do; closed to end it.
    chores: Option<Sender<Chore>>,
    keeper: Option<JoinHandle<()>>,
}

/// What the keeper shares with those who transform.
#[derive(Debug)]
struct Shared {
    /// The Python package.
    package: PathBuf,
    folder: Folder,
    bounds: Bounds,
    seats: Vec<Seat>,
    /// The stylesheets in use, by their numbers, as orders to compile them.
    used: Mutex<BTreeMap<u64, Vec<u8>>>,
    is_over: AtomicBool,
}

/// A stylesheet that every helper has compiled.
#[derive(Debug)]
pub struct SaxonStylesheet {
    saxon: Arc<Saxon>,
    number: u64,
}

/// A transformation to be done.
#[derive(Debug)]
pub struct Order {
    saxon: Arc<Saxon>,
    number: u64,
    bytes: Vec<u8>,
}

impl Saxon {
    /// Starts `count` helpers with the Python package in `package`.
    ///
    /// # Errors
    /// Python or the package cannot be loaded, or there is no place for sockets.
    pub fn start(package: PathBuf, bounds: Bounds, count: usize) -> Result<Arc<Self>, String> {
        let folder = Folder::make()
            .map_err(|error| format!("there is no folder for the helpers' sockets: {error}"))?;
        let seats = (0..count.max(1))
            .map(|_| Helper::start(&package, &folder, &bounds).map(Seat::new))
            .collect::<Result<_, _>>()?;
        let shared = Arc::new(Shared {
            package,
            folder,
            bounds,
            seats,
            used: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let (chores, keeper) = keeper::start(&shared)
            .map_err(|error| format!("the thread that keeps helpers cannot be started: {error}"))?;
        Ok(Arc::new(Self {
            shared,
            chores: Some(chores),
            keeper: Some(keeper),
        }))
    }

    /// Compiles a stylesheet on every helper, one after the other.
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
        let order = wire::order(
            b'c',
            0,
            number,
            text::compile_order(text, parameters).as_bytes(),
        )?;
        // Helpers that are started from now on learn of it by this.
        locked(&self.shared.used).insert(number, order.clone());
        let stylesheet = SaxonStylesheet {
            saxon: Arc::clone(self),
            number,
        };
        for seat in &self.shared.seats {
            if let Some(made) = self.ask(seat, 0, &order) {
                made?;
            }
        }
        Ok(stylesheet)
    }

    /// A helper for orders: that of the seat `first`, unless it compiles or has gone, when there is another.
    pub fn engine(&self, first: usize) -> Option<Arc<Engine>> {
        seats::from(&self.shared.seats, first)
            .find_map(Seat::free_engine)
            .or_else(|| seats::from(&self.shared.seats, first).find_map(Seat::engine))
    }

    /// Tells that a helper has ended, or does not answer in time; it is replaced.
    pub fn lost(&self, engine: &Engine) {
        let mut seats = self.shared.seats.iter();
        if let Some(at) = seats.position(|seat| seat.lose(engine)) {
            self.tell(Chore::Replace(at));
        }
    }

    /// How long a helper may say nothing while it owes an answer.
    pub fn patience(&self) -> Duration {
        self.shared.bounds.patience()
    }

    /// What is said to the one whose message has ended a helper.
    pub fn ended(&self) -> Unmade {
        let bounds = self.shared.bounds;
        let message = format!(
            "The XSLT engine ended: the transformation crashed it, or took more than {} s or {} MiB",
            bounds.time.as_secs_f64(),
            bounds.memory_bytes >> 20
        );
        Unmade::Gone(Complaints::own(0, message))
    }

    /// What is said where there is no helper.
    pub fn none_ready() -> Unmade {
        Unmade::Gone(Complaints::own(
            0,
            "No XSLT engine is ready; one is being started",
        ))
    }

    /// Waits for what a seat's helper makes of an order of that number; nothing where there is none in it.
    fn ask(&self, seat: &Seat, number: u64, order: &[u8]) -> Option<Made> {
        let mut helper = locked(&seat.helper);
        let asked = helper.as_mut()?;
        match asked.ask(order) {
            Ok(made) => Some(Ok(made)),
            Err(Trouble::Refused(why)) => Some(Err(why.into())),
            Err(Trouble::Gone) => {
                // What it was at for a line is no fault of this order.
                let at_hand = asked.engine.at_hand();
                let is_ours = at_hand.is_none_or(|at_hand| at_hand == number);
                self.lost(&asked.engine);
                *helper = None;
                is_ours.then(|| Err(self.ended()))
            }
        }
    }

    fn tell(&self, chore: Chore) {
        if let Some(chores) = &self.chores {
            // It has gone only where this is being dropped.
            let _ = chores.send(chore);
        }
    }
}

impl Drop for Saxon {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        drop(self.chores.take());
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

impl SaxonStylesheet {
    /// The transformation of a text, XML or JSON. JSON is the text of an element that stands alone, for
    /// `json-to-xml(.)`. The result is what `xsl:output` asks for.
    ///
    /// # Errors
    /// The input is no document, or exceeds a limit.
    pub fn order(&self, input: &[u8], limits: &Limits) -> Result<Order, Complaints> {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let input = text::input(input, limits)?;
        Ok(Order {
            saxon: Arc::clone(&self.saxon),
            number,
            bytes: wire::order(b't', number, self.number, &input)?,
        })
    }

    /// Transforms a text, and waits for the result.
    ///
    /// # Errors
    /// As [`order`](Self::order) and [`Order::apply`].
    pub fn apply(&self, input: &[u8], limits: &Limits) -> Made {
        self.order(input, limits)?.apply()
    }
}

impl Order {
    /// Waits for the result.
    ///
    /// # Errors
    /// What Saxon says of the input or the stylesheet; the helper has gone.
    pub fn apply(&self) -> Made {
        let seats = &self.saxon.shared.seats;
        let free = seats.iter().find(|seat| seat.free_engine().is_some());
        let made = self
            .saxon
            .ask(free.unwrap_or(&seats[0]), self.number, &self.bytes);
        made.unwrap_or_else(|| Err(Saxon::none_ready()))
    }

    /// Whose order it is.
    pub fn saxon(&self) -> &Arc<Saxon> {
        &self.saxon
    }

    /// By which [`Engine::at_hand`] knows it; no other has it.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// What is written to a line.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for SaxonStylesheet {
    fn drop(&mut self) {
        self.saxon.tell(Chore::Forget(self.number));
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
