//! Temporary folders for the input and output of tools.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Other users may neither list the folder nor write to it, but gateways that have dropped their
/// privileges can still open their files in it.
const MODE: u32 = 0o711;

/// A folder that is removed when this value is dropped. Its name is random, because anyone may
/// write to its parent.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Result<Self, String> {
        let made = tempfile::Builder::new()
            .prefix("gatebench-bench-")
            .permissions(Permissions::from_mode(MODE))
            .tempdir();
        made.map(Self)
            .map_err(|error| format!("{}: {error}", env::temp_dir().display()))
    }

    pub fn at(&self) -> &Path {
        self.0.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.at().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> Result<PathBuf, String> {
        let path = self.path(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_folder_is_private_and_is_removed_with_its_guard() {
        let (one, other) = (Folder::new().unwrap(), Folder::new().unwrap());
        assert_ne!(one.at(), other.at());
        let written = one.write("file", "text").unwrap();
        assert_eq!(fs::read_to_string(&written).unwrap(), "text");
        let mode = fs::metadata(one.at()).unwrap().permissions().mode();
        assert_eq!(mode & 0o066, 0, "{mode:o}");
        drop(one);
        assert!(!written.exists() && other.at().exists());
    }
}
