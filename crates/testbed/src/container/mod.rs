//! Runs a command in a container of docker or podman: creates the container, passes on its output,
//! ends and removes it.
//!
//! This module does not know that the command is a gateway, nor the origin of its files.

mod api;
mod engine;
mod exec;
mod frames;
mod main;
mod spec;

pub(crate) use engine::{Engine, LABEL};
pub(crate) use exec::run_inside;
pub(crate) use frames::divide;
pub(crate) use main::ContainerMain;
pub(crate) use spec::{ContainerSpec, ulimits};

/// Reports whether there is a container engine, or the environment names one.
pub(crate) fn has_engine() -> bool {
    engine::is_named() || Engine::find().is_ok()
}

/// Removes the containers that the supervisor with this process ID left if it was killed.
pub(crate) fn remove_of(spec: &ContainerSpec, supervisor: u32) {
    let engine = Engine::at(&spec.socket);
    // Without an engine, no containers can be running.
    let _ = engine.remove_where(|owner| owner.pid() == supervisor && owner.is_gone());
}
