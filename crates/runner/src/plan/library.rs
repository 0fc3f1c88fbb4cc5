//! Scenarios, load profiles and suites: those embedded in the program, those of an overlaying
//! directory, and any file that is named by its path.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use gatebench_config::{Document, parse_with_files, read};
use gatebench_model::{LoadProfile, Published, Scenario, Specification, Suite};
use include_dir::{Dir, include_dir};

use crate::error::RunnerError;

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../scenarios");

/// Ending of all these files.
const EXTENSION: &str = "yaml";

/// Finds scenarios, loads and suites by name or path. A directory that overlays is laid out as the
/// embedded one: scenarios at its top, `loads/`, `suites/`, `specifications/` and `published/` below.
#[derive(Clone, Debug, Default)]
pub struct Library {
    overlay: Option<PathBuf>,
}

/// Where a file came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// This program carries it, under this path.
    Embedded(PathBuf),
    /// A file of the file system.
    File(PathBuf),
}

impl Source {
    /// Its path, in this program or in the file system.
    pub fn path(&self) -> &Path {
        match self {
            Self::Embedded(path) | Self::File(path) => path,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded(path) => write!(f, "embedded {}", path.display()),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A file with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed<T> {
    /// What it says.
    pub document: T,
    /// Where it came from.
    pub source: Source,
}

/// What a word on the command line may name.
pub(crate) enum Named {
    Suite(Box<Listed<Suite>>),
    Scenario(Box<Listed<Scenario>>),
}

/// A kind of file in the library.
pub(crate) trait Kept: Document {
    /// The folder of its files below `scenarios`.
    const FOLDER: &'static str;
}

impl Kept for Scenario {
    const FOLDER: &'static str = "";
}

impl Kept for LoadProfile {
    const FOLDER: &'static str = "loads";
}

impl Kept for Suite {
    const FOLDER: &'static str = "suites";
}

impl Kept for Specification {
    const FOLDER: &'static str = "specifications";
}

impl Kept for Published {
    const FOLDER: &'static str = "published";
}

impl Library {
    /// A library in which the files of `overlay` add to the embedded ones, or replace them by name.
    pub fn new(overlay: Option<PathBuf>) -> Self {
        Self { overlay }
    }

    /// Every scenario known by name, in the order of the names.
    ///
    /// # Errors
    /// A file of the overlaying directory that cannot be read or has mistakes.
    pub fn scenarios(&self) -> Result<Vec<Listed<Scenario>>, RunnerError> {
        self.all()
    }

    /// Every load profile known by name.
    ///
    /// # Errors
    /// As [`Library::scenarios`].
    pub fn loads(&self) -> Result<Vec<Listed<LoadProfile>>, RunnerError> {
        self.all()
    }

    /// Every suite known by name.
    ///
    /// # Errors
    /// As [`Library::scenarios`].
    pub fn suites(&self) -> Result<Vec<Listed<Suite>>, RunnerError> {
        self.all()
    }

    /// Every specification known by name.
    ///
    /// # Errors
    /// As [`Library::scenarios`].
    pub fn specifications(&self) -> Result<Vec<Listed<Specification>>, RunnerError> {
        self.all()
    }

    /// The specifications of these names or paths.
    ///
    /// # Errors
    /// There is none of a name, or files have mistakes: all of them.
    pub fn specifications_named(
        &self,
        words: &[String],
    ) -> Result<Vec<Listed<Specification>>, RunnerError> {
        self.find_all(words.iter().map(String::as_str), Path::new(""))
    }

    /// Every published document known by name.
    ///
    /// # Errors
    /// As [`Library::scenarios`].
    pub fn published(&self) -> Result<Vec<Listed<Published>>, RunnerError> {
        self.all()
    }

    /// The published document of a name, of another name that it gives itself, or of a path.
    ///
    /// # Errors
    /// There is none of this name, or its file has mistakes.
    pub fn published_of(&self, word: &str) -> Result<Listed<Published>, RunnerError> {
        if !is_path(word) && !self.names::<Published>()?.contains_key(word) {
            let is_it = |it: &Listed<Published>| it.document.aliases.iter().any(|it| it == word);
            if let Some(found) = self.published()?.into_iter().find(is_it) {
                return Ok(found);
            }
        }
        self.find(word, Path::new(""))
    }

    /// The document of a name, or of a path, which is seen from `base`.
    pub(crate) fn find<T: Kept>(&self, word: &str, base: &Path) -> Result<Listed<T>, RunnerError> {
        if is_path(word) {
            return open(Source::File(base.join(word)));
        }
        let mut names = self.names::<T>()?;
        match names.remove(word) {
            Some(source) => open(source),
            None => {
                let known: Vec<String> = names.into_keys().collect();
                Err(unknown(T::TITLE, word, &known))
            }
        }
    }

    /// The documents of these words. Mistakes of all files are returned at once.
    pub(crate) fn find_all<'w, T: Kept>(
        &self,
        words: impl IntoIterator<Item = &'w str>,
        base: &Path,
    ) -> Result<Vec<Listed<T>>, RunnerError> {
        let mut found = Vec::new();
        let mut mistakes = Vec::new();
        for word in words {
            match self.find(word, base) {
                Ok(listed) => found.push(listed),
                Err(RunnerError::Mistakes(more)) => mistakes.extend(more),
                Err(error) => return Err(error),
            }
        }
        match mistakes.is_empty() {
            true => Ok(found),
            false => Err(RunnerError::Mistakes(mistakes)),
        }
    }

    /// The suite or scenario that a word on the command line names.
    pub(crate) fn find_suite_or_scenario(&self, word: &str) -> Result<Named, RunnerError> {
        if is_path(word) {
            return open_suite_or_scenario(Path::new(word));
        }
        let suites = self.names::<Suite>()?;
        let scenarios = self.names::<Scenario>()?;
        match (suites.get(word), scenarios.get(word)) {
            (Some(source), _) => Ok(Named::Suite(Box::new(open(source.clone())?))),
            (None, Some(source)) => Ok(Named::Scenario(Box::new(open(source.clone())?))),
            (None, None) => {
                let known: Vec<String> = suites.into_keys().chain(scenarios.into_keys()).collect();
                Err(unknown("suite or scenario", word, &known))
            }
        }
    }

    fn all<T: Kept>(&self) -> Result<Vec<Listed<T>>, RunnerError> {
        self.names::<T>()?.into_values().map(open).collect()
    }

    fn names<T: Kept>(&self) -> Result<BTreeMap<String, Source>, RunnerError> {
        let mut names = embedded_names(T::FOLDER);
        if let Some(overlay) = &self.overlay {
            names.extend(names_in(&overlay.join(T::FOLDER))?);
        }
        Ok(names)
    }
}

/// Whether a word is a path and no name.
pub(crate) fn is_path(word: &str) -> bool {
    word.contains('/') || word.starts_with('.') || word.ends_with(".yaml") || word.ends_with(".yml")
}

fn unknown(kind: &str, word: &str, known: &[String]) -> RunnerError {
    RunnerError::words(
        format!("there is no {kind} '{word}'"),
        format!("use one of {}, or a file as ./NAME.yaml", known.join(", ")),
    )
}

fn embedded_names(folder: &str) -> BTreeMap<String, Source> {
    let files = if folder.is_empty() {
        Some(&EMBEDDED)
    } else {
        EMBEDDED.get_dir(folder)
    };
    let files = files.into_iter().flat_map(Dir::files);
    let named =
        files.filter_map(|file| Some((stem(file.path())?, Source::Embedded(file.path().into()))));
    named.collect()
}

fn names_in(folder: &Path) -> Result<BTreeMap<String, Source>, RunnerError> {
    let cannot = |error: std::io::Error| RunnerError::File {
        path: folder.into(),
        message: format!("cannot read the directory of scenarios: {error}"),
        remedy: "check the path and its permissions".into(),
    };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(cannot(error)),
    };
    let mut names = BTreeMap::new();
    for entry in entries {
        let path = entry.map_err(cannot)?.path();
        if path.is_file()
            && let Some(name) = stem(&path)
        {
            names.insert(name, Source::File(path));
        }
    }
    Ok(names)
}

/// The name of a file of ours; none for other files.
fn stem(path: &Path) -> Option<String> {
    let ours = path
        .extension()
        .is_some_and(|extension| extension == EXTENSION);
    ours.then(|| path.file_stem()?.to_str().map(str::to_owned))
        .flatten()
}

fn open<T: Document>(source: Source) -> Result<Listed<T>, RunnerError> {
    let document = match &source {
        Source::File(path) => read(path)?,
        Source::Embedded(path) => {
            let text = EMBEDDED
                .get_file(path)
                .and_then(include_dir::File::contents_utf8)
                .unwrap_or_default();
            let name = Path::new("scenarios").join(path).display().to_string();
            let folder = path.parent().unwrap_or(Path::new(""));
            let read_file = |path: &Path| {
                let file = EMBEDDED.get_file(folder.join(path));
                let bytes = file.map(|file| file.contents().to_vec());
                bytes.ok_or_else(|| std::io::ErrorKind::NotFound.into())
            };
            parse_with_files(&name, text, &read_file)
                .map_err(|mistakes| RunnerError::Mistakes(vec![mistakes]))?
        }
    };
    Ok(Listed { document, source })
}

/// Opens a file by what it says it is: the first of the keys `suite` and `scenario` at its top level.
/// A file with neither is read as a scenario, whose mistakes then say what is missing.
fn open_suite_or_scenario(path: &Path) -> Result<Named, RunnerError> {
    let text = std::fs::read_to_string(path).map_err(|error| RunnerError::File {
        path: path.into(),
        message: format!("cannot read the file: {error}"),
        remedy: "name a suite or a scenario, or the path of a file".into(),
    })?;
    let first = text
        .lines()
        .find(|line| line.starts_with("suite:") || line.starts_with("scenario:"));
    let source = Source::File(path.into());
    match first {
        Some(line) if line.starts_with("suite:") => Ok(Named::Suite(Box::new(open(source)?))),
        _ => Ok(Named::Scenario(Box::new(open(source)?))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_embedded_is_right_and_found_by_its_own_name() {
        let library = Library::default();
        let scenarios = library.scenarios().unwrap();
        assert!(scenarios.len() >= 2);
        for listed in scenarios {
            let name = &listed.document.scenario;
            assert_eq!(
                library
                    .find::<Scenario>(name, Path::new(""))
                    .unwrap()
                    .document,
                listed.document
            );
        }
        assert!(
            library
                .suites()
                .unwrap()
                .iter()
                .any(|listed| listed.document.suite == "tour")
        );
        assert!(
            library
                .loads()
                .unwrap()
                .iter()
                .any(|listed| listed.document.profile == "tour")
        );
    }

    #[test]
    fn an_overlaying_directory_adds_and_replaces() {
        let folder = tempfile::tempdir().unwrap();
        let text = "{scenario: proxy-json, title: mine, upstream: ping, routes: [{name: r, path: /ping}], \
                    requests: [{path: /ping}]}";
        std::fs::write(folder.path().join("proxy-json.yaml"), text).unwrap();
        std::fs::write(folder.path().join("new.yaml"), text).unwrap();
        let library = Library::new(Some(folder.path().into()));
        let find = |name| library.find::<Scenario>(name, Path::new("")).unwrap();
        assert_eq!(find("proxy-json").document.title, "mine");
        assert_eq!(
            find("new").source,
            Source::File(folder.path().join("new.yaml"))
        );
        assert!(matches!(find("api-key").source, Source::Embedded(_)));
        assert!(library.suites().is_ok());
    }

    #[test]
    fn a_published_document_is_found_by_its_names_and_by_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let text = "{published: mine, title: t, setting: Of mine., suite: tour, tables: [{row: connections, \
                    groups: [{group: document, label: rate, columns: [{figure: rate}]}]}]}";
        std::fs::create_dir(folder.path().join("published")).unwrap();
        let path = folder.path().join("published/mine.yaml");
        std::fs::write(&path, text).unwrap();
        let library = Library::new(Some(folder.path().into()));
        let name = |word: &str| library.published_of(word).unwrap().document.published;
        assert_eq!(name("mine"), "mine");
        assert_eq!(name(path.to_str().unwrap()), "mine");
        assert_eq!(name("soap-earlier"), "soap-earlier");
        assert_eq!(name("seed-003"), "gravitee");
        let error = library.published_of("seed-9").unwrap_err();
        assert!(
            error.remedy().contains("kong-benchmark"),
            "{}",
            error.remedy()
        );
        for listed in Library::default().published().unwrap() {
            let of_folder = Path::new("published").join(listed.document.published + ".yaml");
            assert_eq!(listed.source, Source::Embedded(of_folder));
        }
    }

    #[test]
    fn a_file_is_opened_as_what_it_says_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.yaml");
        std::fs::write(
            &path,
            "suite: x\ntitle: t\ngateways: [nginx]\nscenarios: [a]\nload: l\nblocks: 1\n",
        )
        .unwrap();
        let word = path.to_str().unwrap();
        assert!(matches!(
            Library::default().find_suite_or_scenario(word),
            Ok(Named::Suite(_))
        ));
        std::fs::write(&path, "title: t\n").unwrap();
        assert!(matches!(
            Library::default().find_suite_or_scenario(word),
            Err(RunnerError::Mistakes(_))
        ));
    }

    #[test]
    fn an_unknown_word_gets_the_names_there_are() {
        let error = Library::default()
            .find_suite_or_scenario("nginx")
            .err()
            .unwrap();
        assert!(
            error.remedy().contains("tour") && error.remedy().contains("api-key"),
            "{}",
            error.remedy()
        );
    }
}
