//! Files that processes write.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::system::processes::field;

/// Sizes of files in bytes, by device and inode, which do not change when a file is renamed.
pub(crate) type FileSizes = BTreeMap<(u64, u64), u64>;

/// The bits of `flags` that contain the access mode, and their value for reading only (open(2)).
const ACCESS_MODE: u32 = 0o3;
const READ_ONLY: u32 = 0o0;

/// The regular files that a process has open for writing; empty if its descriptors are not visible
/// to this user.
pub(crate) fn of_process(pid: u32) -> FileSizes {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return FileSizes::new();
    };
    let size = |name: &str| {
        let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{name}")).ok()?;
        let flags = u32::from_str_radix(field(&info, "flags:")?, 8).ok()?;
        let file = fs::metadata(format!("/proc/{pid}/fd/{name}")).ok()?;
        // A deleted file is a buffer, not a log.
        let is_log = flags & ACCESS_MODE != READ_ONLY && file.is_file() && file.nlink() > 0;
        is_log.then(|| ((file.dev(), file.ino()), file.len()))
    };
    let names = descriptors.flatten();
    names
        .filter_map(|entry| size(entry.file_name().to_str()?))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn files_open_for_writing_are_found_with_their_sizes() {
        let folder = tempfile::tempdir().unwrap();
        let (log, other) = (folder.path().join("log"), folder.path().join("other"));
        fs::write(&other, b"").unwrap();
        let mut file = fs::File::create(&log).unwrap();
        let _reading = fs::File::open(&other).unwrap();
        let own = std::process::id();
        let before = of_process(own);
        file.write_all(b"twelve bytes").unwrap();
        fs::write(&other, b"read by us, written by no watched process").unwrap();
        let after = of_process(own);
        let key = |path| {
            let file = fs::metadata(path).unwrap();
            (file.dev(), file.ino())
        };
        assert_eq!(after.get(&key(&log)), Some(&12));
        assert!(!after.contains_key(&key(&other)));
        assert_eq!(before.get(&key(&log)), Some(&0));
    }
}
