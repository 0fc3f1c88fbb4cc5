//! A job for a load generator, and the order into which the job is translated.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use gatebench_model::load::{Closed, Open};
use gatebench_model::template::Template;
use gatebench_model::{Body, Phase, Request, Scenario, Shape};

/// The figures that no external load generator reports.
pub(crate) const ONLY_OURS: &str =
    "response times by status class, lateness, added latency, and results per second";

/// The warm-up or the measurement of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The warm-up, whose results are discarded.
    WarmUp,
    Measure,
}

impl Part {
    pub(crate) fn length(self, phase: &Phase) -> Duration {
        match self {
            Self::WarmUp => phase.warm_up.0,
            Self::Measure => phase.measure.0,
        }
    }
}

/// A part of a phase that an external load generator is to run.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The destination of the requests: `http://ADDRESS:PORT`, without a path.
    pub url: &'a str,
    /// The scenario, with the paths that are actually requested.
    pub scenario: &'a Scenario,
    pub phase: &'a Phase,
    pub part: Part,
    /// The number of threads that the generator may use, if it has an option for that.
    pub threads: usize,
    /// The absolute path of a user's script, which replaces the scenario's requests.
    pub script: Option<&'a Path>,
    /// True if the user's script defines a load, which only a script for k6 can.
    pub own_load: bool,
}

/// The command line, files and environment of a load generator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Arguments after the program's name. They refer to `files` by name.
    pub arguments: Vec<String>,
    /// Files to write into the working folder.
    pub files: Vec<OrderFile>,
    pub environment: BTreeMap<String, String>,
    /// The maximum duration of the load.
    pub takes: Duration,
    /// The differences between this order and the job, and the figures that are not reported.
    pub limits: Limits,
}

/// A file that is written for a load generator before it starts, such as a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderFile {
    pub name: &'static str,
    pub bytes: Vec<u8>,
}

/// The differences between a generator's load and the phase, and the figures that the generator
/// does not report, each as text without a final period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Requirements of the phase or the scenario that are met in another way or not at all.
    pub not_expressed: Vec<String>,
    /// Figures that the built-in load generator measures and this generator does not report.
    pub not_measured: Vec<String>,
}

impl Limits {
    pub(crate) fn express(&mut self, what: impl Into<String>) {
        self.not_expressed.push(what.into());
    }

    pub(crate) fn express_once(&mut self, what: &str) {
        if !self.not_expressed.iter().any(|known| known == what) {
            self.express(what);
        }
    }

    pub(crate) fn measure(&mut self, what: impl Into<String>) {
        self.not_measured.push(what.into());
    }
}

/// The reason why a generator cannot do a job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The unsupported feature, and the phase or scenario that requires it, if any.
    pub message: String,
    pub remedy: String,
}

impl Refusal {
    pub(crate) fn new(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            remedy: remedy.into(),
        }
    }

    pub(crate) fn of_phase(generator: &str, what: &str, phase: &Phase, remedy: &str) -> Self {
        let name = &phase.name;
        let message = format!("{generator} cannot {what}, which phase '{name}' requires");
        Self::new(message, remedy)
    }
}

impl<'a> Job<'a> {
    pub(crate) fn length(&self) -> Duration {
        self.part.length(self.phase)
    }

    /// Returns the environment variables that every generator gets, for use in scripts.
    pub(crate) fn environment(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("GATEBENCH_URL".into(), self.url.into())])
    }

    pub(crate) fn refused_scenario(&self, generator: &str, what: &str, remedy: &str) -> Refusal {
        let name = &self.scenario.scenario;
        let message = format!("{generator} cannot {what}, which scenario '{name}' requires");
        Refusal::new(message, remedy)
    }

    /// Returns the number of threads for this number of connections: the number that the job
    /// allows, but at most one per connection.
    pub(crate) fn threads_for(&self, connections: u32) -> u32 {
        let threads = u32::try_from(self.threads).unwrap_or(u32::MAX);
        threads.clamp(1, connections.max(1))
    }

    /// Returns the closed load for a generator that supports only plain closed loads, or refuses
    /// the phase.
    pub(crate) fn plain_closed(&self, generator: &str) -> Result<&'a Closed, Refusal> {
        let closed = match &self.phase.shape {
            Shape::Closed(closed) => closed,
            Shape::Open(open) => return Err(self.no_rate(generator, open)),
        };
        let unsupported = if !closed.stages.is_empty() {
            "change its number of connections"
        } else if closed.think.is_some() {
            "wait between requests"
        } else if closed.requests_max.is_some() {
            "end after a number of requests"
        } else if closed.requests_per_connection.is_some() {
            "close a connection after a number of requests"
        } else if closed.connections_per_second.is_some() {
            "open its connections at a rate"
        } else {
            return Ok(closed);
        };
        let remedy = "use the built-in load generator, or --engine k6 if k6 supports this";
        Err(Refusal::of_phase(
            generator,
            unsupported,
            self.phase,
            remedy,
        ))
    }

    fn no_rate(&self, generator: &str, open: &Open) -> Refusal {
        let (name, rate) = (&self.phase.name, open.rate_per_second);
        Refusal::new(
            format!(
                "{generator} cannot send at a fixed rate, but phase '{name}' requires {rate} requests/s"
            ),
            "choose a load that has only closed phases, such as --load closed, or use --engine k6 or \
             the built-in load generator",
        )
    }

    /// Reports whether any group sends its requests in random order instead of in turn.
    pub(crate) fn at_random(&self) -> bool {
        let mut groups = self.scenario.groups().into_iter();
        groups.any(|group| group.order == gatebench_model::Order::Random)
    }

    /// Returns the requests for a generator that supports only a single group, without its own load
    /// and without data, or refuses the scenario.
    pub(crate) fn plain_requests(&self, generator: &str) -> Result<Vec<Request>, Refusal> {
        let remedy = "use --engine k6, or the built-in load generator";
        let refused = |what: &str| self.refused_scenario(generator, what, remedy);
        let mut groups = self.scenario.groups();
        match (groups.pop(), groups.is_empty()) {
            (Some(only), true) if only.load.is_some() => {
                Err(refused("give a group of requests its own load"))
            }
            (Some(only), true) => only
                .requests
                .into_iter()
                .map(|request| fixed(request).ok_or_else(|| refused("fill requests with data")))
                .collect(),
            _ => Err(refused("send several groups at the same time")),
        }
    }
}

/// Returns a request with its templates evaluated, or `None` if any part is filled with data.
fn fixed(mut request: Request) -> Option<Request> {
    let constant = |text: &str| Some(Template::parse(text).ok()?.constant()?.to_owned());
    request.path = constant(&request.path)?;
    for value in request.headers.values_mut() {
        *value = constant(value)?;
    }
    if let Some(text) = request.body.as_ref().and_then(Body::text) {
        request.body = Some(Body::new(constant(text)?));
    }
    Some(request)
}
