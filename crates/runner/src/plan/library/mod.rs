//! Finds scenarios, load profiles, suites, specifications and published documents, which are
//! embedded in the program, stored in an overlay directory, or given by path.

mod index;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use gatebench_config::suggest::nearest;
use gatebench_config::{parse_all, read_all};
use gatebench_model::{LoadProfile, Published, Scenario, Specification, Suite};

use crate::error::RunnerError;
use index::Place;

/// The name of the suite's file in a folder that `gatebench import` wrote.
const SUITE_FILE: &str = "suite.yaml";

/// Finds documents by name or path. In an overlay directory, a key such as `scenario` or `suite`
/// determines the kind of a file, and the value of the key is the document's name. The folder of a
/// file determines its kind only if the file lacks such a key.
#[derive(Clone, Debug, Default)]
pub struct Library {
    overlay: Option<PathBuf>,
}

/// The origin of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Embedded in this program under this path.
    Embedded(PathBuf),
    File(PathBuf),
}

impl Source {
    pub fn path(&self) -> &Path {
        match self {
            Self::Embedded(path) | Self::File(path) => path,
        }
    }

    /// The folder that contains the file. For an embedded file, it is relative to the repository's
    /// folder `scenarios`.
    pub fn folder(&self) -> String {
        let folder = self.path().parent().unwrap_or(Path::new(""));
        folder.display().to_string()
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

/// A document with its name and origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed<T> {
    pub document: T,
    pub source: Source,
    /// The argument that named the document: its name, the name of its family, or a path.
    pub word: String,
}

pub(crate) enum Named {
    Suite(Box<Listed<Suite>>),
    Scenarios(Vec<Listed<Scenario>>),
}

pub(crate) trait Document: gatebench_config::Document {
    /// The key that identifies a file of this kind.
    const KEY: &'static str;

    fn name(&self) -> &str;
}

impl Document for Scenario {
    const KEY: &'static str = "scenario";

    fn name(&self) -> &str {
        &self.scenario
    }
}

impl Document for LoadProfile {
    const KEY: &'static str = "profile";

    fn name(&self) -> &str {
        &self.profile
    }
}

impl Document for Suite {
    const KEY: &'static str = "suite";

    fn name(&self) -> &str {
        &self.suite
    }
}

impl Document for Specification {
    const KEY: &'static str = "specification";

    fn name(&self) -> &str {
        &self.specification
    }
}

impl Document for Published {
    const KEY: &'static str = "published";

    fn name(&self) -> &str {
        &self.published
    }
}

impl Library {
    /// Creates a library of the embedded documents and the documents in `overlay`. A document in
    /// `overlay` replaces the embedded document of the same name.
    pub fn new(overlay: Option<PathBuf>) -> Self {
        Self { overlay }
    }

    /// Returns all scenarios of the library, ordered by name.
    ///
    /// # Errors
    /// A file in the overlay directory cannot be read or has mistakes, or two files define the same
    /// name.
    pub fn scenarios(&self) -> Result<Vec<Listed<Scenario>>, RunnerError> {
        self.all()
    }

    /// Returns all load profiles of the library, ordered by name.
    ///
    /// # Errors
    /// Like [`Library::scenarios`].
    pub fn loads(&self) -> Result<Vec<Listed<LoadProfile>>, RunnerError> {
        self.all()
    }

    /// Returns all suites of the library, ordered by name.
    ///
    /// # Errors
    /// Like [`Library::scenarios`].
    pub fn suites(&self) -> Result<Vec<Listed<Suite>>, RunnerError> {
        self.all()
    }

    /// Returns all specifications of the library, ordered by name.
    ///
    /// # Errors
    /// Like [`Library::scenarios`].
    pub fn specifications(&self) -> Result<Vec<Listed<Specification>>, RunnerError> {
        self.all()
    }

    /// # Errors
    /// A name is unknown, or files have mistakes. In the second case, the error lists the mistakes
    /// of all files.
    pub fn specifications_named(
        &self,
        words: &[String],
    ) -> Result<Vec<Listed<Specification>>, RunnerError> {
        self.find_all(words.iter().map(String::as_str), Path::new(""))
    }

    /// Returns all published documents of the library, ordered by name.
    ///
    /// # Errors
    /// Like [`Library::scenarios`].
    pub fn published(&self) -> Result<Vec<Listed<Published>>, RunnerError> {
        self.all()
    }

    /// Returns a published document by name, alias or path.
    ///
    /// # Errors
    /// The name is unknown, or the file has mistakes.
    pub fn published_of(&self, word: &str) -> Result<Listed<Published>, RunnerError> {
        if !is_path(word) && !self.names::<Published>()?.contains_key(word) {
            let is_it = |it: &Listed<Published>| it.document.aliases.iter().any(|it| it == word);
            if let Some(found) = self.published()?.into_iter().find(is_it) {
                return Ok(found);
            }
        }
        self.find(word, Path::new(""))
    }

    /// Returns the document with this name, or at a path relative to `base`.
    pub(crate) fn find<T: Document>(
        &self,
        word: &str,
        base: &Path,
    ) -> Result<Listed<T>, RunnerError> {
        let mut found = self.find_each(word, base)?;
        if found.len() == 1
            && let Some(only) = found.pop()
        {
            return Ok(only);
        }
        let names: Vec<&str> = found.iter().map(|it| it.document.name()).collect();
        Err(RunnerError::words(
            format!(
                "the argument '{word}' names {} {}s, but only one is allowed here",
                names.len(),
                T::TITLE
            ),
            format!("name one of {}", names.join(", ")),
        ))
    }

    /// Returns the document with this name, the documents of the family with this name, or the
    /// documents at a path relative to `base`.
    fn find_each<T: Document>(
        &self,
        word: &str,
        base: &Path,
    ) -> Result<Vec<Listed<T>>, RunnerError> {
        if is_path(word) {
            return open(&Source::File(base.join(word)), word);
        }
        let names = self.names::<T>()?;
        named(&names, word)?.ok_or_else(|| {
            let known: Vec<String> = names.into_keys().collect();
            unknown(T::TITLE, word, &known)
        })
    }

    /// Returns the documents that these arguments name, or the mistakes of all files together.
    pub(crate) fn find_all<'w, T: Document>(
        &self,
        words: impl IntoIterator<Item = &'w str>,
        base: &Path,
    ) -> Result<Vec<Listed<T>>, RunnerError> {
        let mut found = Vec::new();
        let mut mistakes = Vec::new();
        for word in words {
            match self.find_each(word, base) {
                Ok(listed) => found.extend(listed),
                Err(RunnerError::Mistakes(more)) => mistakes.extend(more),
                Err(error) => return Err(error),
            }
        }
        match mistakes.is_empty() {
            true => Ok(found),
            false => Err(RunnerError::Mistakes(mistakes)),
        }
    }

    pub(crate) fn find_suite_or_scenarios(&self, word: &str) -> Result<Named, RunnerError> {
        if is_path(word) {
            return open_suite_or_scenarios(Path::new(word));
        }
        let suites = self.names::<Suite>()?;
        let scenarios = self.names::<Scenario>()?;
        let is_renamed_suite =
            || !scenarios.contains_key(word) && suites.contains_key(present_name(word));
        if suites.contains_key(word) || is_renamed_suite() {
            let suite = self.find(word, Path::new(""))?;
            return Ok(Named::Suite(Box::new(suite)));
        }
        if let Some(found) = named(&scenarios, word)? {
            return Ok(Named::Scenarios(found));
        }
        let known: Vec<String> = suites.into_keys().chain(scenarios.into_keys()).collect();
        Err(unknown("suite or scenario", word, &known))
    }

    fn all<T: Document>(&self) -> Result<Vec<Listed<T>>, RunnerError> {
        let mut all = Vec::new();
        for (name, place) in self.names::<T>()? {
            if place.members.is_empty() {
                all.extend(open_place(&place, &name)?);
            }
        }
        Ok(all)
    }

    fn names<T: Document>(&self) -> Result<BTreeMap<String, Place>, RunnerError> {
        index::names::<T>(self.overlay.as_deref())
    }
}

pub(crate) fn is_path(word: &str) -> bool {
    word.contains('/') || word.starts_with('.') || word.ends_with(".yaml") || word.ends_with(".yml")
}

/// Documents of the library that had another name in earlier versions: the earlier name, and the
/// present one. Documents of a user with the earlier name take precedence.
const RENAMED: [(&str, &str); 7] = [
    ("answer-350b", "response-350b"),
    ("answer-8kib", "response-8kib"),
    ("answer-32kib", "response-32kib"),
    ("answer-1mib", "response-1mib"),
    ("answer-100mib", "response-100mib"),
    ("answers", "responses"),
    ("global-policy-irrelevant", "global-policy-100"),
];

fn present_name(word: &str) -> &str {
    let renamed = RENAMED.iter().find(|(earlier, _)| *earlier == word);
    renamed.map_or(word, |(_, present)| present)
}

/// An error lists all known names only if there are at most this many.
const LISTED_MAX: usize = 16;

fn unknown(kind: &str, word: &str, known: &[String]) -> RunnerError {
    let similar = similar(word, known);
    let meant = match similar.as_slice() {
        [] if known.len() <= LISTED_MAX => format!("known names are {}; ", known.join(", ")),
        [] => String::new(),
        names => format!("did you mean {}? ", names.join(" or ")),
    };
    RunnerError::words(
        format!("there is no {kind} '{word}'"),
        format!("{meant}`gatebench list` prints all names; give a file as ./NAME.yaml"),
    )
}

/// Returns at most four names that contain the word. If none does, returns the most similar name,
/// provided that it is similar enough.
fn similar<'k>(word: &str, known: &'k [String]) -> Vec<&'k str> {
    let names = || known.iter().map(String::as_str);
    let containing: Vec<&str> = names().filter(|it| it.contains(word)).take(4).collect();
    match containing.is_empty() {
        true => nearest(word, names()).into_iter().collect(),
        false => containing,
    }
}

/// Returns the document with this name, or the documents of the family with this name, each from
/// the file that defines it; `None` if there is no such name.
fn named<T: Document>(
    names: &BTreeMap<String, Place>,
    word: &str,
) -> Result<Option<Vec<Listed<T>>>, RunnerError> {
    let word = match names.contains_key(word) {
        true => word,
        false => present_name(word),
    };
    let Some(place) = names.get(word) else {
        return Ok(None);
    };
    if place.members.is_empty() {
        return open_place(place, word).map(Some);
    }
    let mut documents = Vec::new();
    for member in &place.members {
        for listed in open_place(names.get(member).unwrap_or(place), member)? {
            let word = word.to_owned();
            documents.push(Listed { word, ..listed });
        }
    }
    Ok(Some(documents))
}

/// Returns the document with this name from a file that may describe several documents.
fn open_place<T: Document>(place: &Place, name: &str) -> Result<Vec<Listed<T>>, RunnerError> {
    let mut documents = open::<T>(&place.source, name)?;
    if documents.len() > 1 {
        documents.retain(|it| it.document.name() == name);
    }
    Ok(documents)
}

fn open<T: Document>(source: &Source, word: &str) -> Result<Vec<Listed<T>>, RunnerError> {
    let documents = match source {
        Source::File(path) => read_all(path)?,
        Source::Embedded(path) => {
            let name = Path::new("scenarios").join(path).display().to_string();
            let folder = path.parent().unwrap_or(Path::new(""));
            let read_file = |path: &Path| {
                let bytes = index::embedded_bytes(&folder.join(path));
                bytes.ok_or_else(|| std::io::ErrorKind::NotFound.into())
            };
            parse_all(&name, index::embedded_text(path), &read_file)
                .map_err(|mistakes| RunnerError::Mistakes(vec![mistakes]))?
        }
    };
    let listed = |document| Listed {
        document,
        source: source.clone(),
        word: word.to_owned(),
    };
    Ok(documents.into_iter().map(listed).collect())
}

/// Opens a file as a suite if a key identifies it as one. Any other file is read as scenarios, so
/// that the error shows what is missing. For a folder, the file is `suite.yaml`.
fn open_suite_or_scenarios(path: &Path) -> Result<Named, RunnerError> {
    let in_folder = path.join(SUITE_FILE);
    let path = if path.is_dir() { &in_folder } else { path };
    let text = std::fs::read_to_string(path).map_err(|error| RunnerError::File {
        path: path.into(),
        message: format!("cannot read the file: {error}"),
        remedy: "give the name of a suite or a scenario, or the path of a file".into(),
    })?;
    let word = path.display().to_string();
    let source = Source::File(path.into());
    let is_suite = index::kind_of(&text).is_some_and(|(kind, _)| kind == Suite::KEY);
    if is_suite && let Some(suite) = open(&source, &word)?.pop() {
        return Ok(Named::Suite(Box::new(suite)));
    }
    Ok(Named::Scenarios(open(&source, &word)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_suggested_for_an_unknown_one() {
        let library = Library::default();
        let remedy = |word: &str| {
            let found = library.find_each::<Scenario>(word, Path::new(""));
            found.unwrap_err().remedy()
        };
        assert!(remedy("jwt").starts_with("did you mean jwt-hs256 or jwt-rs256? `gatebench list`"));
        assert!(remedy("proxi-json").starts_with("did you mean proxy-json? "));
        let unknown = library.find_suite_or_scenarios("nginx").err().unwrap();
        assert!(unknown.remedy().contains("`gatebench list`"));
    }

    #[test]
    fn documents_are_found_by_their_earlier_names() {
        let library = Library::default();
        for (earlier, present) in RENAMED {
            let names: Vec<String> = match library.find_suite_or_scenarios(earlier).unwrap() {
                Named::Suite(it) => vec![it.document.suite],
                Named::Scenarios(all) => all.into_iter().map(|it| it.document.scenario).collect(),
            };
            assert_eq!(names, [present]);
        }
        let folder = tempfile::tempdir().unwrap();
        let text = "scenario: answers\ntitle: mine\nupstream: ping\n\
                    routes: [{name: r, path: /ping}]\nrequests: [{path: /ping}]\n";
        std::fs::write(folder.path().join("own.yaml"), text).unwrap();
        let library = Library::new(Some(folder.path().into()));
        let Ok(Named::Scenarios(own)) = library.find_suite_or_scenarios("answers") else {
            panic!("the user's scenario is not found");
        };
        assert_eq!(own[0].document.title, "mine");
    }

    #[test]
    fn the_first_key_of_a_file_determines_its_kind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.yaml");
        std::fs::write(
            &path,
            "suite: x\ntitle: t\ngateways: [nginx]\nscenarios: [a]\nload: l\nblocks: 1\n",
        )
        .unwrap();
        let word = path.to_str().unwrap();
        assert!(matches!(
            Library::default().find_suite_or_scenarios(word),
            Ok(Named::Suite(_))
        ));
        std::fs::write(&path, "title: t\n").unwrap();
        assert!(matches!(
            Library::default().find_suite_or_scenarios(word),
            Err(RunnerError::Mistakes(_))
        ));
    }
}
