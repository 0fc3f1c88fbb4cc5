//! The folder that an import creates.

use std::fmt::Write as _;

use gatebench_config::{Document, parse_with_files};
use gatebench_model::{LoadProfile, Scenario, Suite};
use serde::Serialize;
use serde_json::Value;

use crate::error::ImportError;
use crate::log::{Effect, Note};
use crate::yaml;

/// The file of the suite, which `gatebench run FOLDER` runs.
pub(crate) const SUITE_FILE: &str = "suite.yaml";

/// The width of a comment in characters.
const COMMENT_CHARS_MAX: usize = 98;

/// A file of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// Its path relative to the folder.
    pub path: String,
    pub text: String,
    /// True if only the owner may read it.
    pub has_secrets: bool,
}

/// The result of an import.
#[derive(Clone, Debug, Default)]
pub struct Folder {
    pub files: Vec<NewFile>,
    /// The parts of the input that the files do not contain in the same form.
    pub notes: Vec<Note>,
    /// Facts about the input, each as a line for the reader.
    pub facts: Vec<String>,
}

impl Folder {
    /// The notes with an effect.
    pub fn notes_with(&self, effect: Effect) -> impl Iterator<Item = &Note> {
        self.notes.iter().filter(move |note| note.effect == effect)
    }

    /// Adds a file with an unchanged text.
    pub(crate) fn add_text(&mut self, path: &str, text: &str, has_secrets: bool) {
        self.files.push(NewFile {
            path: path.into(),
            text: text.into(),
            has_secrets,
        });
    }

    pub(crate) fn add_scenario(
        &mut self,
        path: &str,
        comments: &[String],
        scenario: &Scenario,
    ) -> Result<(), ImportError> {
        let has_secrets = !scenario.secrets().is_empty();
        self.add(path, comments, scenario, has_secrets)
    }

    pub(crate) fn add_load(
        &mut self,
        path: &str,
        comments: &[String],
        load: &LoadProfile,
    ) -> Result<(), ImportError> {
        self.add(path, comments, load, false)
    }

    pub(crate) fn add_suite(
        &mut self,
        comments: &[String],
        suite: &Suite,
    ) -> Result<(), ImportError> {
        self.add(SUITE_FILE, comments, suite, false)
    }

    /// Adds a document, and reads it again as `gatebench run` will: values that the input allows
    /// but gatebench does not are reported as mistakes of the generated file.
    fn add<T: Document + Serialize>(
        &mut self,
        path: &str,
        comments: &[String],
        document: &T,
        has_secrets: bool,
    ) -> Result<(), ImportError> {
        let mut value = serde_json::to_value(document).unwrap_or(Value::Null);
        yaml::without_defaults(&mut value);
        let mut text = String::new();
        for comment in comments {
            let _ = writeln!(text, "{}", commented(comment));
        }
        text += &yaml::write(&value);
        let read = |wanted: &std::path::Path| {
            let mut files = self.files.iter();
            let found = files.find(|file| std::path::Path::new(&file.path) == wanted);
            let found = found.ok_or(std::io::ErrorKind::NotFound)?;
            Ok(found.text.clone().into_bytes())
        };
        parse_with_files::<T>(path, &text, &read).map_err(Box::new)?;
        self.add_text(path, &text, has_secrets);
        Ok(())
    }
}

/// A YAML comment, wrapped between words.
fn commented(text: &str) -> String {
    let mut lines = vec!["#".to_owned()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a first line");
        if line.len() > 1 && line.chars().count() + 1 + word.chars().count() > COMMENT_CHARS_MAX {
            lines.push(format!("# {word}"));
        } else {
            *line += &format!(" {word}");
        }
    }
    lines.join("\n")
}
