//! How gateways and upstreams are found, rendered, started, seen to be ready, and ended without
//! leaving anything behind. A gateway is a folder of data; nothing here knows one by name.
//!
//! Drivers never measure.

mod action;
mod admin;
mod attach;
mod binary;
mod catalogue;
mod command;
mod config;
mod container;
mod credential;
mod digest;
mod error;
mod exit;
mod external;
mod fatal;
mod folder;
mod http;
mod input;
mod install;
mod installed;
mod launch;
mod level;
mod limit;
mod owner;
mod private;
mod proc;
mod quote;
mod ready;
mod redis;
mod remote;
mod render;
mod revision;
mod running;
mod start;
mod supervise;
mod unix_socket;
mod upstream;

pub use admin::{AdminCalls, AdminRequest};
pub use attach::Attached;
pub use binary::{FoundBinary, FoundImage};
pub use catalogue::Catalogue;
pub use error::{DriverError, Unsupported};
pub use exit::{Ended, Exit};
pub use external::{GeneratorProcess, GeneratorStart, ask_generator};
pub use fatal::fatal_line;
pub use folder::{Folder, Origin};
pub use input::{
    CERTIFICATE_FILE, KEY_FILE, SERVER_NAME, UPSTREAM_KEEPALIVE, Wiring, changed_input_for,
    input_for,
};
pub use install::{InstallStep, install_steps};
pub use launch::{Launcher, Root};
pub use limit::{Amount, Group, Limit};
pub use private::write_private;
pub use redis::{FoundRedis, RedisProcess, RedisStart};
pub use remote::{LIFE_SIGN, Link, READY};
pub use render::{RenderedFile, render};
pub use revision::{Builds, Revision, RevisionError};
pub use running::Running;
pub use start::{GatewayStart, Ports};
pub use supervise::supervise;
pub use unix_socket::connect as connect_unix;
pub use upstream::{UpstreamProcess, UpstreamStart};
