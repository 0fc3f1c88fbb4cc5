//! XML for the reference gateway: safe wrappers for libxml2 and libxslt, and the SOAP/XML policies
//! built on them, which validate, transform and route messages. Stylesheets in XSLT 2.0 and 3.0 are
//! run by SaxonC in separate processes ([`saxon`]). This crate does not use HTTP, and uses the file
//! system only to communicate with these processes.
//!
//! The following process-wide state is set once, before the libraries are first used: their
//! allocator and loader, libxslt's message handler and security preferences, and the handler of the
//! timer signal that limits CPU time. The allocator, the loader and the handlers act on the state
//! of the calling thread. A library's message goes to the collector of the call that caused it.
//!
//! No message can cause a file or URL to be read. Messages must not have a document type, the
//! loader provides only the files lent to the compiling thread, and stylesheets may neither read
//! nor write.

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
