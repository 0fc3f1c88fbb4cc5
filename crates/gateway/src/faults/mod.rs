//! Deliberate faults of a gateway, used to test the code that detects faults: extra work for each
//! response, a leak, errors that stray into other responses, wrong metrics, and known delays.
//!
//! The released program contains none of them: it is built without the feature `faults` and uses
//! replacements that do nothing.

#[cfg(not(feature = "faults"))]
mod absent;
#[cfg(feature = "faults")]
mod handicap;
#[cfg(feature = "faults")]
mod hold;
#[cfg(feature = "faults")]
mod injector;

#[cfg(not(feature = "faults"))]
pub(crate) use absent::{DelayTurns, Faults, Hold, Injector, RouteDelay, delay_of};
#[cfg(feature = "faults")]
pub use handicap::{Handicap, NotHandicap};
#[cfg(feature = "faults")]
pub(crate) use hold::{DelayTurns, Hold, RouteDelay, delay_of};
#[cfg(feature = "faults")]
pub(crate) use injector::Injector;
#[cfg(feature = "faults")]
pub use injector::{Faults, Leak, NotLeak};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delays {
    pub(crate) request_ns: u64,
    pub(crate) response_ns: u64,
}
