//! Files of users to the types of this crate, with every mistake of a file at once.
//!
//! Text → [`Node`](crate::node::Node) with places → held against the published schema → repeats and
//! files written out → the rules that a schema cannot say → the type. The types are the one source of truth: the schema is generated
//! from them.

use std::collections::HashSet;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::data::Rows;
use crate::diagnostic::{Diagnostics, Problem};
use crate::files::{self, ReadBeside};
use crate::node::Node;
use crate::{
    FileKind, GatewayFolder, LoadProfile, Scenario, Source, Specification, Suite, conform, parity,
    repeat, rules, schema, yaml,
};

/// A kind of file that users write.
pub trait Document: DeserializeOwned {
    /// Which one.
    const KIND: FileKind;

    /// Takes rows that were read from files, each for the source of a name.
    fn attach(&mut self, rows: Vec<(String, Rows)>) {
        // Only scenarios name files of rows.
        drop(rows);
    }
}

impl Document for Scenario {
    const KIND: FileKind = FileKind::Scenario;

    fn attach(&mut self, rows: Vec<(String, Rows)>) {
        for (name, rows) in rows {
            if let Some(Source::List(list)) = self.data.get_mut(&name) {
                list.values = rows;
            }
        }
    }
}

impl Document for LoadProfile {
    const KIND: FileKind = FileKind::Load;
}

impl Document for Suite {
    const KIND: FileKind = FileKind::Suite;
}

impl Document for Specification {
    const KIND: FileKind = FileKind::Specification;
}

impl Document for GatewayFolder {
    const KIND: FileKind = FileKind::Gateway;
}

/// Why a file could not be had.
#[derive(Debug, Error)]
pub enum ReadError {
    /// It cannot be read.
    #[error("the {kind} file {} cannot be read: {source}; check the path and its permissions", path.display())]
    Io {
        /// What it was to be, in words.
        kind: &'static str,
        /// Its path.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It was read, and has mistakes.
    #[error(transparent)]
    Mistakes(#[from] Diagnostics),
}

/// Reads a YAML file.
///
/// # Errors
/// The file cannot be read, or has mistakes: then all of them.
pub fn read<T: Document>(path: &Path) -> Result<T, ReadError> {
    let text = std::fs::read_to_string(path).map_err(|source| ReadError::Io {
        kind: T::KIND.title(),
        path: path.into(),
        source,
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let beside = |path: &Path| std::fs::read(folder.join(path));
    Ok(parse_beside(&path.display().to_string(), &text, &beside)?)
}

/// Reads YAML text that stands alone: files that it names are not found. `file` is the name that
/// mistakes are reported under.
///
/// # Errors
/// All mistakes of the text, each with its place and its remedy.
pub fn parse<T: Document>(file: &str, text: &str) -> Result<T, Diagnostics> {
    parse_beside(file, text, &|_| Err(io::ErrorKind::NotFound.into()))
}

/// Reads YAML text; files that it names are read by `beside`.
///
/// # Errors
/// All mistakes of the text and of these files, each with its place in the text and its remedy.
pub fn parse_beside<T: Document>(
    file: &str,
    text: &str,
    beside: ReadBeside<'_>,
) -> Result<T, Diagnostics> {
    let (root, mut problems) = yaml::load(text);
    let Some(mut root) = root else {
        if problems.is_empty() {
            problems.push(Problem::new(0..0, "the file is empty", example(T::KIND)));
        }
        return Err(Diagnostics::new(file, text, problems));
    };
    problems.extend(conform::conform(
        &mut root,
        &schema(T::KIND),
        T::KIND.title(),
        text,
    ));
    let attachments = write_out(T::KIND, &mut root, text, beside, &mut problems);
    if !problems.is_empty() {
        return Err(Diagnostics::new(file, text, problems));
    }
    match serde_json::from_value::<T>(root.to_json()) {
        Ok(mut document) => {
            document.attach(attachments);
            Ok(document)
        }
        Err(error) => {
            let help = format!("compare it with `gatebench schema {}`", T::KIND);
            let problem = Problem::new(root.head(), error.to_string(), help);
            Err(Diagnostics::new(file, text, vec![problem]))
        }
    }
}

/// Writes out what is repeated and what is read from files, and looks for what a schema cannot say.
fn write_out(
    kind: FileKind,
    root: &mut Node,
    text: &str,
    beside: ReadBeside<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<(String, Rows)> {
    if kind != FileKind::Scenario {
        problems.extend(rules::check(kind, root, text, &[]));
        return Vec::new();
    }
    let repeated = repeat::expand(root, problems);
    let attachments = files::resolve(root, beside, problems);
    let mut told: HashSet<Range<usize>> = HashSet::new();
    let once = |problem: &Problem| {
        let span = &problem.span;
        let copied = |item: &Range<usize>| item.start <= span.start && span.end <= item.end;
        !repeated.iter().any(copied) || told.insert(span.clone())
    };
    problems.extend(
        rules::check(kind, root, text, &attachments)
            .into_iter()
            .filter(once),
    );
    parity::as_sent(root);
    attachments
}

fn example(kind: FileKind) -> String {
    match kind {
        FileKind::Scenario => "begin with `gatebench new scenario NAME`".into(),
        FileKind::Gateway => "begin with `gatebench new gateway NAME`".into(),
        _ => format!("write what `gatebench schema {kind}` describes"),
    }
}
