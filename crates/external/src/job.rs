//! The job of a load generator, and the order that makes it do it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use gatebench_model::load::{Closed, Open};
use gatebench_model::template::Template;
use gatebench_model::{Body, Phase, Request, Scenario, Shape};

/// Which part of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Discarded.
    WarmUp,
    /// Counts.
    Measure,
}

impl Part {
    /// How long it is.
    pub(crate) fn length(self, phase: &Phase) -> Duration {
        match self {
            Self::WarmUp => phase.warm_up.0,
            Self::Measure => phase.measure.0,
        }
    }
}

/// One part of one phase.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Where requests go: `http://ADDRESS:PORT`, without a path.
    pub url: &'a str,
    /// The scenario, with the paths that are really asked for.
    pub scenario: &'a Scenario,
    /// The phase.
    pub phase: &'a Phase,
    /// Which part of it.
    pub part: Part,
    /// Threads that the generator may use, where it can be set.
    pub threads: usize,
    /// A script of the user's in place of the scenario's requests, absolute.
    pub script: Option<&'a Path>,
    /// What the user's script says of its own load; only k6's scripts say anything.
    pub own_load: bool,
}

/// The command line, files and environment of a load generator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Words after the program's name. Files are named relative to the working folder.
    pub arguments: Vec<String>,
    /// Files that must be in the working folder.
    pub files: Vec<OrderFile>,
    /// Environment variables.
    pub environment: BTreeMap<String, String>,
    /// How long the generator will take at least.
    pub takes: Duration,
    /// What this says otherwise than the phase does.
    pub limits: Limits,
}

/// A file of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderFile {
    /// Its name.
    pub name: &'static str,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// What a generator does otherwise than asked, in sentences without a full stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Asked for, and done otherwise or not.
    pub not_expressed: Vec<String>,
    /// Measured by the built-in load generator, and not told by this one.
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

/// A generator cannot do what is asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What it cannot do, where.
    pub message: String,
    /// What to do instead.
    pub remedy: String,
}

impl Refusal {
    pub(crate) fn new(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            remedy: remedy.into(),
        }
    }
}

impl<'a> Job<'a> {
    /// How long this part is.
    pub(crate) fn length(&self) -> Duration {
        self.part.length(self.phase)
    }

    /// The variables that every generator gets, for scripts.
    pub(crate) fn environment(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("GATEBENCH_URL".into(), self.url.into())])
    }

    fn refused(&self, generator: &str, what: &str, remedy: &str) -> Refusal {
        let name = &self.phase.name;
        Refusal::new(
            format!("{generator} cannot {what}, which phase '{name}' requires"),
            remedy,
        )
    }

    /// The closed load of a generator that knows no other, and only the plainest of those.
    pub(crate) fn plain_closed(&self, generator: &str) -> Result<&'a Closed, Refusal> {
        let closed = match &self.phase.shape {
            Shape::Closed(closed) => closed,
            Shape::Open(open) => return Err(self.no_rate(generator, open)),
        };
        let asked = [
            (
                !closed.stages.is_empty(),
                "change its connections on the way",
            ),
            (closed.think.is_some(), "wait between requests"),
            (
                closed.requests_max.is_some(),
                "end after a number of requests",
            ),
            (
                closed.requests_per_connection.is_some(),
                "close a connection after a number of requests",
            ),
            (
                closed.connections_per_second.is_some(),
                "open its connections at a rate",
            ),
        ];
        match asked.into_iter().find(|(asked, _)| *asked) {
            Some((_, what)) => Err(self.refused(
                generator,
                what,
                "use --engine k6, or the built-in load generator",
            )),
            None => Ok(closed),
        }
    }

    fn no_rate(&self, generator: &str, open: &Open) -> Refusal {
        let name = &self.phase.name;
        let rate = open.rate_per_second;
        Refusal::new(
            format!(
                "{generator} cannot hold a rate, and phase '{name}' asks for {rate} requests/s"
            ),
            "choose a load with closed phases only, as in --load closed, or use --engine k6 or \
             the built-in load generator",
        )
    }

    /// Whether any group's requests are drawn and not sent in turn.
    pub(crate) fn at_random(&self) -> bool {
        let mut groups = self.scenario.groups().into_iter();
        groups.any(|group| group.order == gatebench_model::Order::Random)
    }

    /// The requests of a generator that knows no groups and no data.
    pub(crate) fn plain_requests(&self, generator: &str) -> Result<Vec<Request>, Refusal> {
        let scenario = &self.scenario.scenario;
        let refused = |what: &str| {
            Refusal::new(
                format!("{generator} cannot {what}, which scenario '{scenario}' requires"),
                "use --engine k6, or the built-in load generator",
            )
        };
        let mut groups = self.scenario.groups();
        match (groups.pop(), groups.is_empty()) {
            (Some(only), true) if only.load.is_none() => only
                .requests
                .into_iter()
                .map(|request| fixed(request).ok_or_else(|| refused("fill requests from data")))
                .collect(),
            _ => Err(refused("send several groups at the same time")),
        }
    }
}

/// A request as it is sent, where nothing in it is filled with data.
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
