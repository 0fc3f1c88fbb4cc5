//! Runs a command in a running container, and splits the output of containers and commands into
//! stdout and stderr.

use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::engine::Engine;
use super::spec::ContainerSpec;
use crate::system::command::{Finished, OUTPUT_BYTES_MAX, no_end, wait_until};

/// Runs a command to completion in a running container. After `timeout`, the error is
/// [`io::ErrorKind::TimedOut`], but the command keeps running, because engines have no request that
/// ends a command.
pub(crate) fn run_inside(
    spec: &ContainerSpec,
    command: &[String],
    timeout: Duration,
) -> io::Result<Finished> {
    let engine = Engine::at(&spec.socket);
    let id = engine.prepare_command(&spec.made()?.id, command, &spec.user)?;
    let (sender, outcome) = mpsc::channel();
    thread::spawn(move || {
        // After the timeout, there is no receiver.
        let _ = sender.send(run(&engine, &id, Instant::now() + timeout));
    });
    let finished = outcome.recv_timeout(timeout);
    finished.unwrap_or_else(|_| Err(no_end(timeout)))
}

fn run(engine: &Engine, id: &str, deadline: Instant) -> io::Result<Finished> {
    let output = text_of(engine.start_command(id)?)?;
    // The output may end a moment before the engine reports the exit code.
    let code = wait_until(deadline, || engine.command_ended(id).transpose());
    let code = code.transpose()?.ok_or(io::ErrorKind::TimedOut)?;
    Ok(Finished {
        status: ExitStatus::from_raw(code << 8),
        output,
    })
}

/// The stream number of standard error in a frame's header.
const STDERR: u8 = 2;

/// Reads a stream to the end. Returns the beginning of standard output, followed by the beginning
/// of standard error.
pub(crate) fn text_of(stream: impl Read) -> io::Result<String> {
    let (mut stdout, mut stderr) = (Beginning::default(), Beginning::default());
    divide(stream, &mut stdout, &mut stderr)?;
    stdout.0.append(&mut stderr.0);
    Ok(String::from_utf8_lossy(&stdout.0).into_owned())
}

/// The first [`OUTPUT_BYTES_MAX`] bytes of an output.
#[derive(Default)]
struct Beginning(Vec<u8>);

impl Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = OUTPUT_BYTES_MAX.saturating_sub(self.0.len());
        self.0.extend_from_slice(&bytes[..bytes.len().min(room)]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Passes each frame to one of the two outputs, until the stream ends.
pub(crate) fn divide(
    mut stream: impl Read,
    mut stdout: impl Write,
    mut stderr: impl Write,
) -> io::Result<()> {
    let mut head = [0; 8];
    while read_head(&mut stream, &mut head)? {
        let [kind, _, _, _, length @ ..] = head;
        let mut frame = stream.by_ref().take(u64::from(u32::from_be_bytes(length)));
        if kind == STDERR {
            io::copy(&mut frame, &mut stderr)?;
            stderr.flush()?;
        } else {
            io::copy(&mut frame, &mut stdout)?;
            stdout.flush()?;
        }
    }
    Ok(())
}

/// Reads the header of the next frame. Returns false at the end of the stream, even if the header
/// is cut off.
fn read_head(stream: &mut impl Read, head: &mut [u8; 8]) -> io::Result<bool> {
    match stream.read_exact(head) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_go_to_their_outputs() {
        let stream = b"\x01\0\0\0\0\0\0\x02ok\x02\0\0\0\0\0\0\x03bad\x01\0\0\0\0\0\0\x01!";
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        divide(&stream[..], &mut stdout, &mut stderr).unwrap();
        assert_eq!((&stdout[..], &stderr[..]), (&b"ok!"[..], &b"bad"[..]));
        assert_eq!(text_of(&stream[..]).unwrap(), "ok!bad");
    }

    #[test]
    fn the_beginning_of_a_long_output_is_kept() {
        let mut beginning = Beginning::default();
        let long = vec![b'x'; OUTPUT_BYTES_MAX - 1];
        beginning.write_all(&long).unwrap();
        beginning.write_all(b"yz").unwrap();
        assert!(beginning.0.ends_with(b"xy"));
        assert_eq!(beginning.0.len(), OUTPUT_BYTES_MAX);
    }
}
