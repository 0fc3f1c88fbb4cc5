//! Finds the installed programs of a gateway.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::gateway::folder::{Folder, OWN_NAME};
use crate::process::Launcher;
use crate::system::installed;

/// Folders that a user's PATH often lacks, although daemons are often installed there.
const EXTRA_FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/sbin"];

/// The folders that may contain programs, relative to a prefix or to an unpacked package.
const IN_PREFIX: [&str; 6] = ["bin", "sbin", "", "usr/local/bin", "usr/bin", "usr/sbin"];

/// Returns the installed programs that `binary.names` lists, in the order of the list.
pub(super) fn on_path(folder: &Folder, launcher: &Launcher) -> Vec<PathBuf> {
    let mut folders = installed::path_folders();
    folders.extend(EXTRA_FOLDERS.map(PathBuf::from));
    folders.extend(installed::bin_folder());
    let names = folder.spec.binary.names.iter();
    programs(names.flat_map(|name| match name.as_str() {
        OWN_NAME => vec![launcher.program.clone()],
        name if name.contains('/') => vec![folder.file_path(Path::new(name))],
        name => folders.iter().map(|folder| folder.join(name)).collect(),
    }))
}

/// Returns the programs of every version of the gateway that gatebench has installed in its data
/// folder.
pub(super) fn installed_versions(folder: &Folder) -> Vec<PathBuf> {
    let gateways = installed::data_folder().map(|data| data.join("gateways"));
    let entries = gateways.and_then(|gateways| fs::read_dir(gateways).ok());
    let prefix = format!("{}-", folder.spec.gateway);
    let mut homes: Vec<PathBuf> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let version = name.to_str().and_then(|name| name.strip_prefix(&prefix));
            // Without a digit here, the folder belongs to a gateway whose name begins with this
            // one's.
            version.is_some_and(|it| it.starts_with(|first: char| first.is_ascii_digit()))
        })
        .map(|entry| entry.path())
        .collect();
    homes.sort();
    let package = folder.spec.install.pypi.as_ref();
    let in_home = |home: &PathBuf| {
        let packaged = package.map(|package| home.join(&package.program));
        programs(packaged).into_iter().chain(below(folder, home))
    };
    homes.iter().flat_map(in_home).collect()
}

/// Returns the program at `place` or, if `place` is a prefix, the programs below it.
pub(super) fn below(folder: &Folder, place: &Path) -> Vec<PathBuf> {
    let names = || {
        let names = folder.spec.binary.names.iter();
        names.filter_map(|name| Path::new(name).file_name())
    };
    let in_prefix = IN_PREFIX
        .iter()
        .flat_map(|within| names().map(move |name| place.join(within).join(name)));
    programs(std::iter::once(place.to_owned()).chain(in_prefix))
}

/// Returns the executable candidates without duplicates, with symbolic links resolved.
fn programs(candidates: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for candidate in candidates.into_iter().filter(|path| is_executable(path)) {
        let path = candidate.canonicalize().ok();
        found.extend(path.filter(|path| !found.contains(path)));
    }
    found
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
