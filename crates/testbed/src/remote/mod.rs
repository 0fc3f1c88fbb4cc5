//! gatebench on another host, by the user's own `ssh` with its configuration, keys and agent.
//!
//! ```text
//! gatebench ──stdin, stdout of one ssh──> gatebench there ──> supervisor ──> gateway
//! ```
//! One connection carries everything: the program itself if the host does not have it, and then
//! lines in both directions. If the connection, `ssh` or gatebench breaks, the standard input there
//! ends, and with it what runs there.
//!
//! It must not know what the lines mean, nor what runs at the other end.

mod complaint;
mod link;
mod script;

pub use link::{LIFE_SIGN, Link, READY};
