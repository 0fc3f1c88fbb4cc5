//! What can go wrong with what is started, whose fault it is, and what to do about it.

use std::path::PathBuf;
use std::time::Duration;

use gatebench_config::Diagnostics;
use gatebench_model::{Blame, Culprit};

use crate::system::exit::Exit;

/// Policies, or parts of them, that a gateway cannot do natively, and what it does not speak. This
/// is a finding about the gateway, not a failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("gateway {gateway} does not support {}", policies.join(", "))]
pub struct Unsupported {
    /// The gateway.
    pub gateway: String,
    /// What it lacks, by the words of [`gatebench_model::Scenario::needs`].
    pub policies: Vec<String>,
}

/// An error while something is brought up, changed or taken down. Its text says what happened;
/// [`DriverError::culprit`] says whose fault it is and [`DriverError::remedy`] what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// No folder of this name.
    #[error("there is no gateway '{word}'")]
    UnknownGateway {
        /// What the user wrote.
        word: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// Mistakes in a `gateway.yaml`, each with its line and remedy.
    #[error("{}", first_mistake(.0))]
    Mistakes(Box<Diagnostics>),
    /// A file of a gateway folder does not render or cannot be read.
    #[error("{message}")]
    BadFolder {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: Option<usize>,
        /// What is wrong.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// A path that leads to no folder.
    #[error("there is no folder {}", path.display())]
    NoFolder {
        /// The path.
        path: PathBuf,
    },
    /// The gateway cannot do what the scenario asks.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The program is not installed.
    #[error("gateway {gateway} is not installed: {} was not found", names.join(" or "))]
    BinaryMissing {
        /// The gateway.
        gateway: String,
        /// What was looked for.
        names: Vec<String>,
        /// How it is installed.
        install: String,
    },
    /// The program did not say its version.
    #[error("{} did not print its version: {message}", binary.display())]
    NoVersion {
        /// The gateway.
        gateway: String,
        /// The program.
        binary: PathBuf,
        /// What happened instead.
        message: String,
    },
    /// The program has a version that the folder was not written for.
    #[error("{} is version {version}, but the folder of {gateway} was written for {wanted}", binary.display())]
    WrongVersion {
        /// The gateway.
        gateway: String,
        /// The program.
        binary: PathBuf,
        /// What it says about itself.
        version: String,
        /// The versions that fit, in words.
        wanted: String,
        /// How a version that fits is had.
        remedy: String,
    },
    /// No program has the version asked for.
    #[error("there is no {gateway} {wanted} here{}", listed(others))]
    NoSuchVersion {
        /// The gateway.
        gateway: String,
        /// The version asked for.
        wanted: String,
        /// The programs there are, with their versions.
        others: Vec<String>,
    },
    /// A container engine, or an image in it, is not there.
    #[error("gateway {gateway} cannot run in a container: {message}")]
    ContainerEngine {
        /// The gateway.
        gateway: String,
        /// What is wrong.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// A configuration of the user's cannot be measured.
    #[error("{message}")]
    BadConfig {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// The gateway refused its configuration.
    #[error("gateway {gateway} refused its configuration\n{output}")]
    Refused {
        /// The gateway.
        gateway: String,
        /// The command that checked it.
        command: String,
        /// What the gateway said.
        output: String,
    },
    /// The check of a configuration came to no verdict.
    #[error("gateway {gateway} did not finish the check of its configuration ({how})\n{output}")]
    Unchecked {
        /// The gateway.
        gateway: String,
        /// The command that checks it.
        command: String,
        /// How it ended instead.
        how: String,
        /// What the gateway said.
        output: String,
    },
    /// The process ended before it was ready.
    #[error("gateway {gateway} ended while starting ({exit})\n{stderr}")]
    EndedAtStart {
        /// The gateway.
        gateway: String,
        /// How it ended.
        exit: Exit,
        /// The end of what it wrote to stderr.
        stderr: String,
    },
    /// The process runs but was not ready in time.
    #[error("gateway {gateway} was not ready after {waited:.1?}: {state}\n{stderr}")]
    NotReady {
        /// The gateway.
        gateway: String,
        /// How long was waited.
        waited: Duration,
        /// What was seen last.
        state: String,
        /// The end of what it wrote to stderr.
        stderr: String,
    },
    /// Every port tried belongs to another process.
    #[error("port {} is used by another process", join_ports(ports))]
    PortTaken {
        /// The ports tried.
        ports: Vec<u16>,
    },
    /// A running gateway could not be changed.
    #[error("action '{action}' of gateway {gateway} failed: {message}")]
    Action {
        /// The gateway.
        gateway: String,
        /// The action.
        action: String,
        /// What happened.
        message: String,
    },
    /// A gateway that someone else started cannot be measured.
    #[error("the gateway at {url} cannot be attached: {message}")]
    Attach {
        /// The URL given.
        url: String,
        /// What is wrong.
        message: String,
    },
    /// A gateway could not be installed.
    #[error("installing {gateway}: {message}")]
    Install {
        /// The gateway.
        gateway: String,
        /// What happened.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// The machine did not let the supervisor start it as was asked.
    #[error("gateway {gateway} could not be started: {message}")]
    Supervisor {
        /// The gateway.
        gateway: String,
        /// What the supervisor said.
        message: String,
    },
    /// Another host, or gatebench there, said no.
    #[error("{message}")]
    Remote {
        /// Whose fault it is.
        culprit: Culprit,
        /// What happened, and where.
        message: String,
        /// What to do.
        remedy: String,
        /// Whether only the gateway is not there.
        is_missing: bool,
    },
    /// The upstream did not come up.
    #[error("the upstream did not start: {message}\n{stderr}")]
    Upstream {
        /// What happened.
        message: String,
        /// The end of what it wrote to stderr.
        stderr: String,
    },
    /// The Redis that a scenario's limit counts in is not there, or did not come up.
    #[error("Redis cannot be started: {message}\n{stderr}")]
    Redis {
        /// What happened.
        message: String,
        /// The end of what it wrote.
        stderr: String,
    },
    /// The machine refused something.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl DriverError {
    /// Wraps a system error with what was being done.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }

    /// Whether only the gateway is not there: who did not name it does without.
    pub fn is_missing(&self) -> bool {
        match self {
            Self::BinaryMissing { .. } | Self::ContainerEngine { .. } | Self::NoVersion { .. } => {
                true
            }
            Self::Remote { is_missing, .. } => *is_missing,
            _ => false,
        }
    }
}

impl Blame for DriverError {
    fn culprit(&self) -> Culprit {
        match self {
            Self::Mistakes(mistakes) => {
                let first = mistakes.all().first();
                Culprit::File {
                    path: first
                        .map(|mistake| PathBuf::from(&mistake.file))
                        .unwrap_or_default(),
                    line: first.map(|mistake| mistake.line),
                }
            }
            Self::BadFolder { path, line, .. } => Culprit::File {
                path: path.clone(),
                line: *line,
            },
            Self::NoFolder { path } | Self::BadConfig { path, .. } => Culprit::File {
                path: path.clone(),
                line: None,
            },
            Self::Unsupported(unsupported) => Culprit::Gateway(unsupported.gateway.clone()),
            Self::NoVersion { gateway, .. }
            | Self::Refused { gateway, .. }
            | Self::Unchecked { gateway, .. }
            | Self::EndedAtStart { gateway, .. }
            | Self::NotReady { gateway, .. }
            | Self::Action { gateway, .. } => Culprit::Gateway(gateway.clone()),
            Self::Attach { url, .. } => Culprit::Gateway(url.clone()),
            Self::Remote { culprit, .. } => culprit.clone(),
            Self::Upstream { .. } => Culprit::Upstream,
            Self::UnknownGateway { .. }
            | Self::BinaryMissing { .. }
            | Self::WrongVersion { .. }
            | Self::NoSuchVersion { .. }
            | Self::ContainerEngine { .. }
            | Self::Install { .. }
            | Self::PortTaken { .. }
            | Self::Redis { .. }
            | Self::Supervisor { .. }
            | Self::Io { .. } => Culprit::Environment,
        }
    }

    fn remedy(&self) -> String {
        match self {
            Self::UnknownGateway { known, .. } => {
                format!("use one of {}, or a folder as ./NAME", known.join(", "))
            }
            Self::Mistakes(mistakes) => {
                mistakes.all().first().map(|mistake| mistake.help.clone()).unwrap_or_default()
            }
            Self::BadFolder { remedy, .. } => remedy.clone(),
            Self::NoFolder { .. } => "write the path of a folder with a gateway.yaml; `gatebench list` shows the known names".into(),
            Self::Unsupported(_) => "leave this gateway out of the scenario; not supported does not mean failed".into(),
            Self::BinaryMissing { install, .. } => install.clone(),
            Self::NoSuchVersion { gateway, wanted, .. } => format!(
                "install {wanted} and put it on PATH, or name its place: {gateway}@/opt/{gateway}-{wanted}"
            ),
            Self::ContainerEngine { remedy, .. }
            | Self::BadConfig { remedy, .. }
            | Self::Install { remedy, .. }
            | Self::WrongVersion { remedy, .. }
            | Self::Remote { remedy, .. } => remedy.clone(),
            Self::NoVersion { binary, .. } => format!(
                "run {} by hand; if it works, correct binary.version_args and binary.version_pattern in gateway.yaml",
                binary.display()
            ),
            Self::Refused { command, .. } => {
                format!("correct the template in the message; to repeat: {command}")
            }
            Self::Unchecked { command, .. } => {
                format!("try again when the machine is less busy; to repeat: {command}")
            }
            Self::EndedAtStart { .. } => "read its output above; its configuration is in the trial's folder".into(),
            Self::NotReady { .. } => {
                "read its logs in the trial's folder; if it needs more time, raise ready.timeout in gateway.yaml".into()
            }
            Self::PortTaken { .. } => "stop the process that listens there, or choose another port".into(),
            Self::Action { .. } => "correct actions in gateway.yaml".into(),
            Self::Attach { .. } => "start the gateway first, and give its URL as http://HOST:PORT".into(),
            Self::Supervisor { .. } => "check that the program, the cores and the control groups in the message are available".into(),
            Self::Upstream { .. } => "read its logs in the trial's folder".into(),
            Self::Redis { .. } => "install it with `gatebench install redis`, or set the address of a running one in the scenario: `redis: 127.0.0.1:6379`".into(),
            Self::Io { .. } => "use a writable directory with free space, and try again".into(),
        }
    }
}

fn first_mistake(mistakes: &Diagnostics) -> String {
    let first = mistakes
        .all()
        .first()
        .map(|mistake| mistake.message.as_str())
        .unwrap_or_default();
    match mistakes.all().len() {
        0 | 1 => first.to_owned(),
        count => format!("{first} (and {} more in this file)", count - 1),
    }
}

fn listed(others: &[String]) -> String {
    if others.is_empty() {
        String::new()
    } else {
        format!(": {}", others.join(", "))
    }
}

fn join_ports(ports: &[u16]) -> String {
    ports
        .iter()
        .map(u16::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
