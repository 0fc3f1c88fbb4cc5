//! From a run directory to findings: estimates, validity, sentences. A pure function of the run; it
//! has no clock and needs no network, so the same directory gives the same findings for ever.

pub mod findings;
pub mod words;

pub use findings::Findings;
