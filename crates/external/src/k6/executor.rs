//! Expresses a load as one of k6's executors.

use std::time::Duration;

use gatebench_model::load::{Change, Closed, DrawnThink, Open, Spread, Think};
use gatebench_model::{Phase, Shape};

use crate::job::{Limits, Part, Refusal};
use crate::text::js;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Executor {
    /// The keys of the executor in the k6 scenario, each with its value as JavaScript.
    pub(super) settings: Vec<(&'static str, String)>,
    /// An expression for the seconds that a user waits after each response.
    pub(super) think: Option<String>,
    /// True if each request opens a new connection.
    pub(super) new_connections: bool,
}

impl Executor {
    pub(super) fn of(
        shape: &Shape,
        phase: &Phase,
        part: Part,
        limits: &mut Limits,
    ) -> Result<Self, Refusal> {
        let (per_connection, per_second) = match shape {
            Shape::Closed(closed) => (
                closed.requests_per_connection,
                closed.connections_per_second,
            ),
            Shape::Open(open) => (open.requests_per_connection, open.connections_per_second),
        };
        if per_connection.is_some_and(|requests| requests > 1) {
            return Err(refused(phase, "close a connection after several requests"));
        }
        if per_second.is_some() {
            return Err(refused(phase, "open its connections at a rate"));
        }
        let mut executor = match shape {
            Shape::Closed(closed) => of_closed(closed, phase, part, limits)?,
            Shape::Open(open) => of_open(open, phase, part, limits)?,
        };
        executor.new_connections = per_connection == Some(1);
        Ok(executor)
    }
}

/// The shortest load that k6 accepts.
const SHORTEST: Duration = Duration::from_secs(1);

/// Returns the duration of a part of a phase in k6; zero if the part is empty.
pub(super) fn length(phase: &Phase, part: Part) -> Duration {
    match part.length(phase) {
        Duration::ZERO => Duration::ZERO,
        wanted => wanted.max(SHORTEST),
    }
}

/// Adds a limit if a part is longer in k6 than in the phase.
pub(super) fn note_length(phase: &Phase, part: Part, limits: &mut Limits) {
    let wanted = part.length(phase);
    if wanted < length(phase, part) {
        limits.express(format!(
            "a load of {wanted:?} in phase '{}': k6 accepts none shorter than {SHORTEST:?}",
            phase.name
        ));
    }
}

fn of_closed(
    closed: &Closed,
    phase: &Phase,
    part: Part,
    limits: &mut Limits,
) -> Result<Executor, Refusal> {
    let connections = closed.connections.to_string();
    let length = length(phase, part);
    let settings = match (closed.requests_max, &closed.stages[..]) {
        (Some(most), _) if part == Part::Measure => {
            limits.express(format!(
                "counting the warm-up of phase '{}' toward its {most} requests: k6 sends all {most} after the warm-up",
                phase.name
            ));
            vec![
                ("executor", js("shared-iterations")),
                ("vus", users(closed, most, phase, limits)?),
                ("iterations", most.to_string()),
                ("maxDuration", written(length)),
            ]
        }
        (_, [_, ..]) if part == Part::Measure => {
            let stages = closed.stages.iter();
            let stages = stages.map(|stage| (f64::from(stage.connections), stage.over.0));
            vec![
                ("executor", js("ramping-vus")),
                ("startVUs", connections),
                ("stages", staged(stages.collect(), length)),
            ]
        }
        _ => vec![
            ("executor", js("constant-vus")),
            ("vus", connections),
            ("duration", written(length)),
        ],
    };
    Ok(Executor {
        settings,
        think: closed.think.as_ref().map(think),
        new_connections: false,
    })
}

/// Returns the number of users that share a number of requests. k6 accepts at most one user per
/// request, and no load without requests.
fn users(
    closed: &Closed,
    most: u64,
    phase: &Phase,
    limits: &mut Limits,
) -> Result<String, Refusal> {
    let connections = u64::from(closed.connections);
    if most == 0 {
        return Err(refused(phase, "run a group that sends no request"));
    }
    if most < connections {
        limits.express(format!(
            "{connections} connections in phase '{}': k6 runs at most one user per request, so it runs {most}",
            phase.name
        ));
    }
    Ok(connections.min(most).to_string())
}

fn think(think: &Think) -> String {
    match think {
        Think::Constant(span) => span.as_secs_f64().to_string(),
        Think::Drawn(DrawnThink::Uniform(uniform)) => {
            let (min, max) = (uniform.min.as_secs_f64(), uniform.max.as_secs_f64());
            format!("{min} + {} * Math.random()", max - min)
        }
        Think::Drawn(DrawnThink::Exponential(exponential)) => {
            let mean = exponential.mean.as_secs_f64();
            format!("-{mean} * Math.log(1 - Math.random())")
        }
    }
}

fn of_open(
    open: &Open,
    phase: &Phase,
    part: Part,
    limits: &mut Limits,
) -> Result<Executor, Refusal> {
    if open.arrivals == Spread::Poisson {
        return Err(refused(phase, "spread arrivals as a Poisson process"));
    }
    if open.requests_max.is_some() {
        return Err(refused(
            phase,
            "end a fixed-rate load after a number of requests",
        ));
    }
    if open.queue_max > 0 {
        limits.express_once(&format!(
            "the queue for {} arrivals in phase '{}': k6 drops an arrival when all {} users are busy",
            open.queue_max, phase.name, open.connections_max
        ));
    }
    let length = length(phase, part);
    let mut stages = match part {
        Part::WarmUp => Vec::new(),
        Part::Measure => changes(open, length),
    };
    let unit = time_unit(open.rate_per_second, &stages, phase, limits);
    let scaled = |per_second: f64| (per_second * unit).round();
    for (rate, _) in &mut stages {
        *rate = scaled(*rate);
    }
    let rate = scaled(open.rate_per_second).to_string();
    let (executor, rate_key, last) = match stages.is_empty() {
        true => (
            "constant-arrival-rate",
            "rate",
            ("duration", written(length)),
        ),
        false => (
            "ramping-arrival-rate",
            "startRate",
            ("stages", staged(stages, length)),
        ),
    };
    let users = open.connections_max.to_string();
    let settings = vec![
        ("executor", js(executor)),
        (rate_key, rate),
        ("timeUnit", js(&format!("{unit}s"))),
        last,
        ("preAllocatedVUs", users.clone()),
        ("maxVUs", users),
    ];
    Ok(Executor {
        settings,
        ..Executor::default()
    })
}

/// Returns the rates, each with the time taken to reach it. A step takes no time and is followed by
/// a constant rate.
fn changes(open: &Open, length: Duration) -> Vec<(f64, Duration)> {
    if let Some(end) = open.ramp_to_per_second {
        return vec![(end, length)];
    }
    let mut changes = Vec::new();
    for stage in &open.stages {
        if stage.how == Change::Step {
            changes.push((stage.rate_per_second, Duration::ZERO));
        }
        changes.push((stage.rate_per_second, stage.over.0));
    }
    changes
}

/// Returns the shortest of 1, 10, 100 and 1,000 s in which every rate is a whole number of
/// requests, because k6 accepts no fractions. If none fits, adds a limit and returns 1,000 s.
fn time_unit(start: f64, changes: &[(f64, Duration)], phase: &Phase, limits: &mut Limits) -> f64 {
    let rates = || std::iter::once(start).chain(changes.iter().map(|(rate, _)| *rate));
    let whole = |unit: f64| rates().all(|rate| (rate * unit - (rate * unit).round()).abs() < 1e-6);
    let found = [1.0, 10.0, 100.0, 1000.0]
        .into_iter()
        .find(|unit| whole(*unit));
    found.unwrap_or_else(|| {
        let name = &phase.name;
        limits.express(format!(
            "rates of phase '{name}' finer than a thousandth of a request per second: k6 gets rounded rates"
        ));
        1000.0
    })
}

/// Returns the stages as JavaScript. If the stages are shorter than the part, a further stage keeps
/// the last value until the end of the part.
fn staged(mut stages: Vec<(f64, Duration)>, length: Duration) -> String {
    let taken: Duration = stages.iter().map(|(_, over)| *over).sum();
    let rest = length.saturating_sub(taken);
    if let (Some((last, _)), false) = (stages.last().copied(), rest.is_zero()) {
        stages.push((last, rest));
    }
    let stages = stages
        .into_iter()
        .map(|(target, over)| format!("{{ target: {target}, duration: {} }}", written(over)));
    format!("[{}]", stages.collect::<Vec<_>>().join(", "))
}

/// Returns a duration in k6's format, truncated to milliseconds.
pub(super) fn written(duration: Duration) -> String {
    js(&match duration.as_millis() {
        ms if ms.is_multiple_of(1000) => format!("{}s", ms / 1000),
        ms => format!("{ms}ms"),
    })
}

fn refused(phase: &Phase, what: &str) -> Refusal {
    let remedy = "choose another load (--load), or use the built-in load generator";
    Refusal::of_phase("k6", what, phase, remedy)
}
