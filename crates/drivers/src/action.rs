//! Changing a gateway while it runs: what its folder names under `actions`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use gatebench_model::gateway::Action;
use rustix::process::Signal;

use crate::command;
use crate::error::DriverError;
use crate::launch::{Supervised, last_lines};
use crate::render::RenderedFile;
use crate::supervise::{FORWARDED, signal_from_name};

/// A command that changes a gateway answers sooner than this.
const ACTION_TIMEOUT: Duration = Duration::from_secs(30);

/// An action whose templates are rendered.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    pub gateway: String,
    pub name: String,
    pub action: Action,
    /// The trial's working folder.
    pub work: PathBuf,
    /// What is written before it: the files of another configuration; of several in turn, one each time.
    pub files: Vec<Vec<RenderedFile>>,
    /// How often it was done.
    pub done: usize,
}

/// The signals by which a gateway is changed.
pub(crate) fn signals(actions: &[Ready]) -> Vec<Signal> {
    let signal = |ready: &Ready| match &ready.action {
        Action::Signal(name) => signal_from_name(name),
        Action::Command(_) | Action::Watched(_) => None,
    };
    actions.iter().filter_map(signal).collect()
}

impl Ready {
    /// Does it, and returns when the signal is sent or the command has ended well.
    pub(crate) fn perform(&mut self, process: &mut Supervised) -> Result<(), DriverError> {
        let files = self.files.iter().cycle().nth(self.done);
        self.done += 1;
        let done = self
            .write_files(files.map_or(&[], Vec::as_slice))
            .and_then(|()| match &self.action {
                Action::Signal(name) => signal(process, name),
                Action::Command(words) => run(words, &self.work),
                Action::Watched(_) => Ok(()),
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
            fs::write(&beside, &file.text)
                .and_then(|()| fs::rename(&beside, &path))
                .map_err(|error| format!("writing {}: {error}", path.display()))?;
        }
        Ok(())
    }

    fn is_written(&self, file: &RenderedFile) -> bool {
        match &self.action {
            Action::Watched(names) => names.iter().any(|name| Path::new(name) == file.path),
            Action::Signal(_) | Action::Command(_) => true,
        }
    }
}

fn signal(process: &mut Supervised, name: &str) -> Result<(), String> {
    let signal = signal_from_name(name).filter(|signal| FORWARDED.contains(signal));
    let signal = signal.ok_or_else(|| format!("'{name}' is not one of HUP, USR1, USR2, WINCH"))?;
    process.signal(signal).map_err(|error| error.to_string())
}

fn run(words: &[String], work: &Path) -> Result<(), String> {
    let (program, arguments) = words.split_first().ok_or("the command is empty")?;
    let mut command = Command::new(program);
    let finished = command::run(command.args(arguments).current_dir(work), ACTION_TIMEOUT);
    let finished = finished.map_err(|error| format!("{}: {error}", command::display(words)))?;
    if finished.status.success() {
        Ok(())
    } else {
        Err(format!(
            "{}: {}\n{}",
            command::display(words),
            finished.status,
            last_lines(&finished.output)
        ))
    }
}
