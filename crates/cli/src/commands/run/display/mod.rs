//! What a person sees while a run goes on: bars on a terminal, a line per trial elsewhere. It hears
//! and shows; it never chooses.

mod bars;
mod log;
pub mod progress_text;

use std::sync::Arc;

use gatebench_runner::{Interrupt, Observer};

use crate::terminal;

/// The display for where standard error leads.
pub fn of(interrupt: Arc<Interrupt>) -> Box<dyn Observer> {
    if terminal::stderr_is_terminal() {
        Box::new(bars::Bars::new(interrupt))
    } else {
        Box::new(log::Log::default())
    }
}
