//! Initializes the libraries, and limits the memory and time that a thread may spend in them.

#![allow(unsafe_code)]

use std::ffi::c_longlong;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use crate::limits::Limits;
use crate::{ffi, loader};

/// Initializes both libraries once per process, before their first use.
///
/// # Panics
/// Panics if the libraries cannot be set up, for example because the system's libxml2 was built
/// without threads or schemas.
pub(crate) fn start() {
    static STARTED: OnceLock<bool> = OnceLock::new();
    // SAFETY: the lock admits one thread, and blocks the others until it is done.
    let usable = *STARTED.get_or_init(|| unsafe { ffi::shim_start(loader::fetch) } != 0);
    assert!(
        usable,
        "error: environment: libxml2 and libxslt cannot be initialized; libxml2 may lack threads or schemas\n  → install the distribution's libxml2 and libxslt"
    );
}

/// The stack size of a thread that compiles. Compilation recurses as deep as a definition is
/// nested; a shallow definition uses little of the stack.
pub(crate) const STACK_BYTES: usize = 64 << 20;

/// Runs `compile` on a thread with a stack of [`STACK_BYTES`]. Returns `None` if the machine cannot
/// start a thread or `compile` panics.
pub(crate) fn with_stack<T: Send>(compile: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("xml-definitions".into())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, compile)
            .ok()
            .and_then(|thread| thread.join().ok())
    })
}

/// A thread that receives messages over a channel. The channel closes when this value is dropped,
/// which ends the thread.
#[derive(Debug)]
pub(crate) struct Background<T> {
    sender: Option<Sender<T>>,
    thread: Option<JoinHandle<()>>,
}

impl<T> Background<T> {
    pub fn new(sender: Sender<T>, thread: JoinHandle<()>) -> Self {
        Self {
            sender: Some(sender),
            thread: Some(thread),
        }
    }

    pub fn send(&self, message: T) {
        if let Some(sender) = &self.sender {
            // Sending fails only if the thread has ended.
            let _ = sender.send(message);
        }
    }
}

impl<T> Drop for Background<T> {
    fn drop(&mut self) {
        drop(self.sender.take());
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, there is nothing left to do.
            let _ = thread.join();
        }
    }
}

/// The limit that ended a thread's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    Memory,
    /// The evaluation was nested too deeply for the thread's stack.
    Stack,
    Time,
}

impl Spent {
    /// Returns a description of the limit for the sender of the message.
    pub(crate) fn words(self, limits: &Limits) -> String {
        match self {
            Self::Memory => format!(
                "Processing this message needs more than {} bytes of memory",
                limits.held_bytes
            ),
            Self::Stack => "The evaluation of this message is nested too deeply".to_owned(),
            Self::Time => format!(
                "Processing this message takes more than {} ms of CPU time",
                limits.time_ms.unwrap_or_default()
            ),
        }
    }
}

/// Limits the libraries' memory on this thread, and the thread's CPU time, while the budget exists.
/// Budgets do not nest: an inner one would end the outer one.
///
/// With a time limit, a timer interrupts this thread with a real-time signal after every 10 ms of
/// CPU time. Interrupted system calls are restarted, except for calls that the kernel never
/// restarts, such as `epoll_wait`, which may fail with `EINTR`. The timer stops once the thread
/// works without a budget, and is deleted when the thread ends.
pub struct Budget {
    /// Ties the budget to its thread.
    _thread: PhantomData<*mut ()>,
}

impl Budget {
    pub fn begin(limits: &Limits) -> Self {
        start();
        // Ignore the time limit under valgrind, where everything takes 30 times as long.
        let time_ms = limits.time_ms.filter(|_| !cfg!(feature = "plain-memory"));
        let time_ns = time_ms.map_or(0, |ms| c_longlong::from(ms) * 1_000_000);
        // SAFETY: the call only sets counters of this thread.
        unsafe { ffi::shim_budget_begin(limits.held_bytes, time_ns) };
        Self {
            _thread: PhantomData,
        }
    }

    /// Stops counting, and returns the limit that was reached, if any.
    pub fn end(self) -> Option<Spent> {
        let ended_by = end();
        std::mem::forget(self);
        match ended_by {
            0 => None,
            1 => Some(Spent::Memory),
            2 => Some(Spent::Stack),
            _ => Some(Spent::Time),
        }
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        end();
    }
}

pub(crate) fn in_background() {
    // SAFETY: the call only sets the priority of this thread.
    unsafe { ffi::shim_in_background() }
}

fn end() -> std::ffi::c_int {
    // SAFETY: the call only reads and sets counters of this thread.
    unsafe { ffi::shim_budget_end() }
}
