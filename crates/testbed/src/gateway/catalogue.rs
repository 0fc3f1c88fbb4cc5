//! The known gateways: those embedded in the program, those in an overlay directory, and any folder
//! given by its path.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gatebench_model::plan::NULL;
use include_dir::{Dir, include_dir};

use super::folder::{Folder, Origin, SPEC_FILE};
use crate::error::DriverError;

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../gateways");

/// The embedded gateway folders, and those of an overlay directory.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    overlay: Option<PathBuf>,
}

impl Catalogue {
    /// Returns a catalogue of the embedded folders and those in `overlay`, which replace embedded
    /// ones of the same name.
    pub fn new(overlay: Option<PathBuf>) -> Self {
        Self { overlay }
    }

    /// Returns the folder with a name (`nginx`) or a path (`./mine`, anything that contains a `/`
    /// or begins with a `.`).
    ///
    /// # Errors
    /// [`DriverError::UnknownGateway`] with the known names; [`DriverError::NoFolder`] or
    /// [`DriverError::BadFile`] with the path; [`DriverError::Mistakes`] with the line of each
    /// mistake; [`DriverError::Io`] if the overlay cannot be read.
    pub fn resolve(&self, word: &str) -> Result<Folder, DriverError> {
        if word.contains('/') || word.starts_with('.') {
            return from_path(Path::new(word));
        }
        let names = self.names()?;
        match names.get(word) {
            Some(Origin::Embedded) => from_embedded(word),
            Some(Origin::Path(path)) => from_path(path),
            None => Err(DriverError::UnknownGateway {
                word: word.into(),
                known: names.into_keys().collect(),
            }),
        }
    }

    /// Returns the embedded gateways and those of the overlay, sorted by name. The null gateway is
    /// left out, because it does not parse HTTP and serves only for comparison.
    ///
    /// # Errors
    /// Like [`Catalogue::resolve`].
    pub fn list(&self) -> Result<Vec<Folder>, DriverError> {
        self.names()?
            .keys()
            .filter(|name| *name != NULL)
            .map(|name| self.resolve(name))
            .collect()
    }

    fn names(&self) -> Result<BTreeMap<String, Origin>, DriverError> {
        let mut names: BTreeMap<String, Origin> = EMBEDDED
            .dirs()
            .filter(|folder| folder.get_file(folder.path().join(SPEC_FILE)).is_some())
            .map(|folder| (folder.path().display().to_string(), Origin::Embedded))
            .collect();
        if let Some(overlay) = &self.overlay {
            names.extend(folders_in(overlay).map_err(DriverError::at("read", overlay))?);
        }
        Ok(names)
    }
}

fn folders_in(overlay: &Path) -> io::Result<Vec<(String, Origin)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(overlay)? {
        let path = entry?.path();
        if path.join(SPEC_FILE).is_file()
            && let Some(name) = path.file_name().and_then(|name| name.to_str())
        {
            found.push((name.to_owned(), Origin::Path(path.clone())));
        }
    }
    Ok(found)
}

fn from_path(path: &Path) -> Result<Folder, DriverError> {
    if !path.is_dir() {
        return Err(DriverError::NoFolder { path: path.into() });
    }
    Folder::load(Origin::Path(path.into()), path.into(), |file| {
        fs::read_to_string(path.join(file)).or_else(|error| {
            // A user's folder may refer to embedded folders as if they were next to it.
            let sibling = file.strip_prefix("../").and_then(embedded_text);
            sibling.ok_or_else(|| unreadable(path, file, &error))
        })
    })
}

fn unreadable(folder: &Path, file: &str, error: &io::Error) -> DriverError {
    let (message, remedy) = match (error.kind(), file) {
        (io::ErrorKind::NotFound, SPEC_FILE) => (
            "a gateway folder must contain this file, but it does not exist".to_owned(),
            "write it (see docs/guide/ADD-A-GATEWAY.md), or name another folder",
        ),
        (io::ErrorKind::NotFound, _) => (
            "gateway.yaml names this file, but it does not exist".into(),
            "write it, or correct its name in gateway.yaml",
        ),
        _ => (
            format!("this file of the gateway folder cannot be read: {error}"),
            "check its permissions, and that it is UTF-8 text",
        ),
    };
    DriverError::bad_file(folder.join(file), message, remedy)
}

fn from_embedded(name: &str) -> Result<Folder, DriverError> {
    let root = Path::new("gateways").join(name);
    Folder::load(Origin::Embedded, root.clone(), |file| {
        let path = match file.strip_prefix("../") {
            Some(sibling) => sibling.to_owned(),
            None => format!("{name}/{file}"),
        };
        embedded_text(&path).ok_or_else(|| {
            let message = "there is no such file in the gateway folder";
            let remedy = "correct its name in gateway.yaml";
            DriverError::bad_file(root.join(file), message, remedy)
        })
    })
}

/// Returns the text of the embedded file at this path below gateways/.
fn embedded_text(path: &str) -> Option<String> {
    let file = EMBEDDED.get_file(path)?;
    file.contents_utf8().map(str::to_owned)
}
