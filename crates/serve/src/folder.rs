//! The runs that clients may read: a single run, or all directories in a folder that contain a
//! manifest and are not hidden.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

const MANIFEST: &str = "manifest.json";

/// A folder of runs, or a single run in it.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// The name of the run that is served, if a run directory was given instead of a folder.
    only: Option<String>,
}

impl Folder {
    /// Fails if the path is not a readable directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        fs::read_dir(path)?;
        let path = path.canonicalize()?;
        let name = path.file_name().and_then(OsStr::to_str);
        match (path.parent(), name) {
            (Some(parent), Some(name)) if is_run(&path) => Ok(Self {
                path: parent.to_owned(),
                only: Some(name.to_owned()),
            }),
            _ => Ok(Self { path, only: None }),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub fn only(&self) -> Option<&str> {
        self.only.as_deref()
    }

    /// Returns the names of the runs. Ignores links, hidden directories and names that are not
    /// UTF-8.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        if let Some(only) = &self.only {
            return Ok(vec![only.clone()]);
        }
        let entries = fs::read_dir(&self.path)?.flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        Ok(names.filter(|name| self.dir(name).is_some()).collect())
    }

    /// Returns the directory of a run; `None` unless [`Folder::names`] returns its name.
    pub(crate) fn dir(&self, name: &str) -> Option<PathBuf> {
        if self.only().is_some_and(|only| only != name) {
            return None;
        }
        let dir = self.place(name)?;
        is_run(&dir).then_some(dir)
    }

    /// Returns the path of a child of the folder, even if nothing with this name exists; `None` if
    /// the name is hidden or is not the name of a direct child.
    pub(crate) fn place(&self, name: &str) -> Option<PathBuf> {
        let mut parts = Path::new(name).components();
        let first = parts.next();
        let is_name = first == Some(Component::Normal(OsStr::new(name))) && parts.next().is_none();
        (is_name && !name.starts_with('.')).then(|| self.path.join(name))
    }
}

/// Reports whether the path is a directory that contains a manifest. Symbolic links are not
/// followed.
fn is_run(dir: &Path) -> bool {
    let is_dir = fs::symlink_metadata(dir).is_ok_and(|it| it.is_dir());
    is_dir && fs::symlink_metadata(dir.join(MANIFEST)).is_ok_and(|it| it.is_file())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn made() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for run in ["runs/a b", "runs/.hidden", "runs/empty/x", "elsewhere"] {
            fs::create_dir_all(root.path().join(run)).unwrap();
        }
        for run in ["runs/a b", "runs/.hidden", "elsewhere"] {
            fs::write(root.path().join(run).join(MANIFEST), "{}").unwrap();
        }
        symlink("../elsewhere", root.path().join("runs/link")).unwrap();
        root
    }

    #[test]
    fn only_directories_with_a_manifest_are_runs() {
        let root = made();
        let folder = Folder::open(&root.path().join("runs")).unwrap();
        assert_eq!(folder.names().unwrap(), ["a b"]);
        assert!(folder.dir("a b").is_some());
        for name in [
            "..",
            ".",
            "",
            "../elsewhere",
            "/",
            "a b/",
            "./a b",
            "link",
            ".hidden",
            "empty",
            "a\0b",
        ] {
            assert_eq!(folder.dir(name), None, "{name:?}");
        }
    }

    #[test]
    fn a_run_directory_is_served_alone() {
        let root = made();
        let folder = Folder::open(&root.path().join("elsewhere")).unwrap();
        assert_eq!(folder.names().unwrap(), ["elsewhere"]);
        assert_eq!(folder.dir("runs"), None);
    }
}
