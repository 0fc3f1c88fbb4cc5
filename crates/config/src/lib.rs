//! Reads the YAML files that users write. Each value has its place in the text and is checked
//! against a JSON Schema, and all mistakes in a file are reported at once. The crate is independent
//! of particular kinds of files.

mod conform;
mod diagnostic;
mod document;
mod duration;
mod node;
pub mod schema_fragments;
mod sheet;
pub mod suggest;
mod write;
mod yaml;

pub use diagnostic::{Diagnostic, Diagnostics, Problem};
pub use document::{
    Document, ReadError, ReadFile, parse, parse_all, parse_with_files, read, read_all, read_tree,
    schema, tree,
};
pub use duration::{DurationError, HumanDuration};
pub use node::{Data, Entry, Node};
pub use sheet::{Sheet, SheetKind, YamlError, yaml_value};
pub use write::write_yaml;
