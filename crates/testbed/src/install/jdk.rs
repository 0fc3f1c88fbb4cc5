//! Finds a JDK that is new enough for a gateway. A system may have several versions, and `java` on
//! PATH may be too old.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::failed;
use crate::error::DriverError;
use crate::system::installed::path_folders;

const JVM_FOLDER: &str = "/usr/lib/jvm";

/// Returns the home of a JDK of this version or a later one: `JAVA_HOME`, otherwise the JDK on
/// PATH, otherwise the oldest suitable one in `/usr/lib/jvm`.
///
/// # Errors
/// [`DriverError::Install`], with the JDKs that were found, if none is suitable.
pub(super) fn home_of(gateway: &str, first: u16) -> Result<PathBuf, DriverError> {
    let java_home = env::var_os("JAVA_HOME").map(PathBuf::from);
    let preferred = java_home.into_iter().chain(from_path());
    let preferred = preferred.filter_map(|home| Jdk::at(&home));
    let found: Vec<Jdk> = preferred.chain(all_in(Path::new(JVM_FOLDER))).collect();
    let suitable = found.iter().find(|jdk| jdk.version >= first);
    suitable.map(|jdk| jdk.home.clone()).ok_or_else(|| {
        failed(
            gateway,
            format!("it needs JDK {first} or later, but this machine has {}", listed(&found)),
            format!(
                "run `apt-get install openjdk-{first}-jdk-headless`, or download a JDK from https://adoptium.net and \
                 set JAVA_HOME to its folder"
            ),
        )
    })
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Jdk {
    /// The major version: 21 for 21.0.3.
    version: u16,
    home: PathBuf,
}

impl Jdk {
    /// Returns the JDK in a folder, which may be a symbolic link; none if the folder contains no
    /// compiler or no `release` file with a version.
    fn at(home: &Path) -> Option<Self> {
        let home = fs::canonicalize(home).ok()?;
        let release = fs::read_to_string(home.join("release")).ok()?;
        let version = version_in(&release)?;
        home.join("bin/javac")
            .is_file()
            .then_some(Self { home, version })
    }
}

fn from_path() -> Option<PathBuf> {
    let mut compilers = path_folders().into_iter().map(|it| it.join("javac"));
    let compiler = compilers.find(|file| file.is_file())?.canonicalize().ok()?;
    Some(compiler.parent()?.parent()?.to_owned())
}

/// Returns the JDKs in a folder, the oldest first, because projects usually test with the oldest
/// version that they support.
fn all_in(folder: &Path) -> Vec<Jdk> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<Jdk> = entries.filter_map(|entry| Jdk::at(&entry.path())).collect();
    all.sort();
    all
}

/// Returns the major version in a `release` file: 21 for `JAVA_VERSION="21.0.3"`, 8 for
/// `"1.8.0_402"`.
fn version_in(release: &str) -> Option<u16> {
    let line = release
        .lines()
        .find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    let text = line.trim().trim_matches('"');
    let text = text.strip_prefix("1.").unwrap_or(text);
    let digits = text.split(|it: char| !it.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// Lists each JDK once, because several names may lead to the same one.
fn listed(found: &[Jdk]) -> String {
    let one = |jdk: &Jdk| format!("{} ({})", jdk.version, jdk.home.display());
    let all: BTreeSet<String> = found.iter().map(one).collect();
    if all.is_empty() {
        return "no JDK".into();
    }
    format!("only {}", Vec::from_iter(all).join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(folder: &Path, name: &str, version: &str) {
        let home = folder.join(name);
        fs::create_dir_all(home.join("bin")).unwrap();
        fs::write(home.join("bin/javac"), "").unwrap();
        let release = format!("JAVA_VERSION=\"{version}\"\n");
        fs::write(home.join("release"), release).unwrap();
    }

    #[test]
    fn a_version_is_read_from_the_release_file() {
        let release = "IMPLEMENTOR=\"Debian\"\nJAVA_VERSION=\"21.0.3\"\n";
        assert_eq!(version_in(release), Some(21));
        assert_eq!(version_in("JAVA_VERSION=\"1.8.0_402\""), Some(8));
        assert_eq!(version_in("JAVA_VERSION=\"25-ea\""), Some(25));
        assert_eq!(version_in("OS_NAME=\"Linux\""), None);
    }

    #[test]
    fn jdks_in_a_folder_have_a_compiler_and_are_sorted_from_the_oldest() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), "b-25", "25.0.1");
        put(folder.path(), "a-9", "9.0.4");
        put(folder.path(), "c-21", "21.0.3");
        fs::create_dir(folder.path().join("only-a-runtime")).unwrap();
        let versions = all_in(folder.path()).into_iter().map(|jdk| jdk.version);
        assert!(versions.eq([9, 21, 25]));
    }

    #[test]
    fn an_error_names_the_missing_version() {
        let error = home_of("mine", 9999).unwrap_err().to_string();
        assert!(error.contains("JDK 9999 or later"), "{error}");
    }
}
