//! Short commands that must end by themselves: a version, a check of a configuration, an action.

use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// More output than this says nothing more to a reader.
pub(crate) const OUTPUT_BYTES_MAX: u64 = 64 * 1024;

/// How often an end is looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// What a short command left behind.
pub(crate) struct Finished {
    pub status: ExitStatus,
    /// Standard output, then standard error.
    pub output: String,
}

/// Runs a command to its end. After `timeout` it is killed with all it started, and the error is
/// [`io::ErrorKind::TimedOut`].
pub(crate) fn run(command: &mut Command, timeout: Duration) -> io::Result<Finished> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let readers = [
        child.stdout.take().map(read_all),
        child.stderr.take().map(read_all),
    ];
    let Some(status) =
        wait_until(Instant::now() + timeout, || child.try_wait().transpose()).transpose()?
    else {
        kill_group(&mut child)?;
        return Err(no_end(timeout));
    };
    let output = readers
        .into_iter()
        .flatten()
        .filter_map(|reader| reader.join().ok())
        .collect();
    Ok(Finished { status, output })
}

/// What is said of a command that does not end.
pub(crate) fn no_end(timeout: Duration) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("no end after {timeout:?}"))
}

fn read_all(mut source: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read until an error is still worth showing; the rest is drained so that the writer never blocks.
        let _ = source
            .by_ref()
            .take(OUTPUT_BYTES_MAX)
            .read_to_end(&mut bytes);
        let _ = io::copy(&mut source, &mut io::sink());
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn kill_group(child: &mut Child) -> io::Result<()> {
    kill_process_group(Pid::from_child(child), Signal::KILL)?;
    child.wait().map(drop)
}

/// Asks again and again until there is an answer or the time has come.
pub(crate) fn wait_until<T>(deadline: Instant, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    loop {
        let answer = ask();
        if answer.is_some() || Instant::now() >= deadline {
            return answer;
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// A command as a person would type it.
pub(crate) fn display(words: &[String]) -> String {
    let plain = |word: &str| {
        !word.is_empty()
            && word
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_./:=,@+".contains(c))
    };
    let quoted = words.iter().map(|word| {
        if plain(word) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn output_and_status_are_kept() {
        let finished = run(
            Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]),
            Duration::from_secs(10),
        );
        let finished = finished.unwrap();
        assert_eq!(
            (finished.status.code(), finished.output.as_str()),
            (Some(3), "out\nerr\n")
        );
    }

    #[test]
    fn a_command_that_does_not_end_is_ended() {
        let error = run(
            Command::new("sh").args(["-c", "sleep 60 & wait"]),
            Duration::from_millis(50),
        )
        .err()
        .unwrap();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_command_is_shown_so_that_it_can_be_pasted() {
        assert_eq!(
            display(&["sh".into(), "-c".into(), "echo 'a'".into()]),
            r"sh -c 'echo '\''a'\'''"
        );
    }
}
