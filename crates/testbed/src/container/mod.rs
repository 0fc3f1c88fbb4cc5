//! Runs a command in a container of docker or podman: makes the container, passes on what it writes,
//! ends it and removes it.
//!
//! It must not know that the command is a gateway, nor where its files come from.

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

/// Reports whether there is a container engine, or one is named that should be there.
pub(crate) fn has_engine() -> bool {
    engine::is_named() || Engine::find().is_ok()
}

/// Removes what the supervisor with this process ID left behind if it was killed.
pub(crate) fn remove_of(spec: &ContainerSpec, supervisor: u32) {
    let engine = Engine::at(&spec.socket);
    // An engine that is gone has no containers that run.
    let _ = engine.remove_where(|owner| owner.pid() == supervisor && owner.is_gone());
}
