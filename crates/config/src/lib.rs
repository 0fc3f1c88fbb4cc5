//! Reads the YAML files that users write and checks each value against a JSON Schema. All mistakes
//! in a file are reported at once, each with its place in the text, unless one of them, such as a
//! YAML syntax error, ends the check. The crate does not depend on any particular kind of file.

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
