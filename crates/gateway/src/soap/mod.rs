//! The SOAP/XML policies: chains that process messages, stylesheets that transform XML responses,
//! and the lines to the helpers that run XSLT 2.0 and 3.0.
//!
//! No other module uses the crate `gatebench-xml` directly. In a build without the feature `soap`,
//! `absent.rs` replaces this module.

mod chains;
mod helpers;
mod line;
mod stylesheets;

use std::io;

pub(crate) use chains::{Passage, Soap, Surroundings, take_over};
pub(crate) use gatebench_xml::saxon::{Made, Order, Saxon};
pub(crate) use gatebench_xml::soap::{Fault, Passed, Paused, Progress, Refresher};
pub(crate) use line::{Asked, Line, Parked};
pub(crate) use stylesheets::Stylesheets;

/// Returns the names and versions of the libraries that process SOAP and XML; a build without the
/// feature `soap` has none.
pub fn library_versions() -> Vec<(&'static str, String)> {
    gatebench_xml::library_versions().into()
}

/// Starts the thread that recompiles the definitions of chains when they expire; returns `None` if
/// there are no chains.
pub(crate) fn refresher<'s>(
    chains: impl Iterator<Item = &'s Soap>,
) -> io::Result<Option<Refresher>> {
    let policies: Vec<_> = chains.flat_map(Soap::policies).cloned().collect();
    match policies.is_empty() {
        true => Ok(None),
        false => Refresher::start(&policies).map(Some),
    }
}
