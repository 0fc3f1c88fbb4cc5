//! Changing a gateway while it runs: what its folder names under `actions`.

use std::process::Command;
use std::time::Duration;

use gatebench_model::gateway::Action;
use rustix::process::Signal;

use crate::command;
use crate::error::DriverError;
use crate::launch::{Supervised, last_lines};
use crate::supervise::{FORWARDED, signal_from_name};

/// A command that changes a gateway answers sooner than this.
const ACTION_TIMEOUT: Duration = Duration::from_secs(30);

/// An action whose templates are rendered.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    pub gateway: String,
    pub name: String,
    pub action: Action,
}

/// The signals by which a gateway is changed.
pub(crate) fn signals(actions: &[Ready]) -> Vec<Signal> {
    let signal = |ready: &Ready| match &ready.action {
        Action::Signal(name) => signal_from_name(name),
        Action::Command(_) => None,
    };
    actions.iter().filter_map(signal).collect()
}

impl Ready {
    /// Does it, and returns when the signal is sent or the command has ended well.
    pub(crate) fn perform(&self, process: &mut Supervised) -> Result<(), DriverError> {
        let done = match &self.action {
            Action::Signal(name) => signal(process, name),
            Action::Command(words) => run(words),
        };
        done.map_err(|message| DriverError::Action {
            gateway: self.gateway.clone(),
            action: self.name.clone(),
            message,
        })
    }
}

fn signal(process: &mut Supervised, name: &str) -> Result<(), String> {
    let signal = signal_from_name(name).filter(|signal| FORWARDED.contains(signal));
    let signal = signal.ok_or_else(|| format!("'{name}' is not one of HUP, USR1, USR2, WINCH"))?;
    process.signal(signal).map_err(|error| error.to_string())
}

fn run(words: &[String]) -> Result<(), String> {
    let (program, arguments) = words.split_first().ok_or("the command is empty")?;
    let finished = command::run(Command::new(program).args(arguments), ACTION_TIMEOUT);
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
