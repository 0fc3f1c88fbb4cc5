//! XML for the reference gateway: safe wrappers for libxml2 and libxslt, and the SOAP/XML policies
//! built on them, which take and return messages. This crate uses neither HTTP nor the file system.
//!
//! The only process-wide state is what the libraries require (their allocator, their loader, one
//! message handler of libxslt), set once before their first use; each of these delegates to the
//! calling thread. A library's message goes to the collector of the one call that caused it.
//!
//! No message can cause anything to be read: it may have no document type, the loader provides only
//! the files lent to the compiling thread, and stylesheets may neither read nor write.

mod document;
mod entities;
mod errors;
mod ffi;
mod imports;
mod limits;
mod loader;
mod output;
mod pool;
mod precheck;
mod process;
pub mod saxon;
mod schema;
pub mod soap;
mod stylesheet;
mod transform;
mod version;
mod xpath;

pub use document::{Document, Node};
pub use errors::{Complaint, Complaints, NO_DECLARATION, NOT_PARSED};
pub use imports::{Files, NoFiles, Unreadable};
pub use limits::Limits;
pub use process::{Budget, Spent};
pub use schema::Schema;
pub use stylesheet::{NulCharacter, Output, Parameters, Stylesheet};
pub use transform::{CompileError, Transform, TransformError, Transformed};
pub use version::library_versions;
pub use xpath::{Unevaluated, XPath};
