//! Where `gatebench install` puts programs, and how a user is told to install one.

use std::env;
use std::path::PathBuf;

use crate::folder::Folder;

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

impl Folder {
    /// How it is installed, as a sentence without its end.
    pub fn install_hint(&self) -> String {
        let (name, install) = (&self.spec.gateway, &self.spec.install);
        let apt =
            (!install.apt.is_empty()).then(|| format!("apt-get install {}", install.apt.join(" ")));
        if install.pypi.is_some() || install.maven.is_some() {
            return format!("gatebench install {name}");
        }
        match (apt, &install.other) {
            (Some(apt), None) => format!("gatebench install {name}, or install it yourself: {apt}"),
            (Some(apt), Some(other)) => {
                format!("gatebench install {name}, or install it yourself: {apt}; or {other}")
            }
            (None, Some(other)) => other.clone(),
            (None, None) => format!("install {name} and put it on PATH"),
        }
    }
}
