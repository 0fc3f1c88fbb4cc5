//! Runs a command in a Docker or Podman container: creates the container, passes on its output, and
//! removes it at the end.
//!
//! Nothing in this module depends on the purpose of the command or on the origin of its files.

mod api;
mod engine;
mod exec;
mod main;
mod spec;

pub(crate) use engine::{Engine, LABEL, has_engine};
pub(crate) use exec::{run_inside, text_of};
pub(crate) use main::ContainerMain;
pub(crate) use spec::{ContainerSpec, ulimits};

/// Removes the containers that a killed supervisor with this process ID left behind.
pub(crate) fn remove_of(spec: &ContainerSpec, supervisor: u32) {
    let engine = Engine::at(&spec.socket);
    // If this fails, the next supervisor that starts a container removes them.
    let _ = engine.remove_where(|owner| owner.pid() == supervisor && owner.is_gone());
}
