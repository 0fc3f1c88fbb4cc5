//! Finds installed load generators.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::kind::Generator;

/// Finds a load generator and returns its absolute path. Searches PATH first, then `external/bin`
/// next to the running program's folder (as in `target/release` of a checkout), then
/// `target/external/bin` in the current folder (where `make k6` puts it), and then `~/go/bin`
/// (where `go install` puts it).
pub fn locate(generator: Generator) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let sibling = std::env::current_exe().ok().and_then(|program| {
        let target = program.parent()?.parent()?;
        Some(target.join("external/bin"))
    });
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join("go/bin"));
    let folders = std::env::split_paths(&path)
        .chain(sibling)
        .chain([PathBuf::from("target/external/bin")])
        .chain(home);
    first_in(folders, generator.as_str())
}

fn first_in(folders: impl Iterator<Item = PathBuf>, name: &str) -> Option<PathBuf> {
    folders
        .map(|folder| folder.join(name))
        .filter(|candidate| is_executable(candidate))
        .find_map(|candidate| candidate.canonicalize().ok())
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_executable_is_found_and_plain_files_are_skipped() {
        let parent = tempfile::tempdir().unwrap();
        let folders = ["a", "b", "c"].map(|name| parent.path().join(name));
        for (folder, mode) in folders.iter().zip([0o644, 0o755, 0o755]) {
            fs::create_dir(folder).unwrap();
            let program = folder.join("tool");
            fs::write(&program, "").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
        }
        let found = first_in(folders.clone().into_iter(), "tool").unwrap();
        assert_eq!(found, folders[1].join("tool").canonicalize().unwrap());
        assert_eq!(first_in(folders.into_iter(), "other"), None);
    }
}
