//! Starts the libraries, and limits the memory and time that a thread may use in them.

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
/// The system's libxml2 was built without threads or schemas; no distribution builds it this way.
pub(crate) fn start() {
    static STARTED: OnceLock<bool> = OnceLock::new();
    // SAFETY: the lock admits one thread, and blocks the others until it is done.
    let usable = *STARTED.get_or_init(|| unsafe { ffi::shim_start(loader::fetch) } != 0);
    assert!(
        usable,
        "error: environment: libxml2 was built without threads or schemas\n  → install the distribution's libxml2"
    );
}

/// The stack size of a thread that compiles. Compilation recurses into the nesting of a definition,
/// which may be deep; a shallow definition uses little of the stack.
pub(crate) const STACK_BYTES: usize = 64 << 20;

/// Runs `compile` on a thread that has a stack of [`STACK_BYTES`]; none if the machine cannot start
/// a thread.
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

/// A thread with a channel. The thread ends when this value is dropped, because the channel closes.
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

/// The limit that ended the work on a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// More memory was held than allowed.
    Memory,
    /// The evaluation was nested too deeply for the thread's stack.
    Stack,
    /// The work took more CPU time than allowed.
    Time,
}

impl Spent {
    /// The description for the sender of the message.
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

/// Limits the memory of the libraries on this thread, and the CPU time, while it exists. Budgets do
/// not nest: the inner one would end the count of the outer one.
///
/// With a time limit, a timer interrupts this thread every 10 ms of its CPU time with a real-time
/// signal that restarts system calls; those that are never restarted, such as `epoll_wait`, may
/// fail with `EINTR`. The timer stops once the thread works without a budget, and is deleted when
/// the thread ends.
pub struct Budget {
    /// Ties the budget to its thread.
    _thread: PhantomData<*mut ()>,
}

impl Budget {
    /// Starts counting.
    pub fn begin(limits: &Limits) -> Self {
        start();
        // Under valgrind, everything takes 30 times as long.
        let time_ms = limits.time_ms.filter(|_| !cfg!(feature = "plain-memory"));
        let time_ns = time_ms.map_or(0, |ms| c_longlong::from(ms) * 1_000_000);
        // SAFETY: sets counters of this thread.
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

/// Lowers the priority of this thread below all others.
pub(crate) fn in_background() {
    // SAFETY: sets the priority of this thread.
    unsafe { ffi::shim_in_background() }
}

fn end() -> std::ffi::c_int {
    // SAFETY: reads and sets counters of this thread.
    unsafe { ffi::shim_budget_end() }
}
