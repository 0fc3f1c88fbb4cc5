//! Other people's load tools: a phase of a load translated into their words, and their output read.
//!
//! Nothing here runs a load or measures. What a tool cannot do at all is a [`Refusal`]; what it does
//! otherwise, or does not tell, is said in [`Limits`], never left out in silence.
//!
//! ```text
//! Phase + groups ── translate ──> Order (arguments, files) ── somebody runs it ──> text ── parse ──> Figures
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
pub use kind::Peer;
pub use locate::locate;
pub use wrk::UNCHECKED_ANSWERS;

/// The order for one part of a phase, and what it does not say.
///
/// # Errors
/// The tool cannot do what the phase asks for.
pub fn translate(peer: Peer, job: &Job<'_>) -> Result<Order, Refusal> {
    match peer {
        Peer::Wrk => wrk::translate(job),
        Peer::H2load => h2load::translate(job),
        Peer::K6 => k6::translate(job),
    }
}

/// Reads what a tool wrote: [`Peer::result_file`] where it has one, else its standard output.
///
/// # Errors
/// Something that must be there is missing, or is not what it must be.
pub fn parse(peer: Peer, text: &str) -> Result<Figures, ParseError> {
    match peer {
        Peer::Wrk => wrk::parse(text),
        Peer::H2load => h2load::parse(text),
        Peer::K6 => k6::parse(text),
    }
}
