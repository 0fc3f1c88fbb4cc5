//! Runs a command in a running container, to change the gateway there.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::engine::Engine;
use super::frames::text_of;
use super::spec::ContainerSpec;
use crate::system::command::{Finished, no_end, wait_until};

/// Runs a command to its end in the gateway's container. After `timeout` the error is
/// [`io::ErrorKind::TimedOut`]; the command then ends only with the container, because engines have
/// no request that ends a command.
pub(crate) fn run_inside(
    spec: &ContainerSpec,
    command: &[String],
    timeout: Duration,
) -> io::Result<Finished> {
    let engine = Engine::at(&spec.socket);
    let id = engine.prepare_command(&spec.made()?.id, command, &spec.user)?;
    let (sender, outcome) = mpsc::channel();
    thread::spawn(move || {
        // After the timeout there is no receiver.
        let _ = sender.send(run(&engine, &id, Instant::now() + timeout));
    });
    let finished = outcome.recv_timeout(timeout);
    finished.unwrap_or_else(|_| Err(no_end(timeout)))
}

fn run(engine: &Engine, id: &str, deadline: Instant) -> io::Result<Finished> {
    let output = text_of(engine.start_command(id)?)?;
    // The outputs end a moment before the engine knows the exit code.
    let code = wait_until(deadline, || engine.command_ended(id).transpose());
    let code = code.transpose()?.ok_or(io::ErrorKind::TimedOut)?;
    Ok(Finished {
        status: ExitStatus::from_raw(code << 8),
        output,
    })
}
