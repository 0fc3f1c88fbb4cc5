//! The folder that an import creates.

use std::fmt::Write as _;
use std::path::Path;

use gatebench_config::{Document, parse_with_files, write_yaml};
use gatebench_model::Scenario;
use serde::Serialize;
use serde_json::Value;

use crate::error::ImportError;
use crate::log::{Effect, Note};
use crate::omitted::without_defaults;

/// The suite file, which `gatebench run FOLDER` runs.
pub(crate) const SUITE_FILE: &str = "suite.yaml";

const COMMENT_CHARS_MAX: usize = 98;

/// A file of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// The path of the file relative to the folder.
    pub path: String,
    pub text: String,
    /// True if only the owner may read the file, because it may contain secrets.
    pub has_secrets: bool,
}

/// The result of an import.
#[derive(Clone, Debug, Default)]
pub struct Folder {
    pub files: Vec<NewFile>,
    /// Parts of the input that the files simplify or omit.
    pub notes: Vec<Note>,
    /// Facts about the input, one line each.
    pub facts: Vec<String>,
}

impl Folder {
    pub fn notes_with(&self, effect: Effect) -> impl Iterator<Item = &Note> {
        self.notes.iter().filter(move |note| note.effect == effect)
    }

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
        self.add(path, comments, scenario)?;
        if let Some(file) = self.files.last_mut() {
            file.has_secrets = !scenario.secrets().is_empty();
        }
        Ok(())
    }

    /// Adds a document, and parses it as `gatebench run` will. A value that gatebench does not
    /// allow is therefore reported as a mistake in the generated file.
    pub(crate) fn add<T: Document + Serialize>(
        &mut self,
        path: &str,
        comments: &[String],
        document: &T,
    ) -> Result<(), ImportError> {
        let mut value = serde_json::to_value(document).unwrap_or(Value::Null);
        without_defaults(&mut value);
        let mut text = String::new();
        for comment in comments {
            let _ = writeln!(text, "{}", commented(comment));
        }
        text += &write_yaml(&value);
        let read = |wanted: &Path| {
            let mut files = self.files.iter();
            let found = files.find(|file| Path::new(&file.path) == wanted);
            let found = found.ok_or(std::io::ErrorKind::NotFound)?;
            Ok(found.text.clone().into_bytes())
        };
        parse_with_files::<T>(path, &text, &read).map_err(Box::new)?;
        self.add_text(path, &text, false);
        Ok(())
    }
}

/// Converts a string to a YAML comment, wrapped between words.
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
