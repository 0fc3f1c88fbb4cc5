//! Reads and writes text files in working folders, for transfer between hosts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::system::private::write_private;

/// The maximum number of bytes that are sent from one file. Of a longer file, only the last bytes
/// are sent, because the error is usually at the end of a log.
const FILE_BYTES_MAX: usize = 256 * 1024;

/// The maximum number of files; further files are omitted.
const FILES_MAX: usize = 1_000;

/// The contents of text files, with their paths relative to a folder.
pub(super) type Texts = Vec<(PathBuf, String)>;

/// Returns the text files in a folder and its subfolders: rendered files and logs. Unreadable files
/// are omitted. Files that are not UTF-8 are also omitted, except logs and files longer than
/// [`FILE_BYTES_MAX`], whose invalid bytes are replaced.
pub(super) fn texts_of(folder: &Path) -> Texts {
    let mut texts = Texts::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let entries = fs::read_dir(next).into_iter().flatten().flatten();
        for entry in entries {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_file() && texts.len() < FILES_MAX => {
                    let place = path.strip_prefix(folder).unwrap_or(&path).to_owned();
                    texts.extend(text_of(&path).map(|text| (place, text)));
                }
                _ => {}
            }
        }
    }
    texts
}

fn text_of(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let tail = &bytes[bytes.len().saturating_sub(FILE_BYTES_MAX)..];
    let is_log = path.extension().is_some_and(|extension| extension == "log");
    if is_log || tail.len() < bytes.len() {
        return Some(String::from_utf8_lossy(tail).into_owned());
    }
    String::from_utf8(bytes).ok()
}

/// Writes the files into a folder, except those whose paths lead out of it. Only this user may read
/// the files, because they may contain keys.
pub(super) fn put(folder: &Path, texts: &Texts) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let is_below = |place: &Path| {
        let mut parts = place.components();
        parts.all(|part| matches!(part, std::path::Component::Normal(_)))
    };
    for (place, text) in texts.iter().filter(|(place, _)| is_below(place)) {
        let path = folder.join(place);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        write_private(&path, text.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_written_to_the_same_paths_and_none_outside_the_folder() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(from.path().join("apis")).unwrap();
        fs::write(from.path().join("apis/a.json"), "{}").unwrap();
        fs::write(from.path().join("x.log"), b"\xffend").unwrap();
        fs::write(from.path().join("binary"), b"\xff").unwrap();
        let mut texts = texts_of(from.path());
        texts.sort();
        let names: Vec<_> = texts
            .iter()
            .map(|(place, _)| place.to_str().unwrap())
            .collect();
        assert_eq!(names, ["apis/a.json", "x.log"]);
        texts.push(("../escaped".into(), String::new()));
        texts.push(("/escaped-from-root".into(), String::new()));
        let folder = to.path().join("work");
        put(&folder, &texts).unwrap();
        assert_eq!(
            fs::read_to_string(folder.join("apis/a.json")).unwrap(),
            "{}"
        );
        assert!(
            fs::read_to_string(folder.join("x.log"))
                .unwrap()
                .ends_with("end")
        );
        assert_eq!(fs::read_dir(to.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_end_of_a_long_log_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let text = "x".repeat(FILE_BYTES_MAX) + "end";
        fs::write(folder.path().join("long.log"), &text).unwrap();
        let texts = texts_of(folder.path());
        assert_eq!(texts[0].1.len(), FILE_BYTES_MAX);
        assert!(texts[0].1.ends_with("end"));
    }
}
