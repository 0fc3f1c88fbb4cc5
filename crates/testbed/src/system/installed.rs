//! Where `gatebench install` puts programs.

use std::env;
use std::path::PathBuf;

/// The folder of everything that gatebench installs: `gatebench` in XDG_DATA_HOME, which is
/// `~/.local/share` where it is not set.
pub(crate) fn data_folder() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let data =
        absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))?;
    Some(data.join("gatebench"))
}

/// The folder with a link to each program that was installed; it is searched after PATH.
pub(crate) fn bin_folder() -> Option<PathBuf> {
    Some(data_folder()?.join("bin"))
}
