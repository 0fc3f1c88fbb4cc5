//! Errors of the testbed, each with its culprit and its remedy.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gatebench_config::Diagnostics;
use gatebench_model::{Blame, Culprit};
use gatebench_net::tls::SettingsError;
use serde::{Deserialize, Serialize};

use crate::system::exit::Exit;
use crate::system::limit::NO_GROUPS;

/// A gateway lacks features that a scenario needs. This is a finding about the gateway, not a
/// failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("gateway {gateway} does not support {}", policies.join(", "))]
pub struct Unsupported {
    pub gateway: String,
    /// The features that the gateway lacks. A feature whose extra is missing or cannot be used is
    /// followed by the reason in parentheses. The list also contains
    /// [`gatebench_model::Scenario::not_understood`].
    pub policies: Vec<String>,
}

/// An error in preparing, starting, changing or stopping a part of a trial, or in installing a
/// program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    #[error("there is no gateway '{word}'")]
    UnknownGateway { word: String, known: Vec<String> },
    /// Mistakes in a `gateway.yaml`, each with its line and remedy.
    #[error("{}", first_mistake(.0))]
    Mistakes(Box<Diagnostics>),
    /// The user's configuration, a Terraform folder or a file of a gateway folder cannot be used.
    #[error("{message}")]
    BadFile {
        path: PathBuf,
        /// The line number, counted from 1.
        line: Option<usize>,
        message: String,
        remedy: String,
    },
    #[error("there is no folder {}", path.display())]
    NoFolder { path: PathBuf },
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The gateway's program, or a file that it needs, is not installed.
    #[error("gateway {gateway} is not installed: {} was not found", names.join(" or "))]
    BinaryMissing {
        gateway: String,
        /// The names or paths that were not found.
        names: Vec<String>,
        install: String,
    },
    /// The program could not be run to its end, or its output contains no version.
    #[error("{} did not print its version: {message}", binary.display())]
    NoVersion {
        gateway: String,
        binary: PathBuf,
        message: String,
    },
    #[error("{} is version {version}, but the gateway folder {gateway} requires {wanted}", binary.display())]
    WrongVersion {
        gateway: String,
        binary: PathBuf,
        version: String,
        wanted: String,
        remedy: String,
    },
    #[error("there is no {gateway} {wanted} here{}", listed(others))]
    NoSuchVersion {
        gateway: String,
        wanted: String,
        /// The programs that were found, each with its version if it prints one.
        others: Vec<String>,
    },
    /// No container engine can be used, or the engine does not have the image.
    #[error("gateway {gateway} cannot run in a container: {message}")]
    ContainerEngine {
        gateway: String,
        message: String,
        remedy: String,
    },
    #[error("gateway {gateway} refused its configuration\n{output}")]
    Refused {
        gateway: String,
        /// The command that checked the configuration.
        command: String,
        output: String,
    },
    /// The command that checks a configuration hung or was killed.
    #[error("gateway {gateway} did not finish checking its configuration ({how})\n{output}")]
    Unchecked {
        gateway: String,
        command: String,
        how: String,
        output: String,
    },
    #[error("gateway {gateway} ended while starting ({exit})\n{stderr}")]
    EndedAtStart {
        gateway: String,
        exit: Exit,
        /// The last lines of the process's stderr.
        stderr: String,
    },
    /// The process runs, but it was not ready in time, or it hung after writing a fatal line.
    #[error("gateway {gateway} was not ready after {waited:.1?}: {state}\n{stderr}")]
    NotReady {
        gateway: String,
        waited: Duration,
        state: String,
        /// The last lines of the gateway's stderr.
        stderr: String,
    },
    /// All ports that were tried are used by other processes.
    #[error("other processes use all ports that were tried: {}", join_ports(ports))]
    PortTaken { ports: Vec<u16> },
    #[error("action '{action}' of gateway {gateway} failed: {message}")]
    Action {
        gateway: String,
        action: String,
        message: String,
    },
    /// A running gateway cannot be attached: its URL is not usable, it does not respond, or the
    /// given process does not exist.
    #[error("the gateway at {url} cannot be attached: {message}")]
    Attach { url: String, message: String },
    #[error("cannot install {gateway}: {message}")]
    Install {
        gateway: String,
        message: String,
        remedy: String,
    },
    /// The gateway's supervisor failed, for example because a core or a control group is not
    /// available.
    #[error("gateway {gateway} could not be started: {message}")]
    Supervisor { gateway: String, message: String },
    /// Another host, a cluster or Terraform cannot be used, or gatebench failed on another host.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// A part of a trial ended before it was stopped, or an attached gateway can no longer be
    /// watched.
    #[error("{message}")]
    Died {
        culprit: Culprit,
        /// For a gateway or upstream that gatebench started, the message states how the part ended,
        /// and may contain the last lines of its stderr.
        message: String,
        remedy: String,
    },
    #[error("the trial's certificate cannot be used: {}", .0.what_and_place())]
    Certificate(#[from] SettingsError),
    #[error("cannot limit {gateway} to {limits}: {why}")]
    Limits {
        gateway: String,
        limits: String,
        why: String,
    },
    #[error("the upstream did not start: {message}\n{stderr}")]
    Upstream { message: String, stderr: String },
    /// The Redis server for a scenario's rate limit is not installed, did not print its version, or
    /// did not start.
    #[error("Redis cannot be started: {message}\n{stderr}")]
    Redis { message: String, stderr: String },
    /// The PostgreSQL server for a gateway's configuration is not installed, or could not be
    /// prepared or started.
    #[error("PostgreSQL cannot be started: {message}\n{stderr}")]
    Postgres { message: String, stderr: String },
    /// The control plane of a gateway did not start, has ended, or is deliberately down.
    #[error("the control plane of {gateway} cannot be used: {message}\n{stderr}")]
    ControlPlane {
        gateway: String,
        message: String,
        /// The last lines of the control plane's output.
        stderr: String,
    },
    #[error("cannot {operation}: {source}")]
    Io {
        operation: String,
        source: std::io::Error,
    },
}

impl DriverError {
    pub(crate) fn bad_file(
        path: impl Into<PathBuf>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::BadFile {
            path: path.into(),
            line: None,
            message: message.into(),
            remedy: remedy.into(),
        }
    }

    /// Wraps a system error with the operation that failed, such as `start terraform`.
    pub(crate) fn io(operation: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let operation = operation.into();
        move |source| Self::Io { operation, source }
    }

    /// Wraps a system error with the operation that failed, given as a verb and a path.
    pub(crate) fn at(verb: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        Self::io(format!("{verb} {}", path.display()))
    }

    /// Reports whether the gateway's program, a file that it needs or its image is missing, no
    /// container engine can be used, or the program does not print its version. A run that does not
    /// name the gateway continues without it.
    pub fn is_missing(&self) -> bool {
        match self {
            Self::BinaryMissing { .. } | Self::ContainerEngine { .. } | Self::NoVersion { .. } => {
                true
            }
            Self::Remote(error) => error.is_missing,
            _ => false,
        }
    }
}

/// An error in a form that can be sent between hosts.
#[derive(Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RemoteError {
    pub culprit: Culprit,
    pub message: String,
    pub remedy: String,
    /// The result of [`DriverError::is_missing`].
    pub is_missing: bool,
}

impl RemoteError {
    pub fn environment(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            culprit: Culprit::Environment,
            message: message.into(),
            remedy: remedy.into(),
            is_missing: false,
        }
    }
}

impl From<DriverError> for RemoteError {
    fn from(error: DriverError) -> Self {
        Self {
            culprit: error.culprit(),
            message: error.to_string(),
            remedy: error.remedy(),
            is_missing: error.is_missing(),
        }
    }
}

impl Blame for DriverError {
    fn culprit(&self) -> Culprit {
        match self {
            Self::Mistakes(mistakes) => {
                let first = mistakes.all().first();
                Culprit::File {
                    path: first.map_or_else(PathBuf::new, |it| PathBuf::from(&it.file)),
                    line: first.map(|it| it.line),
                }
            }
            Self::BadFile { path, line, .. } => Culprit::File {
                path: path.clone(),
                line: *line,
            },
            Self::NoFolder { path } => Culprit::File {
                path: path.clone(),
                line: None,
            },
            Self::Unsupported(unsupported) => Culprit::Gateway(unsupported.gateway.clone()),
            Self::NoVersion { gateway, .. }
            | Self::Refused { gateway, .. }
            | Self::Unchecked { gateway, .. }
            | Self::EndedAtStart { gateway, .. }
            | Self::NotReady { gateway, .. }
            | Self::ControlPlane { gateway, .. }
            | Self::Action { gateway, .. } => Culprit::Gateway(gateway.clone()),
            Self::Attach { url, .. } => Culprit::Gateway(url.clone()),
            Self::Remote(RemoteError { culprit, .. }) | Self::Died { culprit, .. } => {
                culprit.clone()
            }
            Self::Upstream { .. } => Culprit::Upstream,
            _ => Culprit::Environment,
        }
    }

    fn remedy(&self) -> String {
        match self {
            Self::UnknownGateway { known, .. } => {
                format!("use one of {}, or the path of a folder: ./NAME", known.join(", "))
            }
            Self::Mistakes(mistakes) => {
                mistakes.all().first().map(|mistake| mistake.help.clone()).unwrap_or_default()
            }
            Self::NoFolder { .. } => "give the path of a folder that contains a gateway.yaml; `gatebench list` shows the known names".into(),
            Self::Unsupported(_) => "run the scenario without this gateway; a missing feature does not count as a failure".into(),
            Self::NoSuchVersion { gateway, wanted, .. } => format!(
                "install {gateway} {wanted} and put it on PATH, or give its path: {gateway}@/opt/{gateway}-{wanted}"
            ),
            Self::ContainerEngine { remedy, .. }
            | Self::Install { remedy, .. }
            | Self::WrongVersion { remedy, .. }
            | Self::Died { remedy, .. }
            | Self::Remote(RemoteError { remedy, .. })
            | Self::BadFile { remedy, .. }
            | Self::BinaryMissing {
                install: remedy, ..
            } => remedy.clone(),
            Self::NoVersion { binary, .. } => format!(
                "run {} by hand; if it works, correct binary.version_args and binary.version_pattern in gateway.yaml",
                binary.display()
            ),
            Self::Refused { command, .. } => {
                format!("correct the template of the file that the message names; to repeat the check, run: {command}")
            }
            Self::Unchecked { command, .. } => {
                format!("try again when the machine is less busy; to repeat the check, run: {command}")
            }
            Self::EndedAtStart { .. } => "read the gateway's output above; its configuration is in the trial's folder".into(),
            Self::NotReady { .. } => {
                "read the gateway's logs in the trial's folder; if it needs more time, raise ready.timeout in gateway.yaml".into()
            }
            Self::PortTaken { .. } => "stop the processes that listen on these ports, or try again: gatebench then tries other ports".into(),
            Self::Action { .. } => "read the gateway's logs in the trial's folder, and correct this action in gateway.yaml".into(),
            Self::Attach { .. } => "start the gateway first, and give its URL as http://HOST:PORT; if you use --pid, give the ID of a running process".into(),
            Self::Supervisor { .. } => "check that the program, the cores and the control groups that the message names are available".into(),
            Self::Upstream { .. } => "read the upstream's logs in the trial's folder".into(),
            Self::Redis { .. } => "install Redis with `gatebench install redis` if it is missing, or set the address of a running server in the scenario: `redis: 127.0.0.1:6379`".into(),
            Self::Postgres { .. } => "if a program is missing, install Debian's packages: apt-get install postgresql util-linux; otherwise, fix the problem that the message names".into(),
            Self::ControlPlane { .. } => "read the control plane's logs in the trial's folder, and correct control_plane in gateway.yaml".into(),
            Self::Certificate(error) => error.remedy().into(),
            Self::Limits { .. } => {
                format!("{NO_GROUPS}; a limit of whole CPUs without a memory limit needs no control group")
            }
            Self::Io { .. } => "fix the cause that the message names, such as a full disk or a directory that is not writable, and try again".into(),
        }
    }
}

fn first_mistake(mistakes: &Diagnostics) -> String {
    match mistakes.all() {
        [] => String::new(),
        [only] => only.message.clone(),
        [first, more @ ..] => format!("{} (and {} more in this file)", first.message, more.len()),
    }
}

fn listed(others: &[String]) -> String {
    match others {
        [] => String::new(),
        others => format!(": {}", others.join(", ")),
    }
}

fn join_ports(ports: &[u16]) -> String {
    let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
    ports.join(", ")
}
