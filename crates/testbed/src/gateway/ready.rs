//! Waits until a gateway is ready: all listeners on its port belong to the started processes, and
//! the gateway responds to a request. If the folder names a path, the status must be 200; otherwise
//! it may be any status except 502, 503 and 504. A caller may send its own request instead.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use gatebench_model::gateway::Ready;
use rustix::process::Signal;

use crate::process::Supervised;
use crate::system::command::wait_until;
use crate::system::exit::Exit;
use crate::system::processes;
use crate::wire::{Wire, fatal_line};

/// The timeout of one request. `ready.timeout` in `gateway.yaml` limits the whole wait.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);

/// The time that a ready gateway may take before it handles signals.
const HANDLERS_TIMEOUT: Duration = Duration::from_secs(5);

/// The time for which a foreign process must be seen on the port before the port counts as taken.
/// Without this delay, a process that the gateway creates while gatebench lists the gateway's
/// processes could count as foreign, because it can be missing from the list.
const FOREIGN_FOR: Duration = Duration::from_millis(200);

/// The interval between requests to a ready gateway until it has settled.
const SETTLE_INTERVAL: Duration = Duration::from_millis(50);

/// Sends the caller's own request to the gateway. Returns the reason why the response is not the
/// expected one; none if it is.
pub type Opening<'a> = &'a dyn Fn(&Wire) -> Option<String>;

/// The state of a gateway at one point in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    NoListener,
    Foreign,
    /// The gateway listens but does not respond, for this reason.
    NoResponse(io::ErrorKind, String),
    Unready {
        status: u16,
        path: String,
    },
    Unexpected(String),
    Ready,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoListener => f.write_str("nothing listens on its port"),
            Self::Foreign => f.write_str("another process listens on its port"),
            Self::NoResponse(io::ErrorKind::TimedOut, _) => {
                f.write_str("it accepts a request and hangs without a response")
            }
            Self::NoResponse(_, why) => write!(f, "it listens but does not respond ({why})"),
            Self::Unready { status, path } => write!(f, "it responds with {status} to GET {path}"),
            Self::Unexpected(why) => write!(f, "its response is not correct: {why}"),
            Self::Ready => f.write_str("it is ready"),
        }
    }
}

pub(crate) enum Outcome {
    /// The gateway is ready. Contains the time since which every observation was successful, and
    /// the time at which the last unsuccessful observation began, if there was one.
    Ready(Instant, Option<Instant>),
    /// Another process uses the port.
    Clash,
    Ended(Exit),
    /// The timeout expired, or the gateway hangs after it has reported a fatal error. Contains the
    /// gateway's last state.
    TimedOut(Seen),
}

/// Waits until the process responds at the address and has settled. The wait ends early if the
/// process ends, if another process uses the port, or if the process hangs and has reported a fatal
/// error. With an `opening`, the process is ready at the first response that the opening accepts,
/// and does not have to settle.
pub(crate) fn wait_for(
    process: &mut Supervised,
    wire: &Wire,
    ready: &Ready,
    opening: Option<Opening<'_>>,
) -> Outcome {
    let deadline = Instant::now() + ready.timeout.0;
    let settle = opening.map_or(ready.settle.0, |_| Duration::ZERO);
    let ask = || match opening {
        Some(opening) => opening(wire).map_or(Seen::Ready, Seen::Unexpected),
        None => response(wire, ready),
    };
    let mut last = Seen::NoListener;
    let mut ready_since = None;
    let mut unready_at = None;
    let mut foreign_since = None;
    let settled = wait_until(deadline, || {
        if let Some(exit) = process.exit_status() {
            // If another process uses the port, that is probably why the gateway ended. The
            // gateway's own workers, which may outlive it for a moment, are not foreign.
            return Some(
                match are_foreign(&processes::listeners(wire.address), process.tree().0) {
                    true => Outcome::Clash,
                    false => Outcome::Ended(exit),
                },
            );
        }
        let began = Instant::now();
        last = look(process.tree().0, wire.address, ask);
        if last != Seen::Ready {
            ready_since = None;
            unready_at = Some(began);
        }
        if last != Seen::Foreign {
            foreign_since = None;
        }
        match last {
            Seen::Ready => {
                let since = *ready_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= settle {
                    return Some(Outcome::Ready(since, unready_at));
                }
                thread::sleep(SETTLE_INTERVAL);
                None
            }
            Seen::Foreign => {
                let since = *foreign_since.get_or_insert(began);
                (since.elapsed() >= FOREIGN_FOR).then_some(Outcome::Clash)
            }
            Seen::NoResponse(io::ErrorKind::TimedOut, _) => {
                fatal_line(&process.stderr_tail()).map(|_| Outcome::TimedOut(last.clone()))
            }
            _ => None,
        }
    });
    settled.unwrap_or(match last {
        Seen::Foreign => Outcome::Clash,
        last => Outcome::TimedOut(last),
    })
}

/// Waits until the gateway handles the signals of its actions. A response does not prove this,
/// because workers respond while their master is still starting. For example, HAProxy's master
/// executes its program again after it has started the worker. The master then ignores SIGHUP for a
/// moment, and the kernel discards a pending SIGHUP. If the gateway takes too long, the wait ends
/// without an error, and a signal may have no effect.
pub(crate) fn wait_for_signal_handlers(process: &Supervised, signals: &[Signal]) {
    let awaits_all = |main| signals.iter().all(|it| processes::awaits(main, *it));
    let handled = || process.main_pid().is_none_or(awaits_all).then_some(());
    wait_until(Instant::now() + HANDLERS_TIMEOUT, handled);
}

fn look(root: u32, address: SocketAddr, ask: impl Fn() -> Seen) -> Seen {
    let listeners = processes::listeners(address);
    if listeners.is_empty() {
        return Seen::NoListener;
    }
    match are_foreign(&listeners, root) {
        true => Seen::Foreign,
        false => ask(),
    }
}

/// Reports whether a process outside the process tree listens. With SO_REUSEPORT, two programs may
/// share a port, so all listeners must belong to the gateway.
fn are_foreign(listeners: &BTreeSet<u64>, root: u32) -> bool {
    !listeners.is_subset(&processes::sockets_of(&processes::tree(root)))
}

/// Sends a GET for `ready.path`, or for `/` if there is no path. Even the last request before the
/// deadline has the full timeout, because with a shorter timeout, any gateway could seem to hang.
fn response(wire: &Wire, ready: &Ready) -> Seen {
    let path = ready.path.as_deref().unwrap_or("/");
    match wire.status_of(path, REQUEST_TIMEOUT) {
        Ok(status) if ready.accepts(status) => Seen::Ready,
        Ok(status) => Seen::Unready {
            status,
            path: path.into(),
        },
        Err(error) => Seen::NoResponse(error.kind(), error.to_string()),
    }
}
