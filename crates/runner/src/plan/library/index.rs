//! The index of a library, which maps each name to its document's file.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use gatebench_model::family_names;
use include_dir::{Dir, DirEntry, include_dir};

use super::{Document, Source};
use crate::error::RunnerError;

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../scenarios");

const EXTENSION: &str = "yaml";
/// The maximum depth of folders below an overlay directory. It limits the search if the directory
/// is large and unrelated.
const DEPTH_MAX: usize = 6;

/// For each kind of file, the key that identifies the kind, and the name of the kind's folder in an
/// overlay directory (empty for scenarios, which are at the top).
const KINDS: [(&str, &str); 5] = [
    (SCENARIO, ""),
    ("profile", "load"),
    ("suite", "suite"),
    ("specification", "specification"),
    ("published", "published"),
];
const SCENARIO: &str = "scenario";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) source: Source,
    /// The names of the scenarios of a family; empty for other documents.
    pub(super) members: Vec<String>,
}

/// Files below `overlay` replace embedded documents of the same name.
pub(super) fn names<T: Document>(
    overlay: Option<&Path>,
) -> Result<BTreeMap<String, Place>, RunnerError> {
    let mut names = BTreeMap::new();
    embedded::<T>(&EMBEDDED, &mut names)?;
    if let Some(overlay) = overlay {
        let mut own = BTreeMap::new();
        files::<T>(overlay, overlay, DEPTH_MAX, &mut own)?;
        for (name, place) in own {
            if let Some(replaced) = names.remove(&name)
                && !replaced.members.is_empty()
            {
                names.retain(|_, it| it.source != replaced.source);
            }
            names.insert(name, place);
        }
    }
    Ok(names)
}

pub(super) fn embedded_text(path: &Path) -> &'static str {
    let file = EMBEDDED.get_file(path);
    let text = file.and_then(include_dir::File::contents_utf8);
    text.unwrap_or_default()
}

/// The bytes of an embedded file, whose path may contain `..`.
pub(super) fn embedded_bytes(path: &Path) -> Option<Vec<u8>> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    let file = EMBEDDED.get_file(plain)?;
    Some(file.contents().to_vec())
}

/// Returns the first key that determines the kind of a file, and its value.
pub(super) fn kind_of(text: &str) -> Option<(&'static str, &str)> {
    let of_line = |line: &str| -> Option<(&'static str, usize)> {
        let (key, _) = line.split_once(':')?;
        // In a mapping in braces, spaces may precede the key. Any other indented line belongs to
        // another key.
        let name = match key.strip_prefix('{') {
            Some(inner) => inner.trim_start(),
            None => key,
        };
        let (kind, _) = KINDS.iter().find(|(kind, _)| *kind == name)?;
        Some((kind, key.len() + 1))
    };
    text.lines().find_map(|line| {
        let (kind, at) = of_line(line)?;
        let value = line[at..].split([',', '#', '}']).next()?;
        let value = value.trim().trim_matches(['"', '\'']);
        (!value.is_empty()).then_some((kind, value))
    })
}

fn embedded<T: Document>(
    folder: &Dir<'static>,
    names: &mut BTreeMap<String, Place>,
) -> Result<(), RunnerError> {
    for entry in folder.entries() {
        match entry {
            DirEntry::Dir(inner) => embedded::<T>(inner, names)?,
            DirEntry::File(file) if is_ours(file.path()) => {
                let text = file.contents_utf8().unwrap_or_default();
                let source = Source::Embedded(file.path().into());
                add::<T>(text, &source, Path::new(""), names)?;
            }
            DirEntry::File(_) => {}
        }
    }
    Ok(())
}

fn files<T: Document>(
    top: &Path,
    folder: &Path,
    depth: usize,
    names: &mut BTreeMap<String, Place>,
) -> Result<(), RunnerError> {
    let cannot = |error: std::io::Error| RunnerError::File {
        path: folder.into(),
        message: format!("cannot read the directory of scenarios: {error}"),
        remedy: "check the path and its permissions".into(),
    };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(cannot(error)),
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<Result<Vec<_>, _>>().map_err(cannot)?;
    paths.sort();
    for path in paths {
        if path.is_dir() && depth > 0 {
            files::<T>(top, &path, depth - 1, names)?;
        } else if path.is_file() && is_ours(&path) {
            // A file that cannot be read is listed under its file name, so that the error is
            // reported when the file is used.
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            add::<T>(&text, &Source::File(path), top, names)?;
        }
    }
    Ok(())
}

fn is_ours(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == EXTENSION)
}

fn add<T: Document>(
    text: &str,
    source: &Source,
    folder: &Path,
    names: &mut BTreeMap<String, Place>,
) -> Result<(), RunnerError> {
    let path = source.path();
    let stem = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let assumed = || Some((kind_of_folder(path, folder)?, stem));
    let Some((kind, name)) = kind_of(text).or_else(assumed) else {
        return Ok(());
    };
    if kind != T::KEY {
        return Ok(());
    }
    let family = match kind {
        SCENARIO => family_names(text),
        _ => None,
    };
    let (name, members) = family.unwrap_or_else(|| (name.to_owned(), Vec::new()));
    let single = members.iter().map(|name| (name.clone(), Vec::new()));
    let all: Vec<_> = single.chain([(name, members.clone())]).collect();
    for (name, members) in all {
        let source = source.clone();
        let place = Place { source, members };
        if let Some(other) = names.insert(name.clone(), place)
            && other.source != names[&name].source
        {
            return Err(RunnerError::File {
                path: path.into(),
                message: format!("{} also has the name '{name}'", other.source),
                remedy: format!("give one of the two {}s another name", T::TITLE),
            });
        }
    }
    Ok(())
}

/// Returns the assumed kind of a file that lacks a key for its kind: the kind of the file's folder,
/// or a scenario if the file is at the top. Files in other folders have no kind. Because a kind is
/// assumed, the mistakes of the file are reported.
fn kind_of_folder(path: &Path, folder: &Path) -> Option<&'static str> {
    let parent = path.parent()?;
    if parent == folder {
        return Some(SCENARIO);
    }
    let mut kinds = KINDS.iter();
    let (kind, _) = kinds.find(|(_, name)| parent.file_name().is_some_and(|it| it == *name))?;
    Some(kind)
}
