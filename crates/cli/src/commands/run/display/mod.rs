//! The display during a run: bars on a terminal, otherwise a line per trial.

mod bars;
mod log;
pub mod progress_text;

use std::sync::Arc;

use gatebench_runner::{Interrupt, Observer};

use crate::terminal;

pub fn of(interrupt: Arc<Interrupt>) -> Box<dyn Observer> {
    if terminal::stderr_is_terminal() {
        Box::new(bars::Bars::new(interrupt))
    } else {
        Box::new(log::Log::default())
    }
}
