//! The version and the format of the documents on disk.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// The schema version of the run directories that this program writes. The program reads all
/// versions up to this one.
pub const SCHEMA_VERSION: u32 = 2;

/// The part of a document that all versions have in common.
#[derive(Deserialize)]
struct Versioned {
    schema: u32,
}

/// Parses a JSON document. The version is checked first, so that a newer document is reported as
/// newer and not as damaged.
pub(crate) fn parse<T: DeserializeOwned>(path: &Path, text: &[u8]) -> Result<T, StoreError> {
    let corrupt = |error: serde_json::Error| StoreError::corrupt(path, error.to_string());
    let versioned: Versioned = serde_json::from_slice(text).map_err(corrupt)?;
    if versioned.schema > SCHEMA_VERSION {
        return Err(StoreError::NewerSchema {
            path: path.to_owned(),
            found: versioned.schema,
            known: SCHEMA_VERSION,
        });
    }
    serde_json::from_slice(text).map_err(corrupt)
}

pub(crate) fn render<T: Serialize>(path: &Path, value: &T) -> Result<Vec<u8>, StoreError> {
    let mut json = serde_json::to_vec_pretty(value)
        .map_err(|error| StoreError::io("write", path, error.into()))?;
    json.push(b'\n');
    Ok(json)
}
