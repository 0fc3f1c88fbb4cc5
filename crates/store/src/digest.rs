//! The digest of a file.

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
    /// Computes the digest of `bytes`, the contents of the file at `path`.
    pub fn of(path: impl Into<String>, bytes: &[u8]) -> Self {
        let digest = Sha256::digest(bytes);
        Self {
            path: path.into(),
            sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}
