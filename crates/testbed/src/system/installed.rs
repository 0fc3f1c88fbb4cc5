//! Finds the folders of installed programs.

use std::env;
use std::path::PathBuf;

pub(crate) fn path_folders() -> Vec<PathBuf> {
    env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect()
}

/// Returns the folder that gatebench installs programs into: `gatebench` in XDG_DATA_HOME, or in
/// `~/.local/share` if XDG_DATA_HOME is not an absolute path. Debian packages are installed
/// elsewhere.
pub(crate) fn data_folder() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let data =
        absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))?;
    Some(data.join("gatebench"))
}

/// Returns the folder with links to the programs in [`data_folder`]. It is searched after PATH.
pub(crate) fn bin_folder() -> Option<PathBuf> {
    Some(data_folder()?.join("bin"))
}
