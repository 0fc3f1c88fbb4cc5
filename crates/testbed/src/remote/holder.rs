//! The pod's end of a connection: a process that outlives connections, because `kubectl exec` ends
//! when the API server or kubectl does.
//!
//! ```text
//! gatebench ──kubectl exec──> relay ──unix socket──> holder ──pipes──> remote end
//! ```
//! Once connected, the relay only copies bytes. The holder numbers the lines of the remote end and
//! keeps those that gatebench has not yet acknowledged ([`Numbered`]).

use std::env;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::link::{LIFE_SIGN, LINE, READY};
use super::numbered::{Meaning, Numbered};
use crate::process::Launcher;
use crate::system::command::wait_until;

/// The socket of the holder in the folder for temporary files.
const SOCKET: &str = "gatebench-line";

const START_TIMEOUT: Duration = Duration::from_secs(10);

/// The time after which a holder without a connection ends its remote end.
pub(super) const ALONE: Duration = Duration::from_secs(120);

/// The time that the remote end may take to end its processes.
const END_TIMEOUT: Duration = Duration::from_secs(15);

/// The interval between checks of whether the remote end has ended.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The line that the other end sends to end the holder.
pub(super) const END: &str = "E";

const HOLD: [&str; 2] = ["remote-end", "--hold"];

fn socket() -> PathBuf {
    env::temp_dir().join(SOCKET)
}

/// Copies standard input to the holder, and the holder's output to standard output. Starts the
/// holder if it is not running, unless the connection replaces an earlier one.
///
/// # Errors
/// The holder has ended, or cannot be started.
pub fn relay(launcher: &Launcher, is_further: bool) -> io::Result<()> {
    let connect = || UnixStream::connect(socket()).ok();
    let stream = match connect() {
        Some(stream) => stream,
        None if is_further => {
            return Err(io::Error::other("gatebench has ended in the pod"));
        }
        None => {
            Command::new(&launcher.program)
                .args(HOLD)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .process_group(0)
                .spawn()?;
            let started = wait_until(Instant::now() + START_TIMEOUT, connect);
            started.ok_or_else(|| io::Error::other("the process that keeps the connection did not start; the pod may have too little memory"))?
        }
    };
    let mut stdout = io::stdout();
    writeln!(stdout, "{READY}{LINE}")?;
    stdout.flush()?;
    let (mut from, to) = (stream.try_clone()?, stream);
    thread::spawn(move || {
        // The end of either side ends the relay.
        let _ = io::copy(&mut io::stdin().lock(), &mut &to);
        let _ = to.shutdown(Shutdown::Both);
    });
    copy_at_once(&mut from, &mut stdout)
}

fn copy_at_once(from: &mut impl Read, to: &mut impl io::Write) -> io::Result<()> {
    let mut bytes = [0; 16 * 1024];
    loop {
        let count = from.read(&mut bytes)?;
        if count == 0 {
            return Ok(());
        }
        to.write_all(&bytes[..count])?;
        to.flush()?;
    }
}

struct Held {
    lines: Numbered,
    /// The connection, once the other end's greeting has been received.
    connection: Option<UnixStream>,
    /// The number of the last connection.
    connections: u64,
    alone_since: Instant,
    /// The remote end's standard input; none once it is ending.
    stdin: Option<ChildStdin>,
}

impl Held {
    fn write(&mut self, frame: &str) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        if writeln!(connection, "{frame}").is_err() {
            self.lose();
        }
    }

    fn lose(&mut self) {
        self.connection = None;
        self.alone_since = Instant::now();
    }
}

/// Runs a remote end, and keeps its lines until the other end has acknowledged them.
///
/// # Errors
/// The socket, the file for standard error or the remote end cannot be created.
pub fn hold(launcher: &Launcher) -> io::Result<()> {
    let socket = socket();
    let _ = fs::remove_file(&socket);
    let mut child = Command::new(&launcher.program)
        .arg(HOLD[0])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(File::create(socket.with_extension("stderr"))?)
        .spawn()?;
    let held = Arc::new(Mutex::new(Held {
        lines: Numbered::default(),
        connection: None,
        connections: 0,
        alone_since: Instant::now(),
        stdin: child.stdin.take(),
    }));
    if let Some(stdout) = child.stdout.take() {
        let held = Arc::clone(&held);
        thread::spawn(move || number_lines(stdout, &held));
    }
    let listener = UnixListener::bind(&socket)?;
    let accepting = Arc::clone(&held);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let held = Arc::clone(&accepting);
            thread::spawn(move || drop(serve(stream, &held)));
        }
    });
    watch(&mut child, &held);
    let _ = fs::remove_file(&socket);
    Ok(())
}

fn lock(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Numbers each line of the remote end and keeps it until it is acknowledged. Sends it at once if
/// there is a connection.
fn number_lines(stdout: ChildStdout, held: &Mutex<Held>) {
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        let mut held = lock(held);
        let frame = held.lines.send(&line);
        held.write(&frame);
    }
}

/// Sends heartbeats in both directions until the remote end has ended or must end. It must end
/// after [`END`], or if there has been no connection for [`ALONE`].
fn watch(child: &mut Child, held: &Mutex<Held>) {
    loop {
        if ends_within(child, LIFE_SIGN) {
            return;
        }
        let mut held = lock(held);
        let acknowledgment = held.lines.acknowledgment();
        held.write(&acknowledgment);
        if held.connection.is_none() && held.alone_since.elapsed() > ALONE {
            held.stdin = None;
        }
        match &mut held.stdin {
            Some(stdin) => drop(stdin.write_all(b"\n")),
            None => break,
        }
    }
    if !ends_within(child, END_TIMEOUT) {
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Reports whether the child ends within this time. The checks are infrequent, because a gateway
/// may be measured in this pod.
fn ends_within(child: &mut Child, timeout: Duration) -> bool {
    let deadline = Instant::now() + timeout;
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < deadline => thread::sleep(LOOK_EVERY),
            Ok(None) => return false,
            _ => return true,
        }
    }
}

/// Serves a connection until it ends. The connection replaces an earlier one, which may have
/// stalled.
fn serve(stream: UnixStream, held: &Mutex<Held>) -> io::Result<()> {
    let number = {
        let mut held = lock(held);
        held.connections += 1;
        writeln!(&stream, "{}", held.lines.greeting())?;
        held.connections
    };
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    loop {
        line.clear();
        // A line without a newline was cut off.
        if reader.read_line(&mut line).unwrap_or(0) == 0 || !line.ends_with('\n') {
            break;
        }
        let mut held = lock(held);
        if held.connections != number {
            break;
        }
        let frame = line.trim_end_matches('\n');
        if frame == END {
            held.stdin = None;
        }
        match held.lines.receive(frame) {
            Meaning::Nothing => {}
            Meaning::Gap => break,
            Meaning::Line(text) => {
                if let Some(stdin) = &mut held.stdin {
                    let _ = stdin.write_all(format!("{text}\n").as_bytes());
                }
                let acknowledgment = held.lines.acknowledgment();
                held.write(&acknowledgment);
            }
            Meaning::Again(frames) => {
                held.connection = Some(stream.try_clone()?);
                frames.iter().for_each(|frame| held.write(frame));
            }
        }
    }
    let mut held = lock(held);
    if held.connections == number {
        held.lose();
    }
    stream.shutdown(Shutdown::Both)
}
