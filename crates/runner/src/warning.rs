//! Warnings: they do not stop a run, the reader must know them, and each ends with a remedy.

use std::fmt;

/// A warning. Its text says what is so, and after a semicolon what to do.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// A gateway of the suite is not there and is left out.
    GatewayMissing {
        /// Its name.
        gateway: String,
        /// What is wrong.
        reason: String,
        /// How it is installed.
        remedy: String,
    },
    /// Nobody of the project has run the gateway's folder with this version of it.
    GatewayUnproven {
        /// Its name.
        gateway: String,
        /// In words.
        what: String,
    },
    /// Sizes of the suite that are not there are left out.
    SizesMissing {
        /// Which.
        sizes: Vec<String>,
        /// Cores that there are.
        cores: usize,
        /// The host that gateways run on; none where that is this machine.
        host: Option<String>,
    },
    /// A sweep has fewer connections, because a process may not open enough descriptors.
    ConnectionsFewer(ConnectionsFewer),
    /// Something else uses a core that the run is pinned to.
    CoreBusy {
        /// The core.
        core: usize,
        /// Its busy share before the run, 0 to 1.
        busy: f64,
    },
    /// A gateway has as many cores as CPUs were asked for, because no control group could be made.
    LimitsByCores {
        /// Its label.
        gateway: String,
        /// What was asked for.
        limits: String,
        /// Why no group could be made.
        why: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A resumed run's gateway is not what it was.
    GatewayChanged {
        /// Its label.
        gateway: String,
        /// What has changed, as in `version 1.26.0 instead of 1.24.0`.
        what: String,
    },
    /// An external load generator drives the loads, and is not asked or does not tell everything.
    ExternalGenerator {
        /// Its name and version.
        engine: String,
        /// In which respect.
        how: &'static str,
        /// What exactly, in phrases.
        what: String,
    },
    /// Gateways were named for a specification that starts none.
    GatewaysUnused {
        /// Its name.
        specification: String,
    },
    /// A specification names threads, and the engine has its own number of them.
    ThreadsOfItsOwn {
        /// Threads asked for.
        asked: u32,
        /// The engine.
        engine: String,
    },
    /// A resumed run is not measured as it was begun.
    InstrumentChanged {
        /// What has changed, as in `backend epoll instead of io_uring`.
        what: String,
    },
    /// The trial goes on, but something beside it went wrong.
    Trial {
        /// Number of the trial.
        number: u32,
        /// What is so and what to do.
        text: String,
    },
    /// A finished trial could not be written.
    TrialLost {
        /// Number of the trial.
        number: u32,
        /// What the system said.
        reason: String,
        /// What to do.
        remedy: String,
    },
}

/// What there is room for, in place of what a load asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionsFewer {
    /// The load profile.
    pub load: String,
    /// The most that were asked for.
    pub asked: u32,
    /// What takes the place of those that are too many.
    pub most: u32,
    /// Descriptors that those asked for need.
    pub needed: u64,
    /// Descriptors that a process may open here.
    pub allowed: u64,
}

impl fmt::Display for ConnectionsFewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            load,
            asked,
            most,
            needed,
            allowed,
        } = self;
        write!(
            f,
            "the load '{load}' goes up to {most} connections instead of {asked}: those need {needed} open descriptors, \
             but a process may have {allowed} here; raise the limit (as root: ulimit -Hn {needed}; \
             LimitNOFILE={needed} of a service) to use all of them"
        )
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GatewayMissing {
                gateway,
                reason,
                remedy,
            } => {
                write!(f, "gateway {gateway} is left out: {reason}; {remedy}")
            }
            Self::GatewayUnproven { gateway, what } => write!(
                f,
                "{what}; `gatebench check gateway {gateway}` proves all that it claims"
            ),
            Self::SizesMissing { sizes, cores, host } => {
                write!(f, "{}", sizes_missing(sizes, *cores, host.as_deref()))
            }
            Self::LimitsByCores {
                gateway,
                limits,
                why,
                remedy,
            } => write!(
                f,
                "{gateway} is held to {limits} by its cores alone, and is never throttled: {why}; {remedy}"
            ),
            Self::ConnectionsFewer(fewer) => write!(f, "{fewer}"),
            Self::CoreBusy { core, busy } => {
                let percent = busy * 100.0;
                write!(
                    f,
                    "core {core} is {percent:.0} % busy before the run; stop the program that uses it, or expect wide ranges"
                )
            }
            Self::GatewayChanged { gateway, what } => write!(
                f,
                "gateway {gateway} has changed since the run began: {what}; start a new run for comparable results"
            ),
            Self::ExternalGenerator { engine, how, what } => write!(
                f,
                "{engine} {how}: {what}; omit --engine to use the built-in load generator"
            ),
            Self::GatewaysUnused { specification } => write!(
                f,
                "the specification '{specification}' starts no gateway, so --gateway is not used; add the step \
                 `start_gateway` to measure one"
            ),
            Self::ThreadsOfItsOwn { asked, engine } => write!(
                f,
                "the specification requests {asked} threads, but {engine} chooses its own number; use --engine \
                 wrk for this number"
            ),
            Self::InstrumentChanged { what } => write!(
                f,
                "the run began with other settings: {what}; start a new run for comparable results"
            ),
            Self::Trial { number, text } => write!(f, "trial {number}: {text}"),
            Self::TrialLost {
                number,
                reason,
                remedy,
            } => {
                write!(f, "trial {number} could not be stored: {reason}; {remedy}")
            }
        }
    }
}

fn sizes_missing(sizes: &[String], cores: usize, host: Option<&str>) -> String {
    let there = match host {
        None => format!("this machine has {cores} cores for everything"),
        Some(host) => format!("{host} has {cores} cores"),
    };
    format!(
        "{} left out: {there}, or cannot limit a gateway to this size; use a larger one, or choose sizes with --gateway-cpus",
        sizes.join(" and ")
    )
}
