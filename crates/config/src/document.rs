//! Converts users' files to typed values, and reports the mistakes in a file together.
//!
//! The text becomes a tree of [`Node`]s, each with its place in the text. The tree is checked
//! against the schema of the type, completed, checked against the rules that a schema cannot
//! express, and converted to a value of the type. The types are the single source of truth: the
//! schemas are generated from them.

use std::io;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, schema_for};
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use crate::diagnostic::{Diagnostics, Problem};
use crate::node::Node;
use crate::{conform, yaml};

/// A function that reads a file. The path is relative to the folder of the file that names it.
pub type ReadFile<'f> = &'f dyn Fn(&Path) -> io::Result<Vec<u8>>;

/// A type of file that users write.
pub trait Document: DeserializeOwned + JsonSchema {
    /// The name used in sentences.
    const TITLE: &'static str;
    /// The name in `gatebench schema NAME`.
    const WORD: &'static str;

    /// Values that are read from other files and are not part of the tree.
    type Attachments;

    fn schema() -> Value {
        schema::<Self>(Self::TITLE)
    }

    /// The trees of the documents that a file describes [default: `root` alone].
    fn expand(root: Node, read_file: ReadFile<'_>, problems: &mut Vec<Problem>) -> Vec<Node> {
        let _ = (read_file, problems);
        vec![root]
    }

    /// Completes the tree, for example with the contents of the files that it names, and reports
    /// the mistakes that a schema cannot find. `root` was parsed from `text`.
    fn complete(
        root: &mut Node,
        text: &str,
        read_file: ReadFile<'_>,
        problems: &mut Vec<Problem>,
    ) -> Self::Attachments;

    fn attach(&mut self, attachments: Self::Attachments) {
        drop(attachments);
    }

    /// The remedy for an empty file.
    fn beginning() -> String {
        described(Self::WORD)
    }
}

/// The JSON Schema (draft 2020-12) of a type, titled `gatebench {title}`.
pub fn schema<T: JsonSchema>(title: &str) -> Value {
    let mut schema: Schema = schema_for!(T);
    schema.insert("title".into(), format!("gatebench {title}").into());
    schema.into()
}

/// The remedy for an empty file of the kind that `gatebench schema WORD` describes.
pub(crate) fn described(word: &str) -> String {
    format!("write a file as described by `gatebench schema {word}`")
}

/// The reason why [`read`] or [`read_all`] failed.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file does not exist, cannot be read, or is not UTF-8.
    #[error("the {kind} file {} cannot be read: {source}; check the path and its permissions", path.display())]
    Io {
        /// The [`TITLE`](Document::TITLE) of the expected kind of file.
        kind: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(transparent)]
    Mistakes(#[from] Diagnostics),
}

/// Reads a YAML file that describes one document.
///
/// # Errors
/// Fails if the file cannot be read or has mistakes. The error contains all mistakes, unless one of
/// them, such as a YAML syntax error, prevents building a tree and ends the check.
pub fn read<T: Document>(path: &Path) -> Result<T, ReadError> {
    let text = text_of::<T>(path)?;
    let name = path.display().to_string();
    Ok(parse_with_files(&name, &text, &next_to(path))?)
}

/// Reads a YAML file and returns the documents that it describes.
///
/// # Errors
/// Fails if the file cannot be read, or for the reasons for which [`parse_all`] fails.
pub fn read_all<T: Document>(path: &Path) -> Result<Vec<T>, ReadError> {
    let text = text_of::<T>(path)?;
    let name = path.display().to_string();
    Ok(parse_all(&name, &text, &next_to(path))?)
}

fn text_of<T: Document>(path: &Path) -> Result<String, ReadError> {
    std::fs::read_to_string(path).map_err(|source| ReadError::Io {
        kind: T::TITLE,
        path: path.into(),
        source,
    })
}

fn next_to(path: &Path) -> impl Fn(&Path) -> io::Result<Vec<u8>> {
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    move |path| std::fs::read(folder.join(path))
}

/// Parses YAML text into a tree without checking it against a schema. `file` is the file name in
/// reports of mistakes.
///
/// # Errors
/// Returns the duplicate keys in the text and the first mistake that prevents building a tree, each
/// with its place and its remedy.
pub fn read_tree(file: &str, text: &str) -> Result<Node, Diagnostics> {
    tree_or(file, text, "name another file")
}

/// Parses YAML text into a tree. `help` is the remedy for empty text.
pub(crate) fn tree_or(file: &str, text: &str, help: &str) -> Result<Node, Diagnostics> {
    let (root, problems) = yaml::root(file, text, help)?;
    match problems.is_empty() {
        true => Ok(root),
        false => Err(Diagnostics::new(file, text, problems)),
    }
}

/// Returns the tree of a document; `None` if no tree can be built, for example because the text is
/// empty or not YAML. Use [`parse`] to report the mistakes in the text.
pub fn tree(text: &str) -> Option<Node> {
    yaml::load(text).0
}

/// Parses YAML text that contains one document. `file` is the file name in reports of mistakes.
/// Every read of a file that the text names fails with [`io::ErrorKind::NotFound`].
///
/// # Errors
/// Returns the mistakes in the text, as [`parse_all`] does, each with its place and its remedy.
pub fn parse<T: Document>(file: &str, text: &str) -> Result<T, Diagnostics> {
    parse_with_files(file, text, &|_| Err(io::ErrorKind::NotFound.into()))
}

/// Parses YAML text that contains one document. `read_file` reads the files that the text names.
///
/// # Errors
/// Returns the mistakes in the text and in these files, as [`parse_all`] does, each with its place
/// in the text and its remedy.
pub fn parse_with_files<T: Document>(
    file: &str,
    text: &str,
    read_file: ReadFile<'_>,
) -> Result<T, Diagnostics> {
    let mut documents = parse_all(file, text, read_file)?;
    match documents.pop() {
        Some(document) if documents.is_empty() => Ok(document),
        _ => {
            let message = format!("the file describes several documents, not one {}", T::TITLE);
            let problem = Problem::new(0..0, message, "name one of them");
            Err(Diagnostics::new(file, text, vec![problem]))
        }
    }
}

/// Parses YAML text, and returns the documents that it describes, at least one. `read_file` reads
/// the files that the text names.
///
/// # Errors
/// If the text cannot be parsed, returns the mistake that prevents this and the duplicate keys
/// before it. Otherwise, returns all mistakes in the text and in the first document that has any.
pub fn parse_all<T: Document>(
    file: &str,
    text: &str,
    read_file: ReadFile<'_>,
) -> Result<Vec<T>, Diagnostics> {
    let (root, mut problems) = yaml::root(file, text, T::beginning())?;
    let mut documents = Vec::new();
    let schema = T::schema();
    for mut root in T::expand(root, read_file, &mut problems) {
        problems.extend(conform::conform(&mut root, &schema, T::TITLE, text));
        let attachments = T::complete(&mut root, text, read_file, &mut problems);
        if !problems.is_empty() {
            break;
        }
        match serde_json::from_value::<T>(root.to_json()) {
            Ok(mut document) => {
                document.attach(attachments);
                documents.push(document);
            }
            Err(error) => {
                let help = format!("compare it with `gatebench schema {}`", T::WORD);
                problems.push(Problem::new(root.head(), error.to_string(), help));
            }
        }
    }
    match problems.is_empty() {
        true => Ok(documents),
        false => Err(Diagnostics::new(file, text, problems)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Garden {
        #[schemars(extend("aliases" = ["herbs"]))]
        plants: Vec<String>,
        #[serde(skip)]
        label: Vec<u8>,
    }

    impl Document for Garden {
        const TITLE: &'static str = "kitchen garden";
        const WORD: &'static str = "garden";

        type Attachments = Vec<u8>;

        fn complete(
            root: &mut Node,
            _: &str,
            read_file: ReadFile<'_>,
            problems: &mut Vec<Problem>,
        ) -> Vec<u8> {
            let weeds = root.list("plants").iter();
            let weeds = weeds.filter(|plant| plant.text() == Some("weed"));
            problems.extend(weeds.map(|weed| weed.problem("a weed grows", "pull it")));
            read_file(Path::new("label")).unwrap_or_default()
        }

        fn attach(&mut self, label: Vec<u8>) {
            self.label = label;
        }
    }

    fn lines(text: &str) -> Vec<String> {
        let mistakes = parse::<Garden>("garden.yaml", text).unwrap_err();
        mistakes.all().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_document_is_read_with_its_attachments() {
        let read_file = |path: &Path| Ok(path.to_str().unwrap().into());
        let garden: Garden =
            parse_with_files("garden.yaml", "plants: [leek]\n", &read_file).unwrap();
        let expected = Garden {
            plants: vec!["leek".into()],
            label: b"label".into(),
        };
        assert_eq!(garden, expected);
        let alone: Garden = parse("garden.yaml", "plants: []\n").unwrap();
        assert!(alone.label.is_empty());
    }

    #[test]
    fn a_key_is_accepted_under_its_earlier_name() {
        let garden: Garden = parse("garden.yaml", "herbs: [leek]\n").unwrap();
        assert_eq!(garden.plants, ["leek"]);
        assert_eq!(
            lines("plants: []\nherbs: []\n"),
            [
                "garden.yaml:2:1: the kitchen garden has no key `herbs`; remove it; the keys here are `plants`"
            ]
        );
    }

    #[test]
    fn mistakes_against_schema_and_rules_are_reported_together() {
        assert_eq!(
            lines("plants:\n  - weed\nponds: 2\n"),
            [
                "garden.yaml:2:5: a weed grows; pull it",
                "garden.yaml:3:1: the kitchen garden has no key `ponds`; remove it; the keys here are `plants`",
            ]
        );
    }

    #[test]
    fn an_empty_file_names_the_schema() {
        assert_eq!(
            lines(""),
            [
                "garden.yaml:1:1: the file is empty; write a file as described by `gatebench schema garden`"
            ]
        );
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named_with_its_kind() {
        let error = read::<Garden>(Path::new("no/such/garden.yaml")).unwrap_err();
        let expected = "the kitchen garden file no/such/garden.yaml cannot be read: ";
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}
