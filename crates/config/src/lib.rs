//! Reads the YAML files that users write: each value with its place in the text, checked against a
//! JSON Schema. Reports all mistakes of a file at once. The crate is independent of particular
//! kinds of files.

mod conform;
mod diagnostic;
mod document;
mod duration;
mod node;
pub mod schema_fragments;
mod sheet;
pub mod suggest;
mod yaml;

pub use diagnostic::{Diagnostic, Diagnostics, Problem};
pub use document::{
    Document, ReadError, ReadFile, parse, parse_all, parse_with_files, read, read_all, read_tree,
    tree,
};
pub use duration::{DurationError, HumanDuration};
pub use node::{Data, Entry, Node};
pub use sheet::{Sheet, SheetKind, YamlError, yaml_value};
