//! Changing a gateway while it runs: what its folder names under `actions`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gatebench_model::gateway::{Action, Lines};
use rustix::process::Signal;

use super::render::RenderedFile;
use crate::container;
use crate::error::DriverError;
use crate::process::{FORWARDED, Supervised, last_lines, signal_from_name};
use crate::system::command;
use crate::system::private::write_rendered;
use crate::system::unix_socket;

/// A command or a line that changes a gateway is done with sooner than this.
const ACTION_TIMEOUT: Duration = Duration::from_secs(30);
/// Of a line and of its answer so much is told.
const TOLD_CHARS: usize = 200;
/// Age of the first version of a watched file when it is written.
const WATCHED_AGE: Duration = Duration::from_secs(2);
/// A longer answer says nothing more.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

/// An action whose templates are rendered.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    pub gateway: String,
    pub name: String,
    pub action: Action,
    /// The trial's working folder.
    pub work: PathBuf,
    /// Variables that a command has besides this process's own; in a container they are the container's.
    pub environment: BTreeMap<String, String>,
    /// What is written before it: the files of another configuration; of several in turn, one each time.
    pub files: Vec<Vec<RenderedFile>>,
    /// What in them is for this user only.
    pub secrets: Arc<BTreeSet<String>>,
    /// How often it was done.
    pub done: usize,
}

/// The signals by which a gateway is changed.
pub(crate) fn signals(actions: &[Ready]) -> Vec<Signal> {
    let signal = |ready: &Ready| match &ready.action {
        Action::Signal(name) => signal_from_name(name),
        Action::Command(_) | Action::Watched(_) | Action::Send(_) => None,
    };
    actions.iter().filter_map(signal).collect()
}

/// Dates back the first version of the files that gateways watch, so that any later version is
/// younger by whole seconds.
pub(crate) fn date_watched_back(actions: &[Ready], work: &Path) -> io::Result<()> {
    let names = actions.iter().flat_map(|ready| match &ready.action {
        Action::Watched(names) => names.as_slice(),
        Action::Signal(_) | Action::Command(_) | Action::Send(_) => &[],
    });
    for name in names {
        File::open(work.join(name))?.set_modified(SystemTime::now() - WATCHED_AGE)?;
    }
    Ok(())
}

/// Dates a new version of a file at least one whole second after the version in place: some
/// gateways compare modification times in whole seconds, and would take two versions of one second
/// for the same.
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
    /// Does it, and returns when the signal is sent, the command has ended well or the lines were taken.
    pub(crate) fn perform(&mut self, process: &mut Supervised) -> Result<(), DriverError> {
        let files = self.files.iter().cycle().nth(self.done);
        self.done += 1;
        let files = files.map_or(&[][..], Vec::as_slice);
        let done = self.write_files(files).and_then(|()| match &self.action {
            Action::Signal(name) => signal(process, name),
            Action::Command(words) => self.run(words, process),
            Action::Watched(_) => Ok(()),
            Action::Send(lines) => send(lines, files, &self.work),
        });
        done.map_err(|message| DriverError::Action {
            gateway: self.gateway.clone(),
            action: self.name.clone(),
            message,
        })
    }

    /// Each file takes its place at once: who watches it never reads half of one.
    fn write_files(&self, files: &[RenderedFile]) -> Result<(), String> {
        for file in files.iter().filter(|file| self.is_written(file)) {
            let path = self.work.join(&file.path);
            let mut beside = path.clone().into_os_string();
            beside.push(".new");
            write_rendered(beside.as_ref(), &file.text, &self.secrets)
                .and_then(|()| date_after(beside.as_ref(), &path))
                .and_then(|()| fs::rename(&beside, &path))
                .map_err(|error| format!("writing {}: {error}", path.display()))?;
        }
        Ok(())
    }

    /// Runs a command where the gateway runs: on the machine, or in its container.
    fn run(&self, words: &[String], process: &Supervised) -> Result<(), String> {
        let (program, arguments) = words.split_first().ok_or("the command is empty")?;
        let finished = match process.container() {
            Some(container) => container::run_inside(container, words, ACTION_TIMEOUT),
            None => command::run(
                Command::new(program)
                    .args(arguments)
                    .envs(&self.environment)
                    .current_dir(&self.work),
                ACTION_TIMEOUT,
            ),
        };
        let finished = finished.map_err(|error| format!("{}: {error}", command::display(words)))?;
        if finished.status.success() {
            return Ok(());
        }
        Err(format!(
            "{}: {}\n{}",
            command::display(words),
            finished.status,
            last_lines(&finished.output)
        ))
    }

    fn is_written(&self, file: &RenderedFile) -> bool {
        match &self.action {
            Action::Watched(names) => names.iter().any(|name| Path::new(name) == file.path),
            Action::Signal(_) | Action::Command(_) | Action::Send(_) => true,
        }
    }
}

fn signal(process: &mut Supervised, name: &str) -> Result<(), String> {
    let signal = signal_from_name(name).filter(|signal| FORWARDED.contains(signal));
    let signal = signal.ok_or_else(|| format!("'{name}' is not one of HUP, USR1, USR2, WINCH"))?;
    process.signal(signal).map_err(|error| error.to_string())
}

/// Sends each line of a file.
fn send(lines: &Lines, files: &[RenderedFile], work: &Path) -> Result<(), String> {
    let is_it = |file: &&RenderedFile| file.path == Path::new(&lines.file);
    let text = files.iter().find(is_it).map(|file| file.text.as_str());
    let text = text.ok_or_else(|| format!("there are no other lines in {}", lines.file))?;
    let socket = work.join(&lines.to);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let answer = answer(line, &socket).unwrap_or_else(|error| error.to_string());
        if !answer.trim().is_empty() {
            let (line, answer) = (shortened(line), shortened(answer.trim()));
            return Err(format!("`{line}` at {}: {answer}", lines.to));
        }
    }
    Ok(())
}

/// What is said to a line until the connection is closed.
fn answer(line: &str, socket: &Path) -> io::Result<String> {
    let mut stream = unix_socket::connect(socket)?;
    stream.set_read_timeout(Some(ACTION_TIMEOUT))?;
    stream.set_write_timeout(Some(ACTION_TIMEOUT))?;
    stream.write_all(format!("{line}\n").as_bytes())?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(TOLD_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    /// Takes lines as long as they are blank or begin with `set`, one a connection; gives them back.
    fn taker(socket: &Path, count: usize) -> thread::JoinHandle<Vec<String>> {
        let listener = UnixListener::bind(socket).unwrap();
        let take = move || {
            let mut stream = listener.accept().unwrap().0;
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            reader.read_line(&mut line).unwrap();
            let answer = if line.starts_with("set") {
                "\n"
            } else {
                "Unknown command.\n"
            };
            stream.write_all(answer.as_bytes()).unwrap();
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
        };
        let lines = Lines {
            file: "weights".into(),
            to: "s".into(),
        };
        let result = send(&lines, &[file], work.path());
        (result, taker.join().unwrap())
    }

    #[test]
    fn each_line_is_sent_on_a_connection_of_its_own() {
        let (result, taken) = sent("set a 1; set b 2\n\nset c 3\n", 2);
        assert_eq!(result, Ok(()));
        assert_eq!(taken, ["set a 1; set b 2\n", "set c 3\n"]);
    }

    #[test]
    fn every_version_of_a_watched_file_has_a_second_of_its_own() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("routes.yaml");
        fs::write(&path, "0").unwrap();
        let mut ready = Ready {
            gateway: "g".into(),
            name: "weights".into(),
            action: Action::Watched(vec!["routes.yaml".into()]),
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
            };
            ready.files = vec![vec![file.clone()]];
            ready.write_files(&[file]).unwrap();
            seconds.push(second());
        }
        assert!(seconds.is_sorted_by(|a, b| a < b), "{seconds:?}");
    }

    #[test]
    fn an_answer_is_what_went_wrong() {
        let (result, _) = sent("set a 1\nnonsense\nset c 3\n", 2);
        assert_eq!(result, Err("`nonsense` at s: Unknown command.".into()));
    }
}
