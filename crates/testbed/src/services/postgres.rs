//! A PostgreSQL server for one trial, for gateways that keep their configuration in a database.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{Readiness, Service};
use crate::error::DriverError;
use crate::gateway::on_usable_port;
use crate::process::{Launcher, PlainStart};
use crate::system::command;

/// The folder that Debian installs PostgreSQL into, with a subfolder for each major version.
const VERSIONS: &str = "/usr/lib/postgresql";

const NAME: &str = "gatebench";

const DATA: &str = "data";

/// A part of the line that PostgreSQL writes when it has started.
const READY: &str = "database system is ready to accept connections";

/// The timeout of each step: creating the files, starting PostgreSQL, and creating the database.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// PostgreSQL may write [`READY`] before it accepts connections on the address, so both are
/// checked.
const READINESS: Readiness = Readiness {
    timeout: START_TIMEOUT,
    log: |process| &process.stderr,
    is_ready: |log, addr| log.contains(READY) && TcpStream::connect(addr).is_ok(),
    error: |message, stderr| DriverError::Postgres { message, stderr },
};

/// The settings in addition to the port and the data folder: no Unix socket, only the loopback
/// address, and no precautions against a crash of the machine.
const SETTINGS: [&str; 5] = [
    "unix_socket_directories=",
    "listen_addresses=127.0.0.1",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
];

fn failed(message: impl Into<String>, stderr: String) -> DriverError {
    DriverError::Postgres {
        message: message.into(),
        stderr,
    }
}

/// Returns the folder with the programs of the newest installed version.
fn programs() -> Result<PathBuf, DriverError> {
    let versions = fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.map(|it| it.path()).max_by_key(number);
    let programs = newest.map(|version| version.join("bin"));
    let programs = programs.filter(|bin| bin.join("postgres").is_file());
    programs.ok_or_else(|| {
        failed(
            format!("there is no version of PostgreSQL in {VERSIONS}"),
            String::new(),
        )
    })
}

/// Returns a command that also works for root, although PostgreSQL refuses to run as root. In a
/// user namespace without a mapping, root appears as the user `nobody`, and so does the owner of
/// the files that root creates.
fn as_user(program: PathBuf) -> Vec<OsString> {
    let is_root = rustix::process::geteuid().is_root();
    let namespace = is_root.then(|| ["unshare", "--user"].map(OsString::from));
    let words = namespace.into_iter().flatten();
    words.chain([program.into()]).collect()
}

/// Starts PostgreSQL with an empty database on a free port, and waits until it accepts connections.
/// `work` is the working folder for data and logs. After an error, no process is left running.
pub(crate) fn start_postgres(
    work: &Path,
    cores: &[usize],
    launcher: &Launcher,
) -> Result<Service, DriverError> {
    let programs = programs()?;
    create(&programs, work)?;
    let service = on_usable_port(Ipv4Addr::LOCALHOST.into(), &[], |port| {
        let mut words = as_user(programs.join("postgres"));
        words.extend(["-D", DATA, "-p"].map(OsString::from));
        words.push(port.to_string().into());
        let settings = SETTINGS.into_iter();
        words.extend(settings.flat_map(|setting| ["-c".into(), setting.into()]));
        let start = PlainStart {
            name: "postgres",
            command: words,
            environment: &BTreeMap::new(),
            work,
            cores,
        };
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        READINESS.start(start, addr, launcher)
    })?;
    let (create, port) = (as_user(programs.join("createdb")), service.addr.port());
    let port = port.to_string();
    let more = ["-h", "127.0.0.1", "-p", &port, "-U", NAME, NAME].map(OsString::from);
    run(create.into_iter().chain(more), work)?;
    Ok(service)
}

/// Creates the files of a server whose only user needs no password.
fn create(programs: &Path, work: &Path) -> Result<(), DriverError> {
    fs::create_dir_all(work).map_err(DriverError::at("create", work))?;
    // If a check is repeated in the same folder, the data of the previous check is still there.
    match fs::remove_dir_all(work.join(DATA)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        removed => removed.map_err(DriverError::at("empty", work))?,
    }
    let words = as_user(programs.join("initdb"));
    let more = [
        "-D",
        DATA,
        "-U",
        NAME,
        "-A",
        "trust",
        "-N",
        "-E",
        "UTF8",
        "--locale=C",
    ];
    run(words.into_iter().chain(more.map(OsString::from)), work)
}

fn run(words: impl IntoIterator<Item = OsString>, work: &Path) -> Result<(), DriverError> {
    let words: Vec<OsString> = words.into_iter().collect();
    let shown = words.join(" ".as_ref()).display().to_string();
    let mut ask = Command::new(&words[0]);
    ask.args(&words[1..]).current_dir(work);
    match command::run(&mut ask, START_TIMEOUT) {
        Ok(finished) if finished.status.success() => Ok(()),
        Ok(finished) => {
            let message = format!("{shown}: {}", finished.status);
            Err(failed(message, finished.output))
        }
        Err(error) => Err(failed(format!("{shown}: {error}"), String::new())),
    }
}
