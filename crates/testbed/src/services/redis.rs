//! A Redis of the trial's own, for limits that count in one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::DriverError;
use crate::install::InstallStep;
use crate::process::{Launcher, Plain, Supervised};
use crate::system::command::{self, wait_until};

/// The program.
const PROGRAM: &str = "redis-server";

/// Its Debian package.
const PACKAGE: &str = "redis-server";

/// Where Debian and those who build it put it, after PATH.
const FOLDERS: [&str; 2] = ["/usr/bin", "/usr/local/bin"];

/// What it writes once it can be asked.
const READY: &str = "Ready to accept connections";

/// What it writes where another process listens on its port.
const TAKEN: &str = "Address already in use";

/// It reads nothing from disk, so this is long.
const READY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long it may take to say its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);

/// Another process may take a reserved port before it does; more often than this it is no accident.
const PORT_ATTEMPTS: usize = 5;

/// Open descriptors it may have, as far as the machine's hard limit allows.
const NOFILE: u64 = 65_536;

/// What it is told besides its port: to keep nothing, in memory only, and to stay in the foreground.
const SETTINGS: [(&str, &str); 5] = [
    ("--bind", "127.0.0.1"),
    ("--save", ""),
    ("--appendonly", "no"),
    ("--daemonize", "no"),
    ("--dir", "."),
];

/// Everything needed to start one.
#[derive(Clone, Debug)]
pub struct RedisStart<'a> {
    /// Its working folder, where its log goes; made where it does not exist.
    pub work: &'a Path,
    /// Cores it runs on; none means anywhere.
    pub cores: &'a [usize],
    /// The supervising program.
    pub launcher: &'a Launcher,
}

/// A Redis that listens. Dropping it ends it, and what it has counted is gone.
#[derive(Debug)]
pub struct RedisProcess {
    process: Supervised,
    /// Where it listens.
    pub addr: SocketAddr,
}

/// A Redis that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRedis {
    /// Its program.
    pub path: PathBuf,
    /// Its version.
    pub version: String,
}

impl FoundRedis {
    /// Looks on PATH, then where Debian puts it.
    ///
    /// # Errors
    /// [`DriverError::Redis`] where there is none, or what is there does not say its version.
    pub fn find() -> Result<Self, DriverError> {
        let path = program()?;
        let mut ask = std::process::Command::new(&path);
        ask.arg("--version");
        let told = command::run(&mut ask, VERSION_TIMEOUT).map(|it| it.output);
        let told = told.unwrap_or_else(|error| error.to_string());
        // `Redis server v=7.0.15 sha=...`
        let version = told.split_whitespace().find_map(|it| it.strip_prefix("v="));
        match version {
            Some(version) => Ok(Self {
                version: version.to_owned(),
                path,
            }),
            None => Err(DriverError::Redis {
                message: format!(
                    "{} did not print its version: {}",
                    path.display(),
                    told.trim()
                ),
                stderr: String::new(),
            }),
        }
    }

    /// How it is installed.
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
    /// Starts it on a free port and waits until it can be asked. On an error nothing is left running.
    ///
    /// # Errors
    /// [`DriverError::Redis`] where it is not installed, ends, or is not ready in time.
    pub fn start(&self) -> Result<RedisProcess, DriverError> {
        let program = program()?;
        let mut tried = Vec::new();
        while tried.len() < PORT_ATTEMPTS {
            let reserved = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
            let addr = reserved
                .and_then(|listener| listener.local_addr())
                .map_err(DriverError::io("looking for a free port"))?;
            match self.attempt(&program, addr)? {
                Some(process) => return Ok(process),
                None => tried.push(addr.port()),
            }
        }
        Err(DriverError::PortTaken { ports: tried })
    }

    /// On one port; none where another process has it.
    fn attempt(
        &self,
        program: &Path,
        addr: SocketAddr,
    ) -> Result<Option<RedisProcess>, DriverError> {
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
            // Asked before reading, so that what it said at its end is still heard.
            let exit = process.exit();
            let said = fs::read_to_string(&process.stdout).unwrap_or_default();
            let is_ready = said.contains(READY).then_some(Ok(()));
            is_ready.or_else(|| exit.map(|exit| Err((exit, said.contains(TAKEN)))))
        });
        let message = match heard {
            Some(Ok(())) => return Ok(Some(RedisProcess { process, addr })),
            Some(Err((_, true))) => return Ok(None),
            Some(Err((exit, false))) => format!("it ended ({exit})"),
            None => format!("it was not ready within {READY_TIMEOUT:?}"),
        };
        let stderr = process.output_tail();
        Err(DriverError::Redis { message, stderr })
    }
}

impl RedisProcess {
    /// Whether it still runs.
    pub fn is_alive(&mut self) -> bool {
        self.process.exit().is_none()
    }
}
