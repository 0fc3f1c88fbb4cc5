//! A Redis server for one trial, which keeps the counters of rate limits.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Readiness, Service};
use crate::error::DriverError;
use crate::gateway::on_usable_port;
use crate::install::InstallStep;
use crate::process::{Launcher, PlainStart};
use crate::system::command;
use crate::system::installed::path_folders;

const PROGRAM: &str = "redis-server";

const PACKAGE: &str = "redis-server";

/// The folders of Debian's package and of `make install`, which are searched after PATH.
const FOLDERS: [&str; 2] = ["/usr/bin", "/usr/local/bin"];

/// A part of the line that Redis writes when it accepts connections.
const READY: &str = "Ready to accept connections";

/// The timeout for the start of Redis, which is ample because Redis has no data to load.
const READY_TIMEOUT: Duration = Duration::from_secs(10);

/// Redis writes its log to standard output.
const READINESS: Readiness = Readiness {
    timeout: READY_TIMEOUT,
    log: |process| &process.stdout,
    is_ready: |log, _| log.contains(READY),
    error: |message, stderr| DriverError::Redis { message, stderr },
};

const VERSION_TIMEOUT: Duration = Duration::from_secs(5);

/// The options of Redis in addition to its address. Redis keeps all data in memory, and runs in the
/// foreground.
const SETTINGS: [(&str, &str); 5] = [
    // In protected mode, a Redis without a password refuses clients from other hosts.
    ("--protected-mode", "no"),
    ("--save", ""),
    ("--appendonly", "no"),
    ("--daemonize", "no"),
    ("--dir", "."),
];

/// A `redis-server` program on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRedis {
    pub path: PathBuf,
    pub version: String,
}

impl FoundRedis {
    /// Finds the server on PATH, or otherwise in the folders of Debian's package and of `make
    /// install`.
    ///
    /// # Errors
    /// [`DriverError::Redis`] if no Redis is found, or if the program found does not print its
    /// version.
    pub fn find() -> Result<Self, DriverError> {
        let path = program()?;
        let mut ask = std::process::Command::new(&path);
        ask.arg("--version");
        let output = command::run(&mut ask, VERSION_TIMEOUT).map(|it| it.output);
        let output = output.unwrap_or_else(|error| error.to_string());
        // The output has the form `Redis server v=7.0.15 sha=...`.
        let mut words = output.split_whitespace();
        let version = words.find_map(|it| it.strip_prefix("v=")).ok_or_else(|| {
            let (path, output) = (path.display(), output.trim());
            not_found(format!("{path} did not print its version: {output}"))
        })?;
        Ok(Self {
            version: version.to_owned(),
            path,
        })
    }

    pub fn install_step() -> InstallStep {
        InstallStep::Debian(vec![PACKAGE.into()])
    }
}

fn not_found(message: String) -> DriverError {
    let stderr = String::new();
    DriverError::Redis { message, stderr }
}

fn program() -> Result<PathBuf, DriverError> {
    let folders = path_folders().into_iter().chain(FOLDERS.map(PathBuf::from));
    let mut programs = folders.map(|folder| folder.join(PROGRAM));
    let program = programs.find(|program| program.is_file());
    program.ok_or_else(|| not_found(format!("{PROGRAM} was not found")))
}

/// Starts Redis on a free port and waits until it accepts connections. `work` is the working folder
/// for its log. After an error, no process is left running.
pub(crate) fn start_redis(
    listen: IpAddr,
    work: &Path,
    cores: &[usize],
    launcher: &Launcher,
) -> Result<Service, DriverError> {
    let program = program()?;
    on_usable_port(listen, &[], |port| {
        let mut command: Vec<OsString> = vec![program.clone().into()];
        command.extend(["--port".into(), port.to_string().into()]);
        command.extend(["--bind".into(), listen.to_string().into()]);
        let settings = SETTINGS.into_iter();
        command.extend(settings.flat_map(|(name, value)| [name.into(), value.into()]));
        let start = PlainStart {
            name: "redis",
            command,
            environment: &BTreeMap::new(),
            work,
            cores,
        };
        let addr = SocketAddr::new(listen, port);
        READINESS.start(start, addr, launcher)
    })
}
