//! When a gateway is ready: a listener on its port belongs to the processes that were started, and
//! it answers a request; where the folder names a path for that, with 200. A caller that looks for
//! a response of its own replaces that request.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use gatebench_model::gateway::Ready;
use rustix::process::Signal;

use super::fatal::fatal_line;
use crate::process::Supervised;
use crate::system::command::wait_until;
use crate::system::exit::Exit;
use crate::system::http;
use crate::system::processes;

/// One request may take this long; a start that hangs is found by the timeout of the whole.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);

/// Beyond its readiness, how long a gateway may take until it acts on signals.
const HEARD_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval of the requests to a ready gateway until it has settled.
const SETTLE_INTERVAL: Duration = Duration::from_millis(50);

/// Sends a request of the caller's to the gateway. The error says why the response is not the one
/// that the caller looks for.
pub type Opening<'a> = &'a dyn Fn(SocketAddr) -> Result<(), String>;

/// What was seen at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Nobody listens.
    NoListener,
    /// Somebody else listens.
    Foreign,
    /// Ours listens but gives no answer.
    NoAnswer(io::ErrorKind),
    /// Ours answers that it is not ready.
    Unready { status: u16, path: String },
    /// Ours does not respond as the caller expects, for this reason.
    Unexpected(String),
    /// Ours answers.
    Ready,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoListener => f.write_str("nothing listens on its port"),
            Self::Foreign => f.write_str("another process listens on its port"),
            Self::NoAnswer(io::ErrorKind::TimedOut) => {
                f.write_str("it accepts a request and hangs without answering")
            }
            Self::NoAnswer(kind) => write!(f, "it listens but does not answer ({kind})"),
            Self::Unready { status, path } => write!(f, "it answers {status} to GET {path}"),
            Self::Unexpected(why) => write!(f, "it gives no correct response: {why}"),
            Self::Ready => f.write_str("it is ready"),
        }
    }
}

/// How waiting came to its end.
pub(crate) enum Outcome {
    /// It responds, and has done so without a failure since this moment. The last look before that
    /// began at the second moment, if there was one.
    Ready(Instant, Option<Instant>),
    /// The port belongs to another process.
    Clash,
    /// The process ended first.
    Ended(Exit),
    /// The time ran out, or it hangs and wrote the reason; with the last state seen.
    TimedOut(Seen),
}

/// Waits until the process responds on the address and has settled, ends, or the time runs out.
/// This does not speak TLS: over TLS, a listening process is ready, and the caller asks it for a
/// response. With an `opening`, the process is ready at the first response that it accepts, and does
/// not have to settle.
pub(crate) fn wait_for(
    process: &mut Supervised,
    address: SocketAddr,
    ready: &Ready,
    has_tls: bool,
    opening: Option<Opening<'_>>,
) -> Outcome {
    let deadline = Instant::now() + ready.timeout.0;
    let settle = opening.map_or(ready.settle.0, |_| Duration::ZERO);
    let ask = || match opening {
        Some(opening) => opening(address).map_or_else(Seen::Unexpected, |()| Seen::Ready),
        None if has_tls => Seen::Ready,
        None => response(address, ready),
    };
    let mut last = Seen::NoListener;
    let mut ready_since = None;
    let mut unready_at = None;
    let settled = wait_until(deadline, || {
        if let Some(exit) = process.exit() {
            // A gateway that ends because its port is taken is not to blame.
            let clash = !processes::listeners(address).is_empty();
            return Some(if clash {
                Outcome::Clash
            } else {
                Outcome::Ended(exit)
            });
        }
        let began = Instant::now();
        last = look(process.root().pid(), address, ask);
        if last != Seen::Ready {
            ready_since = None;
            unready_at = Some(began);
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
            Seen::Foreign => Some(Outcome::Clash),
            Seen::NoAnswer(io::ErrorKind::TimedOut) => fatal_line(&process.stderr_tail())
                .map(|_| Outcome::TimedOut(Seen::NoAnswer(io::ErrorKind::TimedOut))),
            _ => None,
        }
    });
    settled.unwrap_or(Outcome::TimedOut(last))
}

/// Waits until the gateway acts on the signals of its actions. A port that answers does not say so: workers
/// answer while their master still sets itself up. HAProxy's runs its program anew after it has started the
/// worker, and on the way ignores SIGHUP for a moment, by which the kernel throws away one that is waiting.
/// One that never gets there is left to who sends the signal.
pub(crate) fn wait_to_be_heard(process: &Supervised, signals: &[Signal]) {
    let heard = || {
        let awaits = |main| {
            signals
                .iter()
                .all(|signal| processes::awaits(main, *signal))
        };
        process.main_pid().is_none_or(awaits).then_some(())
    };
    wait_until(Instant::now() + HEARD_TIMEOUT, heard);
}

/// Looks for a listener of the process tree, and if there is one asks it.
fn look(root: u32, address: SocketAddr, ask: impl Fn() -> Seen) -> Seen {
    let listeners = processes::listeners(address);
    if listeners.is_empty() {
        return Seen::NoListener;
    }
    let ours = processes::sockets_of(&processes::tree(root));
    // With SO_REUSEPORT two programs may share a port: each and every listener must be ours.
    if !listeners.iter().all(|inode| ours.contains_key(inode)) {
        return Seen::Foreign;
    }
    ask()
}

/// Asks as the folder says. The last request before the deadline too has its whole time: cut short,
/// it would say of any gateway that it hangs.
fn response(address: SocketAddr, ready: &Ready) -> Seen {
    let path = ready.path.as_deref().unwrap_or("/");
    match http::status_of(address, path, REQUEST_TIMEOUT) {
        Ok(status) if ready.accepts(status) => Seen::Ready,
        Ok(status) => Seen::Unready {
            status,
            path: path.into(),
        },
        Err(error) => Seen::NoAnswer(error.kind()),
    }
}
