//! A connection to a remote end. A connection into a pod is restored when it breaks: `kubectl exec`
//! ends when kubectl or the API server does, and may exit with code 0 although its output was cut
//! off.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::carrier::Carrier;
use super::holder::{ALONE, END};
use super::link::{LIFE_SIGN, LINE, Link, READY};
use super::numbered::{Meaning, Numbered};
use crate::error::{DriverError, RemoteError};

const SUBCOMMAND: &str = "remote-end";

/// The time without any frame after which a connection into a pod is considered broken. The holder
/// sends a frame every [`LIFE_SIGN`].
const SILENCE: Duration = LIFE_SIGN.saturating_mul(6);

/// The time that the other end may take to send its greeting.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(20);

/// The pause between attempts to connect again.
const PAUSE: Duration = Duration::from_millis(500);

/// Parts of error messages after which no further attempt can succeed.
const FINAL: [&str; 5] = [
    "has ended in the pod",
    "NotFound",
    "not found",
    "completed pod",
    "container not running",
];

#[derive(Debug)]
pub(super) enum Connection {
    /// A connection whose remote end ends all its processes if the connection breaks.
    Plain(Link),
    /// A connection that is restored if it breaks.
    Lasting(Box<Lasting>),
}

impl Connection {
    /// Connects, and returns the first message of the remote end.
    pub(super) fn open(carrier: Carrier, program: &Path) -> Result<(Self, String), DriverError> {
        if let Carrier::Pod { .. } = carrier {
            let (lasting, hello) = Lasting::open(carrier, program)?;
            return Ok((Self::Lasting(Box::new(lasting)), hello));
        }
        let (link, hello) = Link::open(carrier, program, &[SUBCOMMAND])?;
        Ok((Self::Plain(link), hello))
    }

    pub(super) fn say(&mut self, line: &str) -> Result<(), DriverError> {
        match self {
            Self::Plain(link) => link.say(line),
            Self::Lasting(lasting) => lasting.say(line),
        }
    }

    /// Returns the next line; none if no line arrives within this time.
    pub(super) fn hear(&mut self, timeout: Duration) -> Result<Option<String>, DriverError> {
        match self {
            Self::Plain(link) => link.hear(timeout),
            Self::Lasting(lasting) => lasting.hear(timeout),
        }
    }

    /// Returns the total time so far during which the connection was broken.
    pub(super) fn outage(&self) -> Duration {
        match self {
            Self::Plain(_) => Duration::ZERO,
            Self::Lasting(lasting) => lasting.outage,
        }
    }

    /// Ends a connection that has gone silent.
    pub(super) fn abandon(&mut self) {
        match self {
            Self::Plain(link) => link.abandon(),
            Self::Lasting(lasting) => lasting.link.abandon(),
        }
    }
}

/// A connection into a pod. Dropping it ends the remote end.
#[derive(Debug)]
pub(super) struct Lasting {
    link: Link,
    outage: Duration,
    lines: Numbered,
    /// The time of the last frame that was received.
    heard: Instant,
    carrier: Carrier,
    program: PathBuf,
}

impl Lasting {
    fn open(carrier: Carrier, program: &Path) -> Result<(Self, String), DriverError> {
        let words = [SUBCOMMAND, "--line"];
        let (link, _) = Link::open(carrier.clone(), program, &words)?;
        let mut lasting = Self {
            link,
            outage: Duration::ZERO,
            lines: Numbered::default(),
            heard: Instant::now(),
            carrier,
            program: program.to_owned(),
        };
        lasting.begin()?;
        // This timeout is long enough to replace a connection that goes silent before the first
        // line.
        let hello = lasting.hear(SILENCE + BEGIN_TIMEOUT)?;
        let hello = hello.as_deref().and_then(|it| it.strip_prefix(READY));
        match hello {
            Some(hello) => {
                let hello = hello.to_owned();
                Ok((lasting, hello))
            }
            None => Err(lasting.unusable("gatebench did not start").into()),
        }
    }

    fn unusable(&self, what: &str) -> RemoteError {
        self.carrier.complaint(what, "")
    }

    /// Exchanges the numbers of the last lines, and resends the lines that the other end lacks.
    fn begin(&mut self) -> Result<(), DriverError> {
        self.link.say(&self.lines.greeting())?;
        let deadline = Instant::now() + BEGIN_TIMEOUT;
        while let Some(left) = deadline.checked_duration_since(Instant::now()) {
            let Some(frame) = self.link.hear(left)? else {
                continue;
            };
            if let Meaning::Again(frames) = self.lines.receive(&frame) {
                self.heard = Instant::now();
                return frames.iter().try_for_each(|frame| self.link.say(frame));
            }
        }
        Err(self
            .unusable("the other end did not respond to the greeting")
            .into())
    }

    fn say(&mut self, line: &str) -> Result<(), DriverError> {
        let frame = self.lines.send(line);
        // If the connection is broken, the line is sent again over the next connection.
        self.link.say(&frame).or_else(|broke| self.again(broke))
    }

    fn hear(&mut self, timeout: Duration) -> Result<Option<String>, DriverError> {
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let until_silent = SILENCE.saturating_sub(self.heard.elapsed());
            let frame = match self.link.hear(left.min(until_silent)) {
                Ok(Some(frame)) => frame,
                Ok(None) if self.heard.elapsed() >= SILENCE => {
                    let silent = self.unusable("the connection went silent");
                    self.again(silent.into())?;
                    continue;
                }
                Ok(None) if Instant::now() < deadline => continue,
                Ok(None) => return Ok(None),
                Err(broke) => {
                    self.again(broke)?;
                    continue;
                }
            };
            self.heard = Instant::now();
            match self.lines.receive(&frame) {
                Meaning::Line(text) => {
                    // If this fails, the greeting of the next connection acknowledges the line.
                    let _ = self.link.say(&self.lines.acknowledgment());
                    return Ok(Some(text));
                }
                Meaning::Nothing => {}
                Meaning::Again(_) | Meaning::Gap => {
                    let gap = self.unusable("a line was lost on the way");
                    self.again(gap.into())?;
                }
            }
        }
    }

    /// Connects again. If no attempt succeeds before the other end gives up, returns the error
    /// `broke`. If the pod has ended, the reason is added to the error's message.
    fn again(&mut self, broke: DriverError) -> Result<(), DriverError> {
        let begun = Instant::now();
        self.link.abandon();
        let connected = self.connect_again(begun + ALONE);
        self.outage += begun.elapsed();
        match connected {
            true => Ok(()),
            false => Err(match (self.carrier.last_words(), broke) {
                (Some(words), DriverError::Remote(error)) => DriverError::Remote(RemoteError {
                    message: format!("{}: {words}", error.message.trim_end()),
                    ..error
                }),
                (_, broke) => broke,
            }),
        }
    }

    /// Tries to connect until the deadline, or until no attempt can succeed. Reports whether there
    /// is a new connection.
    fn connect_again(&mut self, deadline: Instant) -> bool {
        let words = [SUBCOMMAND, "--line", "--further"];
        loop {
            let opened = Link::open(self.carrier.clone(), &self.program, &words);
            let error = match opened {
                Ok((link, greeting)) if greeting == LINE => {
                    self.link = link;
                    match self.begin() {
                        Ok(()) => return true,
                        Err(error) => error,
                    }
                }
                Ok(_) => return false,
                Err(error) => error,
            };
            let said = error.to_string();
            let is_final = FINAL.iter().any(|part| said.contains(part));
            if is_final || Instant::now() > deadline || self.carrier.last_words().is_some() {
                return false;
            }
            self.link.abandon();
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Lasting {
    fn drop(&mut self) {
        // Without this line, the holder would wait for another connection.
        let _ = self.link.say(END);
    }
}
