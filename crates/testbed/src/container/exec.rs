//! Runs a command in a running container, which changes the gateway there.

use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::engine::Engine;
use super::frames::divide;
use super::spec::ContainerSpec;
use crate::system::command::{Finished, OUTPUT_BYTES_MAX, no_end, wait_until};

/// Runs a command next to the gateway in its container, to its end. After `timeout` the error is
/// [`io::ErrorKind::TimedOut`]; the command then ends only with the container, because engines have
/// no request that ends it.
pub(crate) fn run_inside(
    spec: &ContainerSpec,
    command: &[String],
    timeout: Duration,
) -> io::Result<Finished> {
    let engine = Engine::at(&spec.socket);
    let number = engine.prepare_command(&spec.made()?.id, command, &spec.user)?;
    let (tell, outcome) = mpsc::channel();
    thread::spawn(move || {
        // After the timeout there is no receiver.
        let _ = tell.send(run(&engine, &number, Instant::now() + timeout));
    });
    let finished = outcome.recv_timeout(timeout);
    finished.unwrap_or_else(|_| Err(no_end(timeout)))
}

fn run(engine: &Engine, number: &str, deadline: Instant) -> io::Result<Finished> {
    let (mut stdout, mut stderr) = (Said::default(), Said::default());
    divide(engine.start_command(number)?, &mut stdout, &mut stderr)?;
    // Its outputs end a moment before the engine has its exit code.
    let code = wait_until(deadline, || engine.command_ended(number).transpose());
    let code = code.transpose()?.ok_or(io::ErrorKind::TimedOut)?;
    stdout.0.append(&mut stderr.0);
    Ok(Finished {
        status: ExitStatus::from_raw(code << 8),
        output: String::from_utf8_lossy(&stdout.0).into_owned(),
    })
}

/// The beginning of the output.
#[derive(Default)]
struct Said(Vec<u8>);

impl Write for Said {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = (OUTPUT_BYTES_MAX as usize).saturating_sub(self.0.len());
        self.0.extend_from_slice(&bytes[..bytes.len().min(room)]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn of_a_long_output_the_beginning_is_kept() {
        let mut said = Said::default();
        said.write_all(&vec![b'x'; OUTPUT_BYTES_MAX as usize - 1])
            .unwrap();
        said.write_all(b"yz").unwrap();
        assert!(said.0.ends_with(b"xy"));
        assert_eq!(said.0.len() as u64, OUTPUT_BYTES_MAX);
    }
}
