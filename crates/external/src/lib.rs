//! Translates a phase of a load into the arguments of an external load generator, and parses the
//! generator's output.
//!
//! This crate runs no load and measures nothing. It refuses a job that a generator cannot do
//! ([`Refusal`]). [`Limits`] lists each difference from the job, and each figure that the generator
//! does not print.
//!
//! ```text
//! Job ── translate ──> Order (arguments, files) ── the caller runs it ──> text
//! text ── parse ──> Figures
//! ```

mod figures;
mod h2load;
mod job;
mod k6;
mod kind;
mod locate;
mod text;
mod wrk;

pub use figures::{Figures, ParseError, Passes};
pub use job::{Job, Limits, Order, OrderFile, Part, Refusal};
pub use k6::{Execution, ScriptError, export, has_own_load, read_execution};
pub use kind::{Generator, UnknownGenerator};
pub use locate::locate;
pub use wrk::UNCHECKED_RESPONSES;

/// Returns the order for one part of a phase, with its differences from the phase.
///
/// # Errors
/// Fails if the generator cannot do what the job requires.
pub fn translate(generator: Generator, job: &Job<'_>) -> Result<Order, Refusal> {
    match generator {
        Generator::Wrk => wrk::translate(job),
        Generator::H2load => h2load::translate(job),
        Generator::K6 => k6::translate(job),
    }
}

/// Parses the output of a generator: the file [`Generator::result_file`] if it has one, otherwise
/// its standard output.
///
/// # Errors
/// Fails if a required figure is missing or has an unknown format.
pub fn parse(generator: Generator, text: &str) -> Result<Figures, ParseError> {
    match generator {
        Generator::Wrk => wrk::parse(text),
        Generator::H2load => h2load::parse(text),
        Generator::K6 => k6::parse(text),
    }
}
