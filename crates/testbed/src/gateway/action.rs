//! Performs the `actions` of a gateway's folder, which change the gateway while it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gatebench_model::gateway::{Action, Lines};
use rustix::process::Signal;
use serde::Deserialize;

use super::admin::AdminRequest;
use super::render::RenderedFile;
use crate::container;
use crate::error::DriverError;
use crate::process::{FORWARDED, Supervised, last_lines, signal_from_name};
use crate::system::command;
use crate::system::private::write_rendered;
use crate::system::unix_socket;

/// The timeout for a command, for each write to a gateway's socket, and for each response.
const ACTION_TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum number of characters that an error message of [`send`] shows of a line, and of the
/// response to it.
const SHOWN_CHARS: usize = 200;
/// The age that the first version of a watched file appears to have.
const WATCHED_AGE: Duration = Duration::from_secs(2);
/// The reading of a response stops after this number of bytes.
const RESPONSE_BYTES_MAX: usize = 64 * 1024;

/// An action whose templates are rendered.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    pub gateway: String,
    pub name: String,
    pub action: Action,
    pub is_of_control_plane: bool,
    pub work: PathBuf,
    /// Environment variables that a command gets in addition to those of this process. A command in
    /// a container gets the container's environment instead.
    pub environment: BTreeMap<String, String>,
    /// The files of the configurations that the action applies, in order. Each run of the action
    /// first writes the files of the next configuration, starting over after the last.
    pub files: Vec<Vec<RenderedFile>>,
    /// The scenario's secrets. [`write_rendered`] restricts who may read a file that contains one.
    pub secrets: Arc<BTreeSet<String>>,
    /// The number of times that the action has been run.
    pub done: usize,
}

pub(crate) fn signals<'r>(actions: impl Iterator<Item = &'r Ready>) -> Vec<Signal> {
    let signal = |ready: &Ready| match &ready.action {
        Action::Signal(name) => signal_from_name(name),
        Action::Command(_) | Action::Watched(_) | Action::Send(_) | Action::Call(_) => None,
    };
    actions.filter_map(signal).collect()
}

/// Moves the modification time of the first version of watched files into the past, by
/// [`WATCHED_AGE`], so every later version is newer by at least that much.
pub(crate) fn date_watched_back(actions: &[Ready], work: &Path) -> io::Result<()> {
    let names = actions.iter().flat_map(|ready| match &ready.action {
        Action::Watched(names) => names.as_slice(),
        Action::Signal(_) | Action::Command(_) | Action::Send(_) | Action::Call(_) => &[],
    });
    for name in names {
        File::open(work.join(name))?.set_modified(SystemTime::now() - WATCHED_AGE)?;
    }
    Ok(())
}

/// Gives a new version of a file a modification time whose whole seconds exceed those of the
/// current version. Some gateways compare modification times in whole seconds, and would ignore a
/// second version from the same second.
fn date_after(new: &Path, old: &Path) -> io::Result<()> {
    let Ok(old) = fs::metadata(old).and_then(|it| it.modified()) else {
        return Ok(());
    };
    let seconds = old.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs());
    let earliest = UNIX_EPOCH + Duration::from_secs(seconds + 1);
    if SystemTime::now() < earliest {
        File::open(new)?.set_modified(earliest)?;
    }
    Ok(())
}

impl Ready {
    /// Writes the action's files and runs the action. The gateway may react to a signal or to a
    /// watched file only after this function has returned.
    pub(crate) fn perform(&mut self, process: &mut Supervised) -> Result<(), DriverError> {
        let files = self.files.iter().cycle().nth(self.done);
        self.done += 1;
        let files = files.map_or(&[][..], Vec::as_slice);
        let result = self.write_files(files).and_then(|()| match &self.action {
            Action::Signal(name) => signal(process, name),
            Action::Command(words) => self.run(words, process),
            Action::Watched(_) => Ok(()),
            Action::Send(lines) => send(lines, files, &self.work),
            Action::Call(lines) => call(lines, files, &self.work),
        });
        result.map_err(|message| DriverError::Action {
            gateway: self.gateway.clone(),
            action: self.name.clone(),
            message,
        })
    }

    /// Replaces each file atomically, so a gateway that watches it never reads a partial file.
    fn write_files(&self, files: &[RenderedFile]) -> Result<(), String> {
        for file in files.iter().filter(|file| self.is_written(file)) {
            let path = self.work.join(&file.path);
            let mut replacement = path.clone().into_os_string();
            replacement.push(".new");
            write_rendered(replacement.as_ref(), &file.text, file.group, &self.secrets)
                .and_then(|()| date_after(replacement.as_ref(), &path))
                .and_then(|()| fs::rename(&replacement, &path))
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        Ok(())
    }

    fn run(&self, words: &[String], process: &Supervised) -> Result<(), String> {
        let (program, arguments) = words.split_first().ok_or("the command is empty")?;
        let mut local = Command::new(program);
        local.args(arguments).envs(&self.environment);
        let finished = match process.container() {
            Some(container) => container::run_inside(container, words, ACTION_TIMEOUT),
            None => command::run(local.current_dir(&self.work), ACTION_TIMEOUT),
        };
        let words = command::display(words);
        let finished = finished.map_err(|error| format!("{words}: {error}"))?;
        let (status, output) = (finished.status, last_lines(&finished.output));
        match status.success() {
            true => Ok(()),
            false => Err(format!("{words}: {status}\n{output}")),
        }
    }

    fn is_written(&self, file: &RenderedFile) -> bool {
        match &self.action {
            Action::Watched(names) => names.iter().any(|name| Path::new(name) == file.path),
            Action::Signal(_) | Action::Command(_) | Action::Send(_) | Action::Call(_) => true,
        }
    }
}

fn signal(process: &mut Supervised, name: &str) -> Result<(), String> {
    let signal = signal_from_name(name).filter(|signal| FORWARDED.contains(signal));
    let signal =
        signal.ok_or_else(|| format!("signal '{name}' is not one of HUP, USR1, USR2, WINCH"))?;
    process.signal(signal).map_err(|error| error.to_string())
}

fn lines_of<'f>(
    lines: &Lines,
    files: &'f [RenderedFile],
) -> Result<impl Iterator<Item = &'f str>, String> {
    let is_it = |file: &&RenderedFile| file.path == Path::new(&lines.file);
    let text = files.iter().find(is_it).map(|file| file.text.as_str());
    let text = text.ok_or_else(|| format!("{} is not rendered for this action", lines.file))?;
    Ok(text.lines().filter(|line| !line.trim().is_empty()))
}

fn call(lines: &Lines, files: &[RenderedFile], work: &Path) -> Result<(), String> {
    let socket = work.join(&lines.to);
    for line in lines_of(lines, files)? {
        let request: JsonCall = serde_json::from_str(line).map_err(|error| {
            let line = shortened(line);
            format!("`{line}` in {} is not a request: {error}", lines.file)
        })?;
        let request = AdminRequest {
            method: request.method,
            path: request.path,
            body: request.body.map(|body| body.to_string()),
        };
        request.send(&socket, ACTION_TIMEOUT)?;
    }
    Ok(())
}

/// A line of a file, such as `{"method": "PATCH", "path": "/routes/a", "body": {}}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonCall {
    method: String,
    path: String,
    body: Option<serde_json::Value>,
}

/// Sends each line of a file on a separate connection; a response that contains text is an error.
fn send(lines: &Lines, files: &[RenderedFile], work: &Path) -> Result<(), String> {
    let socket = work.join(&lines.to);
    for line in lines_of(lines, files)? {
        let until = Instant::now() + ACTION_TIMEOUT;
        let response = response(line, &socket, until).unwrap_or_else(|error| error.to_string());
        if !response.trim().is_empty() {
            let (line, response) = (shortened(line), shortened(response.trim()));
            return Err(format!("`{line}` at {}: {response}", lines.to));
        }
    }
    Ok(())
}

/// Sends a line, and reads the response until the connection is closed or at least
/// [`RESPONSE_BYTES_MAX`] bytes are read. A gateway that sends the response in small pieces cannot
/// extend the deadline.
fn response(line: &str, socket: &Path, until: Instant) -> io::Result<String> {
    let mut stream = unix_socket::connect(socket)?;
    stream.set_write_timeout(Some(ACTION_TIMEOUT))?;
    stream.write_all(format!("{line}\n").as_bytes())?;
    let mut response = Vec::new();
    let mut piece = [0; 4096];
    while response.len() < RESPONSE_BYTES_MAX {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(bytes) => response.extend_from_slice(&piece[..bytes]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(String::from_utf8_lossy(&response).into_owned())
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    /// Accepts `count` connections with one line each, and returns the lines. Responds with an
    /// error to lines that do not begin with `set`.
    fn taker(socket: &Path, count: usize) -> thread::JoinHandle<Vec<String>> {
        let listener = UnixListener::bind(socket).unwrap();
        let take = move || {
            let mut stream = listener.accept().unwrap().0;
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            reader.read_line(&mut line).unwrap();
            let response = if line.starts_with("set") {
                "\n"
            } else {
                "Unknown command.\n"
            };
            stream.write_all(response.as_bytes()).unwrap();
            line
        };
        thread::spawn(move || (0..count).map(|_| take()).collect())
    }

    fn sent(text: &str, count: usize) -> (Result<(), String>, Vec<String>) {
        let work = tempfile::tempdir().unwrap();
        let taker = taker(&work.path().join("s"), count);
        let file = RenderedFile {
            path: "weights".into(),
            sha256: String::new(),
            text: text.into(),
            group: None,
        };
        let lines = Lines {
            file: "weights".into(),
            to: "s".into(),
        };
        let result = send(&lines, &[file], work.path());
        (result, taker.join().unwrap())
    }

    #[test]
    fn each_line_is_sent_on_a_separate_connection() {
        let (result, taken) = sent("set a 1; set b 2\n\nset c 3\n", 2);
        assert_eq!(result, Ok(()));
        assert_eq!(taken, ["set a 1; set b 2\n", "set c 3\n"]);
    }

    #[test]
    fn each_version_of_a_watched_file_is_from_a_later_second() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("routes.yaml");
        fs::write(&path, "0").unwrap();
        let mut ready = Ready {
            gateway: "g".into(),
            name: "weights".into(),
            action: Action::Watched(vec!["routes.yaml".into()]),
            is_of_control_plane: false,
            work: work.path().into(),
            environment: BTreeMap::new(),
            files: Vec::new(),
            secrets: Arc::default(),
            done: 0,
        };
        date_watched_back(std::slice::from_ref(&ready), work.path()).unwrap();
        let second = || {
            let modified = fs::metadata(&path).unwrap().modified().unwrap();
            modified.duration_since(UNIX_EPOCH).unwrap().as_secs()
        };
        let mut seconds = vec![second()];
        for text in ["1", "2", "3"] {
            let file = RenderedFile {
                path: "routes.yaml".into(),
                sha256: String::new(),
                text: text.into(),
                group: None,
            };
            ready.files = vec![vec![file.clone()]];
            ready.write_files(&[file]).unwrap();
            seconds.push(second());
        }
        assert!(seconds.is_sorted_by(|a, b| a < b), "{seconds:?}");
    }

    #[test]
    fn a_response_that_drips_ends_at_the_deadline() {
        let work = tempfile::tempdir().unwrap();
        let socket = work.path().join("s");
        let listener = UnixListener::bind(&socket).unwrap();
        let dripping = thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            while stream.write_all(b" ").is_ok() {
                thread::sleep(Duration::from_millis(10));
            }
        });
        let until = Instant::now() + Duration::from_millis(200);
        let error = response("set a 1", &socket, until).unwrap_err();
        let is_timeout = [io::ErrorKind::TimedOut, io::ErrorKind::WouldBlock];
        assert!(is_timeout.contains(&error.kind()), "{error}");
        dripping.join().unwrap();
    }

    #[test]
    fn a_response_with_text_is_an_error() {
        let (result, _) = sent("set a 1\nnonsense\nset c 3\n", 2);
        assert_eq!(result, Err("`nonsense` at s: Unknown command.".into()));
    }
}
