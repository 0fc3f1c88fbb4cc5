//! Files that are kept after they are read, so that semantic mistakes can be reported together with
//! violations of the schema, each at its place.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::diagnostic::{Diagnostic, Diagnostics, Problem};
use crate::document::{described, tree_or};
use crate::node::{Data, Node};
use crate::{conform, yaml};

/// A kind of file, with the schema that files are checked against.
#[derive(Clone, Copy, Debug)]
pub struct SheetKind<'a> {
    /// The name in sentences.
    pub title: &'a str,
    /// The name in `gatebench schema WORD`.
    pub word: &'a str,
    /// The schema that schemars generates from the type.
    pub schema: &'a Value,
}

/// A file and its mistakes so far.
#[derive(Clone, Debug)]
pub struct Sheet {
    file: String,
    text: String,
    word: String,
    schema: Value,
    root: Node,
    problems: Vec<Problem>,
    /// The number of mistakes that were found when the file was opened. They come first in
    /// `problems`.
    of_form: usize,
}

impl Sheet {
    /// Parses YAML text and checks it against its schema. `file` is the file name in reports of
    /// mistakes.
    ///
    /// # Errors
    /// Fails if no tree can be built from the text, for example because it is empty or not YAML.
    pub fn open(file: &str, text: &str, kind: SheetKind<'_>) -> Result<Self, Diagnostics> {
        let (mut root, mut problems) = yaml::root(file, text, described(kind.word))?;
        problems.extend(conform::conform(&mut root, kind.schema, kind.title, text));
        Ok(Self {
            file: file.into(),
            text: text.into(),
            word: kind.word.into(),
            schema: kind.schema.clone(),
            root,
            of_form: problems.len(),
            problems,
        })
    }

    /// Converts the file to a value. If mistakes that were found when the file was opened prevent
    /// this, the invalid parts are dropped or replaced, so that the meaning of the rest can be
    /// checked. Returns `None` if there is still no value; the file then has at least one mistake.
    pub fn value<T: DeserializeOwned>(&mut self) -> Option<T> {
        match serde_json::from_value(self.root.to_json()) {
            Ok(value) => Some(value),
            Err(_) if self.of_form > 0 => {
                let mended = conform::mended(&self.root, &self.schema);
                serde_json::from_value(mended).ok()
            }
            Err(error) => {
                if self.problems.is_empty() {
                    self.report("", &error.to_string(), None);
                }
                None
            }
        }
    }

    /// Adds a mistake at a place, given as a JSON Pointer (RFC 6901). If the place is not in the
    /// file, the mistake is reported at the innermost value on the path to it. If a mistake was
    /// found at this place when the file was opened, nothing is added. The default remedy names the
    /// schema of the file.
    pub fn report(&mut self, pointer: &str, message: &str, help: Option<&str>) {
        let span = found(&self.root, pointer);
        let mut of_form = self.problems[..self.of_form].iter();
        if of_form.any(|problem| problem.span == span) {
            return;
        }
        let schema = || format!("compare it with `gatebench schema {}`", self.word);
        let help = help.map_or_else(schema, ToOwned::to_owned);
        self.problems.push(Problem::new(span, message, help));
    }

    /// # Errors
    /// Returns all mistakes in the file.
    pub fn finish(&self) -> Result<(), Diagnostics> {
        if self.problems.is_empty() {
            return Ok(());
        }
        let problems = self.problems.clone();
        Err(Diagnostics::new(&self.file, &self.text, problems))
    }
}

/// The first mistake in a YAML document. The message ends with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {}: {}; {}", .0.line, .0.message, .0.help)]
pub struct YamlError(Diagnostic);

/// Converts a YAML document to JSON.
///
/// # Errors
/// Returns the first mistake in the document.
pub fn yaml_value(text: &str) -> Result<Value, YamlError> {
    match tree_or("", text, "write a document") {
        Ok(root) => Ok(root.to_json()),
        Err(mistakes) => Err(YamlError(mistakes.all()[0].clone())),
    }
}

/// The byte range of the [head](Node::head) of the value at a pointer, or of the innermost value on
/// the path to it.
fn found(root: &Node, pointer: &str) -> std::ops::Range<usize> {
    let mut node = root;
    for token in pointer.split('/').skip(1) {
        let key = token.replace("~1", "/").replace("~0", "~");
        let next = match &node.data {
            Data::List(items) => key.parse::<usize>().ok().and_then(|at| items.get(at)),
            Data::Map(_) => node.get(&key),
            _ => None,
        };
        let Some(next) = next else {
            return node.head();
        };
        node = next;
    }
    node.head()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Garden {
        beds: Vec<Bed>,
    }

    #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Bed {
        plant: String,
        rows: u32,
    }

    fn sheet(text: &str) -> Sheet {
        let schema = schemars::schema_for!(Garden).to_value();
        let kind = SheetKind {
            title: "garden",
            word: "garden",
            schema: &schema,
        };
        Sheet::open("garden.yaml", text, kind).unwrap()
    }

    fn lines(sheet: &Sheet) -> Vec<String> {
        let mistakes = sheet.finish().unwrap_err();
        mistakes.all().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn schema_violations_and_semantic_mistakes_are_reported_together() {
        let mut sheet = sheet("beds:\n  - plnt: leek\n    rows: 0\n  - {plant: kale, rows: 2}\n");
        let garden: Garden = sheet.value().unwrap();
        assert_eq!(garden.beds[0].plant, "leek");
        assert_eq!(garden.beds[1].rows, 2);
        sheet.report("/beds/0/rows", "no row", Some("write 1"));
        sheet.report("/beds/1/roots/3", "no roots; add some", Some("or not"));
        sheet.report("", "too small", None);
        let lines = lines(&sheet);
        assert!(lines[0].starts_with("garden.yaml:1:1: too small; compare"));
        assert!(lines[1].starts_with("garden.yaml:2:5: "), "{lines:?}");
        assert_eq!(lines[2], "garden.yaml:3:11: no row; write 1");
        assert_eq!(lines[3], "garden.yaml:4:6: no roots; add some; or not");
    }

    #[test]
    fn a_value_of_the_wrong_type_hides_no_other_mistake() {
        let text = "beds:\n  - {plant: leek, rows: many}\n  - {plant: 7, rows: 0}\n  - kale\n  - {rows: 3}\n";
        let mut sheet = sheet(text);
        let garden: Garden = sheet.value().unwrap();
        let beds: Vec<_> = garden
            .beds
            .iter()
            .map(|bed| (&*bed.plant, bed.rows))
            .collect();
        assert_eq!(beds, [("leek", 1), ("", 0), ("", 1), ("", 3)]);
        sheet.report("/beds/1/rows", "no row", Some("write 1"));
        sheet.report("/beds/1/plant", "no name", Some("write one"));
        sheet.report("/beds/2/plant", "no name", Some("write one"));
        let lines = lines(&sheet);
        assert_eq!(lines.len(), 5, "{lines:#?}");
        assert_eq!(lines[2], "garden.yaml:3:22: no row; write 1");
    }

    #[test]
    fn json_is_yaml() {
        let mut sheet = sheet("{\"beds\": [{\"plant\": \"k\\u00e4\\/le\", \"rows\": 2}]}");
        assert_eq!(sheet.value::<Garden>().unwrap().beds[0].plant, "kä/le");
        sheet.finish().unwrap();
    }
}
