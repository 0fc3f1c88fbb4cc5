//! A temporary folder for what a tool is given, and for what it writes.

use std::fs;
use std::path::PathBuf;

/// A folder that is removed with its guard.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Result<Self, String> {
        let folder = format!("gatebench-accuracy-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self(folder))
    }

    /// Where a file of this name is, or will be.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.path(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left in the temporary folder does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}
