//! Finds, renders, starts, changes and ends a gateway, as its folder describes it.
//!
//! It must not know a gateway by name, send the load or judge the result. It asks a gateway only
//! whether it is ready.

mod action;
mod admin;
mod attach;
mod binary;
mod catalogue;
mod config;
mod fatal;
mod folder;
mod input;
mod ready;
mod render;
mod running;
mod start;

pub use admin::{AdminCalls, AdminRequest};
pub use attach::Attached;
pub use binary::{FoundBinary, FoundImage};
pub use catalogue::Catalogue;
pub use fatal::fatal_line;
pub use folder::{Folder, Origin};
pub use input::{
    CERTIFICATE_FILE, KEY_FILE, SERVER_NAME, UPSTREAM_KEEPALIVE, Wiring, changed_input_for,
    input_for,
};
pub use ready::Opening;
pub use render::{RenderedFile, render};
pub use running::Running;
pub use start::{GatewayStart, Ports};
