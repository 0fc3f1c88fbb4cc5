//! Web pages for the runs in a folder. The serving process measures nothing. It reads the files of
//! run directories, even while another process writes them.
//!
//! The findings come from `studies`, the figures of each second from `store`, and the drawing code
//! for all charts from `report`.

mod app;
mod bounds;
mod charts;
mod events;
mod files;
mod folder;
mod frames;
mod guard;
mod headed;
mod launch;
mod live;
mod pages;
mod place;
mod problem;
mod query;
mod route;
mod rows;
mod secret;
mod server;
mod shared;
mod stalled;
mod view;

pub use folder::Folder;
pub use launch::{Choice, Launch};
pub use server::{ServeError, Server, Settings, Stop};
