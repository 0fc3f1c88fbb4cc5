//! Writes files with keys and passwords, which only this user and, if needed, one group may read.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::Path;

use rustix::process::geteuid;

const PRIVATE: u32 = 0o600;
const PRIVATE_AND_GROUP: u32 = 0o640;

/// The end of the first line of a private key in PEM (RFC 7468 sections 10 and 11).
const PRIVATE_KEY: &str = "PRIVATE KEY-----";

/// The beginnings of password hashes in the formats of htpasswd and crypt(5).
const PASSWORD_HASHES: [&str; 7] = ["{SHA}", "$apr1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$"];

/// Writes a file that only this user may read, even if it existed before and was readable by
/// others.
///
/// # Errors
/// The file cannot be created, restricted or written.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = create_private(path)?;
    file.write_all(bytes)
}

/// Creates a file that only this user may read, or empties an existing file and restricts it.
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

/// Writes a file of a gateway. If `text` contains one of `secrets`, a private key or a password
/// hash, only this user may read the file; if this user is root, `group` may read it too. The
/// permissions of other files are not restricted, because workers without privileges may have to
/// read these files.
pub(crate) fn write_rendered(
    path: &Path,
    text: &str,
    group: Option<u32>,
    secrets: &BTreeSet<String>,
) -> io::Result<()> {
    let mut marks = [PRIVATE_KEY].into_iter().chain(PASSWORD_HASHES);
    let is_secret = marks.any(|mark| text.contains(mark))
        || secrets.iter().any(|secret| text.contains(secret.as_str()));
    if !is_secret {
        return fs::write(path, text);
    }
    let mut created = create_private(path)?;
    if let Some(group) = group.filter(|_| geteuid().is_root()) {
        fchown(&created, None, Some(group))?;
        created.set_permissions(Permissions::from_mode(PRIVATE_AND_GROUP))?;
    }
    created.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_file_with_a_secret_is_for_this_user_only() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        let secrets = BTreeSet::from(["SEKRET".to_owned()]);
        let mode = |text: &str| {
            write_rendered(&path, text, None, &secrets).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            fs::metadata(&path).unwrap().permissions().mode() & 0o077
        };
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert_eq!(mode("key: OTHER"), 0o044);
        assert_eq!(mode("key: SEKRET"), 0);
        for secret in [
            "-----BEGIN EC PRIVATE KEY-----\nAA",
            "alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=",
            "{\"hash\": \"$2b$04$abcdefghijklmnopqrstuu\"}",
        ] {
            fs::remove_file(&path).unwrap();
            assert_eq!(mode(secret), 0, "{secret}");
        }
    }

    #[test]
    fn a_group_may_read_a_secret_of_root() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        let text = "alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=";
        write_rendered(&path, text, Some(65_534), &BTreeSet::new()).unwrap();
        let found = fs::metadata(&path).unwrap();
        let of_group = found.permissions().mode() & 0o077;
        match geteuid().is_root() {
            true => assert_eq!((of_group, found.gid()), (0o040, 65_534)),
            false => assert_eq!(of_group, 0),
        }
    }
}
