//! The cases of the pathology origin, which define how it treats each request.

use super::distribution::Distribution;
use crate::duration::{parse_duration_ns, parse_size_bytes};

/// The maximum duration in a query and the maximum service time drawn from a distribution, in
/// nanoseconds (an hour).
const SERVICE_NS_MAX: u64 = 3_600_000_000_000;
const BODY_BYTES_MAX: u64 = 1 << 20;

/// A service whose times are known by construction, because they are a function of a request's
/// number or arrival time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Case {
    /// Every request takes `service`.
    Constant { service_ns: u64 },
    /// Like [`Case::Constant`], but responses that are due during a stall are sent at its end. Each
    /// stall has the length `lasts`. The stalls begin at the times `at`, `at + every`, `at +
    /// 2·every` and so on after the epoch.
    Stall {
        every_ns: u64,
        lasts_ns: u64,
        at_ns: u64,
        service_ns: u64,
    },
    /// Every `slow_every`-th request is slow, where `slow_every` is at least 1.
    Bimodal {
        fast_ns: u64,
        slow_ns: u64,
        slow_every: u64,
    },
    /// The service time changes linearly from `from` at the epoch to `to` at the time `lasts` after
    /// the epoch, and then stays constant.
    SlowStart {
        lasts_ns: u64,
        from_ns: u64,
        to_ns: u64,
    },
    /// Service times are drawn from a distribution. Each depends only on the seed and the request's
    /// number.
    Jitter {
        distribution: Distribution,
        seed: u64,
    },
    /// Every `every`-th response is cut off in the middle by a reset, where `every` is at least 1.
    /// Responses and resets are sent after `service`. The body of a whole response has `bytes`
    /// bytes.
    Reset {
        every: u64,
        service_ns: u64,
        bytes: u64,
    },
    /// The head and the first piece are sent after `service`, and each further piece is sent
    /// `every` after the previous piece. The last piece may be shorter than the others.
    Trickle {
        bytes: u64,
        piece_bytes: u64,
        every_ns: u64,
        service_ns: u64,
    },
}

/// The reason why a path and its query do not name a [`Case`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaseError {
    #[error("no such path; the paths are {PATHS}")]
    Path,
    #[error("the query has too many parameters; write at most {PAIRS_MAX}")]
    TooManyWords,
    #[error("the parameter '{0}' has no value; write name=value")]
    NoValue(String),
    /// A value is of the wrong kind or out of range.
    #[error("the parameter '{name}' is not {expected}")]
    Value {
        name: &'static str,
        /// The allowed values, with an example.
        expected: &'static str,
    },
    #[error("the parameter '{0}' must be at least 1")]
    Zero(&'static str),
    #[error("the distribution '{0}' is unknown; write uniform, exponential or pareto")]
    UnknownDistribution(String),
    /// A stall would last until the next stall begins.
    #[error("the parameter 'for' must be less than 'every', so that stalls do not overlap")]
    StallTooLong,
    #[error(
        "the parameter '{0}' is unknown or repeated; the paths with their parameters are {PATHS}"
    )]
    UnknownName(String),
}

/// The treatment of one request, as determined by the case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// The time from the request's arrival until the response begins, in nanoseconds.
    pub begins_ns: u64,
    /// The time from one piece to the next, in nanoseconds.
    pub piece_every_ns: u64,
    /// The size of every piece except the last, in bytes.
    pub piece_bytes: u64,
    /// The size of the whole body, in bytes.
    pub body_bytes: u64,
    /// True if the response is cut off after the first half of the body.
    pub is_reset: bool,
}

impl Service {
    fn whole(begins_ns: u64, body_bytes: u64) -> Self {
        Self {
            begins_ns,
            piece_every_ns: 0,
            piece_bytes: body_bytes,
            body_bytes,
            is_reset: false,
        }
    }

    /// Returns the number of pieces of the response, at least 1.
    pub fn pieces(&self) -> u64 {
        self.body_bytes.div_ceil(self.piece_bytes.max(1)).max(1)
    }

    /// Returns the time from the request's arrival until the last byte of its response, or until
    /// the reset, in nanoseconds.
    pub fn ends_ns(&self) -> u64 {
        self.begins_ns + (self.pieces() - 1) * self.piece_every_ns
    }
}

impl Case {
    /// Returns the treatment of the request with this index that arrives `arrival_ns` after the
    /// epoch.
    pub fn service(&self, index: u64, arrival_ns: u64) -> Service {
        match *self {
            Self::Constant { service_ns } => Service::whole(service_ns, SHORT_BYTES),
            Self::Stall {
                every_ns,
                lasts_ns,
                at_ns,
                service_ns,
            } => {
                let due_ns = arrival_ns + service_ns;
                let into_ns = due_ns.checked_sub(at_ns).map(|since| since % every_ns);
                let held_ns = into_ns.map_or(0, |into| lasts_ns.saturating_sub(into));
                Service::whole(service_ns + held_ns, SHORT_BYTES)
            }
            Self::Bimodal {
                fast_ns,
                slow_ns,
                slow_every,
            } => {
                let is_slow = index % slow_every == slow_every - 1;
                Service::whole(if is_slow { slow_ns } else { fast_ns }, SHORT_BYTES)
            }
            Self::SlowStart {
                lasts_ns,
                from_ns,
                to_ns,
            } => {
                let done = arrival_ns.min(lasts_ns) as f64 / lasts_ns as f64;
                let service_ns = (to_ns as f64 - from_ns as f64).mul_add(done, from_ns as f64);
                Service::whole(service_ns.round() as u64, SHORT_BYTES)
            }
            Self::Jitter { distribution, seed } => {
                let service_ns = distribution.draw_ns(seed, index).min(SERVICE_NS_MAX);
                Service::whole(service_ns, SHORT_BYTES)
            }
            Self::Reset {
                every,
                service_ns,
                bytes,
            } => Service {
                is_reset: index % every == every - 1,
                ..Service::whole(service_ns, bytes)
            },
            Self::Trickle {
                bytes,
                piece_bytes,
                every_ns,
                service_ns,
            } => Service {
                piece_every_ns: every_ns,
                piece_bytes,
                ..Service::whole(service_ns, bytes)
            },
        }
    }

    /// Parses a request's path and query, such as `/stall?every=14s&for=1s&service=5ms`.
    ///
    /// # Errors
    /// The path or a part of the query is invalid.
    pub fn parse(path: &str, query: &str) -> Result<Self, CaseError> {
        let mut words = Words::new(query)?;
        let case = Self::read(path, &mut words)?;
        words.end()?;
        Ok(case)
    }

    fn read(path: &str, words: &mut Words<'_>) -> Result<Self, CaseError> {
        Ok(match path {
            "/constant" => Self::Constant {
                service_ns: words.duration("service", 0)?,
            },
            "/stall" => {
                let every_ns = words.duration("every", 14_000 * MS)?;
                let lasts_ns = words.duration("for", 1_000 * MS)?;
                if lasts_ns >= every_ns {
                    return Err(CaseError::StallTooLong);
                }
                Self::Stall {
                    every_ns,
                    lasts_ns,
                    at_ns: words.duration("at", (every_ns - lasts_ns) / 2)?,
                    service_ns: words.duration("service", 5 * MS)?,
                }
            }
            "/bimodal" => Self::Bimodal {
                fast_ns: words.duration("fast", MS)?,
                slow_ns: words.duration("slow", 20 * MS)?,
                slow_every: words.count("slow_every", 10)?,
            },
            "/slow-start" => Self::SlowStart {
                lasts_ns: words.duration("for", 5_000 * MS)?.max(1),
                from_ns: words.duration("from", 50 * MS)?,
                to_ns: words.duration("to", 2 * MS)?,
            },
            "/jitter" => Self::Jitter {
                distribution: words.distribution()?,
                seed: words.number("seed", 1)?,
            },
            "/reset" => Self::Reset {
                every: words.count("every", 100)?,
                service_ns: words.duration("service", MS)?,
                bytes: words.size("bytes", 1_024)?,
            },
            "/trickle" => Self::Trickle {
                bytes: words.size("bytes", 2_000)?,
                piece_bytes: words.size("piece", 200)?,
                every_ns: words.duration("every", 2 * MS)?,
                service_ns: words.duration("service", 0)?,
            },
            _ => return Err(CaseError::Path),
        })
    }
}

/// The size of the body, which is `ab`, in cases that do not set a size.
const SHORT_BYTES: u64 = 2;
const MS: u64 = 1_000_000;
pub(crate) const PATHS: &str = "/constant?service=, /stall?every=&for=&at=&service=, \
     /bimodal?fast=&slow=&slow_every=, /slow-start?for=&from=&to=, \
     /jitter?distribution=&mean=&seed=, /reset?every=&service=&bytes=, \
     /trickle?bytes=&piece=&every=&service=";
const PAIRS_MAX: usize = 8;

/// The pairs of a query that have not been used yet.
struct Words<'a> {
    pairs: [Option<(&'a str, &'a str)>; PAIRS_MAX],
}

impl<'a> Words<'a> {
    fn new(query: &'a str) -> Result<Self, CaseError> {
        let mut pairs = [None; PAIRS_MAX];
        for (at, pair) in query.split('&').filter(|it| !it.is_empty()).enumerate() {
            let place = pairs.get_mut(at).ok_or(CaseError::TooManyWords)?;
            *place = Some(
                pair.split_once('=')
                    .ok_or_else(|| CaseError::NoValue(pair.to_owned()))?,
            );
        }
        Ok(Self { pairs })
    }

    fn take(&mut self, name: &str) -> Option<&'a str> {
        let is_it = |pair: &&mut Option<(&str, &str)>| pair.is_some_and(|(known, _)| known == name);
        let (_, value) = self.pairs.iter_mut().find(is_it)?.take()?;
        Some(value)
    }

    fn value(
        &mut self,
        name: &'static str,
        default: u64,
        read: impl FnOnce(&str) -> Option<u64>,
        expected: &'static str,
    ) -> Result<u64, CaseError> {
        self.take(name).map_or(Ok(default), |value| {
            read(value).ok_or(CaseError::Value { name, expected })
        })
    }

    fn duration(&mut self, name: &'static str, default_ns: u64) -> Result<u64, CaseError> {
        let read = |value: &str| parse_duration_ns(value).filter(|ns| *ns <= SERVICE_NS_MAX);
        let expected = "a duration up to 1h; write 250us, 5ms or 1.5s";
        self.value(name, default_ns, read, expected)
    }

    fn size(&mut self, name: &'static str, default_bytes: u64) -> Result<u64, CaseError> {
        let allowed = 1..=BODY_BYTES_MAX;
        let read = |value: &str| parse_size_bytes(value).filter(|bytes| allowed.contains(bytes));
        let expected = "a size from 1 byte to 1 MiB; write 350B or 5KB";
        self.value(name, default_bytes, read, expected)
    }

    fn number(&mut self, name: &'static str, default: u64) -> Result<u64, CaseError> {
        self.value(
            name,
            default,
            |value| value.parse().ok(),
            "a whole number; write a number such as 100",
        )
    }

    fn count(&mut self, name: &'static str, default: u64) -> Result<u64, CaseError> {
        match self.number(name, default)? {
            0 => Err(CaseError::Zero(name)),
            number => Ok(number),
        }
    }

    fn distribution(&mut self) -> Result<Distribution, CaseError> {
        let name = self.take("distribution").unwrap_or("exponential");
        let mean_ns = self.duration("mean", 5 * MS)?;
        Distribution::read(name, mean_ns)
            .ok_or_else(|| CaseError::UnknownDistribution(name.to_owned()))
    }

    fn end(&self) -> Result<(), CaseError> {
        match self.pairs.iter().flatten().next() {
            Some((name, _)) => Err(CaseError::UnknownName((*name).to_owned())),
            None => Ok(()),
        }
    }
}
