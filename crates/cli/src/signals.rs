//! Ctrl-C and its relatives.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::Exit;
use crate::failure::Failure;

/// Calls `on_signal` for each SIGINT, SIGTERM and SIGHUP, on a thread of its own.
pub fn on_signal(on_signal: impl FnMut() + Send + 'static) -> Result<(), Failure> {
    ctrlc::set_handler(on_signal).map_err(|error| {
        let text = format!("environment: signals cannot be handled: {error}; try again");
        Failure::sentence(&text, Exit::Environment)
    })
}

/// A flag that the first signal sets.
pub fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    on_signal(move || flag.store(true, Ordering::Relaxed))?;
    Ok(stop)
}
