//! A page in the browser for the runs of a folder, in a process that measures nothing: it follows
//! the files of run directories, also while another process writes them.
//!
//! [`Server::bind`] opens the port, [`Server::url`] is the address with its token, and
//! [`Server::run`] serves until it is stopped. All figures come from `studies`, and all drawings
//! come from `report`. `pages` has a module for each page, `guard` decides who may read them, and
//! `events` sends changes to open pages.

mod app;
mod bounds;
mod charts;
mod events;
mod files;
mod folder;
mod frames;
mod guard;
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
mod view;

pub use folder::Folder;
pub use launch::{Choice, Launch};
pub use server::{ServeError, Server, Settings, Stop};
