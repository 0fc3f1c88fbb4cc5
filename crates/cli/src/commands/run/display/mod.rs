//! The display during a run: bars on a terminal, otherwise a line per trial. The run does not
//! depend on the display.

mod bars;
mod log;
pub mod progress_text;

use std::sync::Arc;

use gatebench_runner::{Interrupt, Observer};

use crate::terminal;

/// Returns the display for a terminal or a log.
pub fn of(interrupt: Arc<Interrupt>) -> Box<dyn Observer> {
    if terminal::stderr_is_terminal() {
        Box::new(bars::Bars::new(interrupt))
    } else {
        Box::new(log::Log::default())
    }
}
