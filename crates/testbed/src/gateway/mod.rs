//! Finds, starts, changes and stops a gateway, and renders its files, according to its folder.
//!
//! A gateway is added as a folder, without changes to this module. This module sends requests only
//! to check whether a gateway responds, and to perform the actions of its folder.

mod action;
mod admin;
mod attach;
mod binary;
mod catalogue;
mod config;
mod control_plane;
mod folder;
mod input;
mod limiter;
mod ready;
mod render;
mod start;

pub use admin::{AdminCalls, AdminRequest};
pub use attach::Attached;
pub use binary::{FoundBinary, FoundGateway};
pub use catalogue::Catalogue;
pub use folder::{ConfigText, Folder, Origin};
pub(crate) use input::{CERTIFICATE_FILE, KEY_FILE};
pub use input::{Wiring, changed_input_for, input_for};
pub(crate) use limiter::can_hold;
pub use limiter::{Limiter, refusal_of_groups};
pub use ready::Opening;
pub use render::{RenderedFile, render};
pub use start::{GatewayStart, LocalGateway, Started};
pub(crate) use start::{on_usable_port, rehearse};

pub use crate::system::limit::NO_GROUPS;
