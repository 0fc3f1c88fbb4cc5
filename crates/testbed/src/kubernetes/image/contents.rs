//! Collects the files of an image: programs with everything that they load.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::tar::Kind;
use crate::system::command;

/// The timeout of `ldd` and `dpkg-query`.
const TOOL_TIMEOUT: Duration = Duration::from_secs(20);

/// Prefixes that contain programs of many packages.
const SHARED: [&str; 3] = ["/", "/usr", "/usr/local"];

/// Folders of documentation, which [`Contents::add_package`] leaves out.
const DOCUMENTATION: [&str; 4] = [
    "/usr/share/doc",
    "/usr/share/man",
    "/usr/share/lintian",
    "/usr/share/bug",
];

/// The maximum number of bytes of a script that are searched for paths.
const SCRIPT_BYTES_MAX: u64 = 64 * 1024;

/// The entries of an image by their absolute paths, which are the same as on this machine.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) entries: BTreeMap<PathBuf, Kind>,
    /// Files whose contents differ from those on this machine.
    pub(super) texts: BTreeMap<PathBuf, String>,
    /// The programs and folders that were added, so that none is added twice.
    done: BTreeSet<PathBuf>,
}

impl Contents {
    /// Adds a program with its libraries. A script is added with its interpreter and the programs
    /// and files whose absolute paths it contains. A program that is installed in a separate folder
    /// is added with the whole folder.
    pub(super) fn add_program(&mut self, program: &Path) -> io::Result<()> {
        if !self.done.insert(program.to_owned()) {
            return Ok(());
        }
        let real = fs::canonicalize(program)?;
        if let Some(prefix) = own_prefix(&real) {
            self.add_tree(&prefix)?;
        }
        self.add_path(program)?;
        match script(&real)? {
            Some(text) => words_of(&text).try_for_each(|word| self.add_named(word)),
            None => self.add_libraries(&real),
        }
    }

    /// Adds a program or a file that a script names, if it exists.
    fn add_named(&mut self, word: &str) -> io::Result<()> {
        let path = Path::new(word);
        match fs::metadata(path) {
            Ok(found) if found.is_file() && found.permissions().mode() & 0o111 != 0 => {
                self.add_program(path)
            }
            Ok(found) if found.is_file() => self.add_path(path),
            _ => Ok(()),
        }
    }

    /// Adds the libraries of a program or a library; a static program has none.
    pub(super) fn add_libraries(&mut self, file: &Path) -> io::Result<()> {
        let listed = command::run(Command::new("ldd").arg(file), TOOL_TIMEOUT)?;
        let words = listed.output.split_whitespace();
        for library in words.filter(|word| word.starts_with('/')) {
            let library = Path::new(library.trim_end_matches(':'));
            if library.is_file() {
                self.add_path(library)?;
            }
        }
        Ok(())
    }

    /// Adds the files of a Debian package, with the libraries of its programs and modules. Does
    /// nothing if the package is not installed.
    pub(super) fn add_package(&mut self, package: &str) -> io::Result<()> {
        let mut list = Command::new("dpkg-query");
        let listed = command::run(list.args(["--listfiles", package]), TOOL_TIMEOUT)?;
        if !listed.status.success() {
            return Ok(());
        }
        for line in listed.output.lines() {
            let path = Path::new(line);
            let is_wanted = !DOCUMENTATION.iter().any(|it| path.starts_with(it));
            if is_wanted && path.is_absolute() && path.is_file() {
                self.add_path(path)?;
                if is_elf(path)? {
                    self.add_libraries(path)?;
                }
            }
        }
        Ok(())
    }

    /// Adds a folder with everything in it, the targets of its links, and the libraries of its
    /// programs and modules.
    pub(super) fn add_tree(&mut self, folder: &Path) -> io::Result<()> {
        if !self.done.insert(folder.to_owned()) {
            return Ok(());
        }
        self.add_path(folder)?;
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let kind = fs::symlink_metadata(&path)?.file_type();
            if kind.is_dir() {
                self.add_tree(&path)?;
            } else if kind.is_file() || kind.is_symlink() && path.exists() {
                self.add_path(&path)?;
                if kind.is_file() && is_elf(&path)? {
                    self.add_libraries(&path)?;
                }
                if kind.is_symlink() && path.is_dir() {
                    self.add_tree(&fs::canonicalize(&path)?)?;
                }
            }
        }
        Ok(())
    }

    /// Adds a file or a folder, the links on the way to it, and the folders that contain it.
    pub(super) fn add_path(&mut self, path: &Path) -> io::Result<()> {
        let mut at = PathBuf::from("/");
        let mut parts = path.components();
        while let Some(part) = parts.next() {
            match part {
                Component::Normal(name) => at.push(name),
                Component::ParentDir => {
                    at.pop();
                    continue;
                }
                _ => continue,
            }
            let found = fs::symlink_metadata(&at)?;
            if found.file_type().is_symlink() {
                let target = fs::read_link(&at)?;
                let parent = at.parent().unwrap_or(Path::new("/"));
                let next = parent.join(&target).join(parts.as_path());
                let target = target.to_string_lossy().into_owned();
                self.entries.insert(at.clone(), Kind::Link { target });
                return self.add_path(&next);
            }
            self.entries.insert(at.clone(), kind_of(&found));
        }
        Ok(())
    }

    /// Adds a file with this text, and the folders that contain it.
    pub(super) fn add_text(&mut self, path: &str, text: String) {
        let path = PathBuf::from(path);
        for folder in path.ancestors().skip(1).filter(|it| *it != Path::new("/")) {
            let folder = folder.to_owned();
            self.entries
                .entry(folder)
                .or_insert(Kind::Folder { mode: 0o755 });
        }
        let kind = Kind::File {
            bytes: text.len() as u64,
            is_executable: false,
        };
        self.entries.insert(path.clone(), kind);
        self.texts.insert(path, text);
    }

    /// Adds a folder that every user may write to.
    pub(super) fn add_shared_folder(&mut self, path: &str) {
        self.entries
            .insert(path.into(), Kind::Folder { mode: 0o1777 });
    }
}

fn kind_of(found: &fs::Metadata) -> Kind {
    match found.is_dir() {
        true => Kind::Folder { mode: 0o755 },
        false => Kind::File {
            bytes: found.len(),
            is_executable: found.permissions().mode() & 0o111 != 0,
        },
    }
}

/// Returns the folder of a program that is installed apart from others, with its own libraries:
/// `DIR` for `DIR/bin/PROGRAM` if `DIR/lib` exists, or the folder of a gateway that gatebench
/// installed.
fn own_prefix(program: &Path) -> Option<PathBuf> {
    let folder = program.parent()?;
    let installed = crate::system::installed::data_folder().map(|it| it.join("gateways"));
    if let Some(gateways) = installed
        && let Ok(below) = program.strip_prefix(&gateways)
    {
        return Some(gateways.join(below.components().next()?));
    }
    let prefix = folder.parent().filter(|_| folder.ends_with("bin"))?;
    let is_own = !SHARED.iter().any(|it| prefix == Path::new(it));
    (is_own && prefix.join("lib").is_dir()).then(|| prefix.to_owned())
}

/// Returns the text of a script, up to [`SCRIPT_BYTES_MAX`]; none if the file is not a script.
fn script(path: &Path) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(SCRIPT_BYTES_MAX)
        .read_to_end(&mut bytes)?;
    let text = bytes
        .starts_with(b"#!")
        .then(|| String::from_utf8_lossy(&bytes));
    Ok(text.map(std::borrow::Cow::into_owned))
}

/// Returns the absolute paths in a script.
fn words_of(script: &str) -> impl Iterator<Item = &str> {
    let is_end = |c: char| c.is_whitespace() || "'\"`$();|&<>=:".contains(c);
    let words = script
        .split(is_end)
        .map(|word| word.trim_start_matches("#!"));
    words.filter(|word| word.starts_with('/') && word.len() > 1)
}

fn is_elf(path: &Path) -> io::Result<bool> {
    let mut magic = [0; 4];
    let read = fs::File::open(path)?.read(&mut magic)?;
    Ok(read == magic.len() && magic == *b"\x7fELF")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn links_are_added_with_their_targets() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("real/deep")).unwrap();
        fs::write(root.join("real/deep/file"), "12").unwrap();
        symlink("real", root.join("link")).unwrap();
        let mut contents = Contents::default();
        contents.add_path(&root.join("link/deep/file")).unwrap();
        let target = "real".to_owned();
        assert_eq!(contents.entries[&root.join("link")], Kind::Link { target });
        let file = &contents.entries[&root.join("real/deep/file")];
        assert!(matches!(file, Kind::File { bytes: 2, .. }), "{file:?}");
    }

    #[test]
    fn a_program_of_the_system_has_its_libraries_and_a_script_its_interpreter() {
        let mut contents = Contents::default();
        contents.add_program(Path::new("/bin/sh")).unwrap();
        let has = |contents: &Contents, part: &str| {
            let mut paths = contents.entries.keys();
            paths.any(|path| path.to_string_lossy().contains(part))
        };
        assert!(has(&contents, "libc.so.6"), "{:?}", contents.entries.keys());
        assert!(has(&contents, "ld-linux"), "{:?}", contents.entries.keys());
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("run");
        fs::write(&script, "#!/bin/sh\nexec '/usr/bin/env' /nothing/here\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let mut contents = Contents::default();
        contents.add_program(&script).unwrap();
        assert!(has(&contents, "/usr/bin/env"));
        assert!(!has(&contents, "/nothing"));
    }
}
