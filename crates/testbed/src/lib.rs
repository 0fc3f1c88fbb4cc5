//! Brings up and takes down what a trial needs, and watches it: gateways, upstreams, Redis and load
//! generators, as processes, in containers or on another host. A gateway is a folder of data; no code
//! here knows one by name.
//!
//! A caller finds a [`Folder`] in the [`Catalogue`], and [`GatewayStart::start`] gives a [`Running`]
//! gateway whose end is that of all its processes. [`probe`] reads the counters of those processes.
//!
//! Nothing here measures latency, judges a figure or writes a run directory.
//!
//! Each module may use those below it:
//!
//! ```text
//! services   remote
//! install
//! gateway
//! process             probe
//! container   error
//! system
//! ```

mod container;
mod error;
mod gateway;
mod install;
pub mod probe;
mod process;
mod remote;
mod services;
mod system;

pub use error::{DriverError, Unsupported};
pub use gateway::{
    AdminCalls, AdminRequest, Attached, CERTIFICATE_FILE, Catalogue, Folder, FoundBinary,
    FoundImage, GatewayStart, KEY_FILE, Opening, Origin, Ports, RenderedFile, Running, SERVER_NAME,
    UPSTREAM_KEEPALIVE, Wiring, changed_input_for, fatal_line, input_for, render,
};
pub use install::{Builds, InstallStep, Revision, RevisionError, install_steps};
pub use process::{Launcher, Root, supervise};
pub use remote::{LIFE_SIGN, Link, READY};
pub use services::{
    FoundRedis, GeneratorProcess, GeneratorStart, RedisProcess, RedisStart, UpstreamProcess,
    UpstreamStart, ask_generator,
};
pub use system::exit::{Ended, Exit};
pub use system::limit::{Amount, Group, Limit};
pub use system::private::write_private;
pub use system::unix_socket::connect as connect_unix;
