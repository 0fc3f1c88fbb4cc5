//! Provides the documents that a definition imports, while the definition is compiled.

use std::collections::HashMap;
use std::io;
use std::rc::Rc;

use crate::document::Document;
use crate::errors::{Complaint, Complaints};
use crate::limits::Limits;
use crate::loader;
use crate::precheck::REFUSED;

/// A source of definitions by location, which is a path from the configuration or the address in an
/// import.
pub trait Files {
    /// # Errors
    /// Returns the reason why the bytes cannot be read.
    fn read(&self, location: &str) -> Result<Vec<u8>, Unreadable>;
}

/// The reason why there are no bytes at a location.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("{0} is not among the included definitions")]
    NotIncluded(String),
    /// The location is an address on the network.
    #[error(
        "{0} is not among the includes, and nothing is fetched over the network; add it to the includes"
    )]
    NotFetched(String),
    #[error("{location} cannot be read: {error}; check the path")]
    Io { location: String, error: io::Error },
}

/// A source that contains no definitions.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, location: &str) -> Result<Vec<u8>, Unreadable> {
        Err(Unreadable::NotIncluded(location.to_owned()))
    }
}

impl Files for HashMap<String, String> {
    fn read(&self, location: &str) -> Result<Vec<u8>, Unreadable> {
        self.get(location)
            .map(|text| text.clone().into_bytes())
            .ok_or_else(|| Unreadable::NotIncluded(location.to_owned()))
    }
}

/// Runs `compile` with the imports that `files` provides.
///
/// # Errors
/// Fails if an import exceeds a limit on definitions that the libraries' own parsers do not
/// enforce.
pub(crate) fn lend<T>(files: &dyn Files, compile: impl FnOnce() -> T) -> Result<T, Complaints> {
    loader::lend(Rc::new(|location: &str| read(files, location)), compile)
}

/// The error is the limit that the import exceeds, or `None` if there is nothing to read.
fn read(files: &dyn Files, location: &str) -> Result<Vec<u8>, Option<Complaints>> {
    let bytes = files.read(location).map_err(|_| None)?;
    match refusal(location, &bytes) {
        None => Ok(bytes),
        why => Err(why),
    }
}

/// Returns the limit that an import exceeds, if any. The library itself reports other mistakes in
/// the import.
fn refusal(location: &str, bytes: &[u8]) -> Option<Complaints> {
    let read = Document::parse_definition(bytes, &Limits::DEFINITIONS, Some(location));
    let mut why = read.err()?;
    why.0.retain(|complaint| complaint.code == REFUSED);
    if why.0.is_empty() {
        return None;
    }
    let place = Complaint::own(0, format!("{location} cannot be imported"));
    why.0.insert(0, place);
    Some(why)
}
