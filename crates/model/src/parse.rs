//! Files of users to the types of this crate, with every mistake of a file at once.
//!
//! Text → [`Node`](crate::node::Node) with places → held against the published schema → the rules that
//! a schema cannot say → the type. The types are the one source of truth: the schema is generated
//! from them.

use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::diagnostic::{Diagnostics, Problem};
use crate::{FileKind, GatewayFolder, LoadProfile, Scenario, Suite, conform, rules, schema, yaml};

/// A kind of file that users write.
pub trait Document: DeserializeOwned {
    /// Which one.
    const KIND: FileKind;
}

impl Document for Scenario {
    const KIND: FileKind = FileKind::Scenario;
}

impl Document for LoadProfile {
    const KIND: FileKind = FileKind::Load;
}

impl Document for Suite {
    const KIND: FileKind = FileKind::Suite;
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
    Ok(parse(&path.display().to_string(), &text)?)
}

/// Reads YAML text; `file` is the name that mistakes are reported under.
///
/// # Errors
/// All mistakes of the text, each with its place and its remedy.
pub fn parse<T: Document>(file: &str, text: &str) -> Result<T, Diagnostics> {
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
    problems.extend(rules::check(T::KIND, &root));
    if !problems.is_empty() {
        return Err(Diagnostics::new(file, text, problems));
    }
    serde_json::from_value(root.to_json()).map_err(|error| {
        let help = format!("compare it with `gatebench schema {}`", T::KIND);
        Diagnostics::new(
            file,
            text,
            vec![Problem::new(root.head(), error.to_string(), help)],
        )
    })
}

fn example(kind: FileKind) -> String {
    match kind {
        FileKind::Scenario => "begin with `gatebench new scenario NAME`".into(),
        FileKind::Gateway => "begin with `gatebench new gateway NAME`".into(),
        _ => format!("write what `gatebench schema {kind}` describes"),
    }
}
