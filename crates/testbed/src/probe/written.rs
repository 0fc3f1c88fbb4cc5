//! Files that processes write: a log that must not be written is seen by its growth.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::system::processes::field;

/// Sizes in bytes of files by device and inode, which stay when a file is renamed.
pub type FileSizes = BTreeMap<(u64, u64), u64>;

/// The bits of `flags` that say how a file is open, and the value for reading alone (open(2)).
const ACCESS_MODE: u32 = 0o3;
const READ_ONLY: u32 = 0o0;

/// The regular files that a process has open for writing; none where its descriptors may not be seen.
pub(crate) fn of_process(pid: u32) -> FileSizes {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return FileSizes::new();
    };
    let size = |name: &str| {
        let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{name}")).ok()?;
        let flags = u32::from_str_radix(field(&info, "flags:")?, 8).ok()?;
        let file = fs::metadata(format!("/proc/{pid}/fd/{name}")).ok()?;
        // What has no name any more is a buffer, not a log.
        let is_log = flags & ACCESS_MODE != READ_ONLY && file.is_file() && file.nlink() > 0;
        is_log.then(|| ((file.dev(), file.ino()), file.len()))
    };
    let names = descriptors.flatten();
    names
        .filter_map(|entry| size(entry.file_name().to_str()?))
        .collect()
}

/// By how much the files have grown; one that was not there before counts from nothing.
pub fn grown_bytes(before: &FileSizes, after: &FileSizes) -> u64 {
    let grown = |(file, size): (&(u64, u64), &u64)| {
        size.saturating_sub(before.get(file).copied().unwrap_or(0))
    };
    after.iter().map(grown).sum()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;

    use super::*;

    #[test]
    fn growth_is_that_of_files_open_for_writing() {
        let folder = std::env::temp_dir().join(format!("gatebench-written-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (log, other) = (folder.join("log"), folder.join("other"));
        fs::write(&other, b"").unwrap();
        let mut file = fs::File::create(&log).unwrap();
        let _reading = fs::File::open(&other).unwrap();
        let own = std::process::id();
        let before = of_process(own);
        file.write_all(b"twelve bytes").unwrap();
        fs::write(&other, b"read by us, written by nobody we watch").unwrap();
        let after = of_process(own);
        let key = |path| {
            let file = fs::metadata(path).unwrap();
            (file.dev(), file.ino())
        };
        assert_eq!(after.get(&key(&log)), Some(&12));
        assert!(!after.contains_key(&key(&other)));
        let only = |sizes: &FileSizes| -> FileSizes {
            let own = sizes.iter().filter(|(file, _)| **file == key(&log));
            own.map(|(file, size)| (*file, *size)).collect()
        };
        assert_eq!(grown_bytes(&only(&before), &only(&after)), 12);
        assert_eq!(grown_bytes(&FileSizes::new(), &only(&after)), 12);
        fs::remove_dir_all(&folder).unwrap();
    }
}
