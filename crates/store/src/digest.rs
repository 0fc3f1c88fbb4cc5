//! A file by its path and the digest of its bytes.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A file and the digest of its contents.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileDigest {
    /// Relative path.
    pub path: String,
    /// SHA-256 in lower-case hex.
    pub sha256: String,
}

impl FileDigest {
    /// The digest of `bytes`, to be stored under `path`.
    pub fn of(path: impl Into<String>, bytes: &[u8]) -> Self {
        let sha256 = Sha256::digest(bytes)
            .iter()
            .fold(String::new(), |mut hex, byte| {
                // Writing to a String cannot fail.
                let _ = write!(hex, "{byte:02x}");
                hex
            });
        Self {
            path: path.into(),
            sha256,
        }
    }
}
