//! Files with keys and passwords, which no other user may read.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

const PRIVATE: u32 = 0o600;

/// The end of the first line of a certificate's key in PEM (RFC 7468 sections 10 and 11).
const PRIVATE_KEY: &str = "PRIVATE KEY-----";

/// Writes a file that only this user may read, even if it existed before and was readable by
/// others.
///
/// # Errors
/// The system's error.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = create_private(path)?;
    file.write_all(bytes)
}

/// Creates an empty file that only this user may read.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    let file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(PRIVATE)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(PRIVATE))?;
    Ok(file)
}

/// Writes a file of a gateway. Only this user may read it if it contains one of these secrets.
/// Other files stay readable, because workers without privileges may need them.
pub(crate) fn write_rendered(
    path: &Path,
    text: &str,
    secrets: &BTreeSet<String>,
) -> io::Result<()> {
    let is_secret = || secrets.iter().any(|secret| text.contains(secret.as_str()));
    if text.contains(PRIVATE_KEY) || is_secret() {
        write_private(path, text.as_bytes())
    } else {
        fs::write(path, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_a_secret_is_for_this_user_only() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        let secrets = BTreeSet::from(["SEKRET".to_owned()]);
        let mode = |text: &str| {
            write_rendered(&path, text, &secrets).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            fs::metadata(&path).unwrap().permissions().mode() & 0o077
        };
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert_eq!(mode("key: OTHER"), 0o044);
        assert_eq!(mode("key: SEKRET"), 0);
        fs::remove_file(&path).unwrap();
        assert_eq!(mode("-----BEGIN EC PRIVATE KEY-----\nAA"), 0);
    }
}
