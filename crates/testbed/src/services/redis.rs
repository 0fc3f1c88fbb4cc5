//! A Redis for one trial, for rate limits that count in Redis.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Service;
use crate::error::DriverError;
use crate::gateway::{PORT_ATTEMPTS, reserve_port};
use crate::install::InstallStep;
use crate::process::{Launcher, Plain};
use crate::system::command::{self, wait_until};

const PROGRAM: &str = "redis-server";

/// Its Debian package.
const PACKAGE: &str = "redis-server";

/// The folders of Debian's package and of `make install`, which are searched after PATH.
const FOLDERS: [&str; 2] = ["/usr/bin", "/usr/local/bin"];

/// The line that it writes when it accepts connections.
const READY: &str = "Ready to accept connections";

/// The line that it writes if another process listens on its port.
const TAKEN: &str = "Address already in use";

/// The timeout of its start. It reads nothing from disk, so this is plenty.
const READY_TIMEOUT: Duration = Duration::from_secs(10);

/// The time that it may take to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);

/// The limit of its open descriptors, if the machine's hard limit is not lower.
const NOFILE: u64 = 65_536;

/// Its options in addition to its port: keep everything in memory only, and stay in the foreground.
const SETTINGS: [(&str, &str); 5] = [
    ("--bind", "127.0.0.1"),
    ("--save", ""),
    ("--appendonly", "no"),
    ("--daemonize", "no"),
    ("--dir", "."),
];

/// The inputs for starting Redis.
pub(crate) struct RedisStart<'a> {
    /// Its working folder with its log, which is created if it does not exist.
    pub work: &'a Path,
    /// The cores that it runs on [default: all].
    pub cores: &'a [usize],
    pub launcher: &'a Launcher,
}

/// A Redis that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRedis {
    /// Its program.
    pub path: PathBuf,
    pub version: String,
}

impl FoundRedis {
    /// Looks on PATH, then in the folders of Debian's package.
    ///
    /// # Errors
    /// [`DriverError::Redis`] if there is none, or if it does not print its version.
    pub fn find() -> Result<Self, DriverError> {
        let path = program()?;
        let mut ask = std::process::Command::new(&path);
        ask.arg("--version");
        let output = command::run(&mut ask, VERSION_TIMEOUT).map(|it| it.output);
        let output = output.unwrap_or_else(|error| error.to_string());
        // `Redis server v=7.0.15 sha=...`
        let version = output
            .split_whitespace()
            .find_map(|it| it.strip_prefix("v="));
        match version {
            Some(version) => Ok(Self {
                version: version.to_owned(),
                path,
            }),
            None => Err(DriverError::Redis {
                message: format!(
                    "{} did not print its version: {}",
                    path.display(),
                    output.trim()
                ),
                stderr: String::new(),
            }),
        }
    }

    /// Describes its installation.
    pub fn install_step() -> InstallStep {
        InstallStep::Debian(vec![PACKAGE.into()])
    }
}

fn program() -> Result<PathBuf, DriverError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(FOLDERS.map(PathBuf::from));
    let mut programs = folders.map(|folder| folder.join(PROGRAM));
    programs
        .find(|program| program.is_file())
        .ok_or_else(|| DriverError::Redis {
            message: format!("{PROGRAM} was not found"),
            stderr: String::new(),
        })
}

impl RedisStart<'_> {
    /// Starts it on a free port and waits until it accepts connections. After an error no process
    /// is left.
    pub(crate) fn start(&self) -> Result<Service, DriverError> {
        let program = program()?;
        let mut tried = Vec::new();
        while tried.len() < PORT_ATTEMPTS {
            let port = reserve_port(Ipv4Addr::LOCALHOST.into())?;
            let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            match self.attempt(&program, addr)? {
                Some(process) => return Ok(process),
                None => tried.push(port),
            }
        }
        Err(DriverError::PortTaken { ports: tried })
    }

    /// Starts it on one port; none if another process uses the port.
    fn attempt(&self, program: &Path, addr: SocketAddr) -> Result<Option<Service>, DriverError> {
        let mut words: Vec<OsString> = vec![program.into()];
        words.extend(["--port".into(), addr.port().to_string().into()]);
        for (name, value) in SETTINGS {
            words.extend([name.into(), value.into()]);
        }
        let plain = Plain {
            name: "redis",
            command: words,
            environment: &BTreeMap::new(),
            work: self.work,
            cores: self.cores,
            nofile: NOFILE,
            launcher: self.launcher,
        };
        let mut process = plain.start()?;
        let heard = wait_until(Instant::now() + READY_TIMEOUT, || {
            // The exit is checked before the read, so that the last output is not missed.
            let exit = process.exit_status();
            let said = fs::read_to_string(&process.stdout).unwrap_or_default();
            let is_ready = said.contains(READY).then_some(Ok(()));
            is_ready.or_else(|| exit.map(|exit| Err((exit, said.contains(TAKEN)))))
        });
        let message = match heard {
            Some(Ok(())) => return Ok(Some(Service { process, addr })),
            Some(Err((_, true))) => return Ok(None),
            Some(Err((exit, false))) => format!("it ended ({exit})"),
            None => format!("it was not ready within {READY_TIMEOUT:?}"),
        };
        let stderr = process.output_tail();
        Err(DriverError::Redis { message, stderr })
    }
}
