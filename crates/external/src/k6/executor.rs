//! Expresses a load as one of k6's executors.

use std::time::Duration;

use gatebench_model::load::{Change, Closed, DrawnThink, Open, Spread, Think};
use gatebench_model::{Phase, Shape};

use crate::job::{Limits, Part, Refusal};
use crate::text::js;

/// An executor: the keys and values of a k6 scenario, as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Executor {
    pub(super) settings: Vec<(&'static str, String)>,
    /// An expression for the seconds between two requests of a user.
    pub(super) think: Option<String>,
    /// True if each request opens a connection.
    pub(super) new_connections: bool,
}

impl Executor {
    /// The executor of a part of a phase with this shape.
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
            Shape::Closed(closed) => of_closed(closed, phase, part, limits),
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
    let asked = part.length(phase);
    if asked.is_zero() {
        asked
    } else {
        asked.max(SHORTEST)
    }
}

/// Adds a limit if a part became longer than in the phase.
pub(super) fn say_length(phase: &Phase, part: Part, limits: &mut Limits) {
    let asked = part.length(phase);
    if asked < length(phase, part) {
        limits.express(format!(
            "{asked:?} of '{}': k6 accepts no load shorter than {SHORTEST:?}",
            phase.name
        ));
    }
}

fn of_closed(closed: &Closed, phase: &Phase, part: Part, limits: &mut Limits) -> Executor {
    let connections = closed.connections.to_string();
    let length = length(phase, part);
    let settings = match (closed.requests_max, &closed.stages[..]) {
        (Some(most), _) if part == Part::Measure => {
            limits.express(format!(
                "requests of the warm-up of '{}' as part of its {most} requests",
                phase.name
            ));
            vec![
                ("executor", js("shared-iterations")),
                ("vus", connections),
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
    Executor {
        settings,
        think: closed.think.as_ref().map(think),
        new_connections: false,
    }
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
        return Err(refused(phase, "end a rate after a number of requests"));
    }
    limits.express_once(&format!(
        "the queue of {} arrivals of '{}': k6 drops an arrival that finds all {} users busy",
        open.queue_max, phase.name, open.connections_max
    ));
    let length = length(phase, part);
    let changes = match part {
        Part::WarmUp => Vec::new(),
        Part::Measure => changes(open, length),
    };
    let unit = time_unit(open.rate_per_second, &changes, phase, limits);
    let rate = |per_second: f64| (per_second * unit).round();
    let users = open.connections_max.to_string();
    let mut settings = if changes.is_empty() {
        vec![
            ("executor", js("constant-arrival-rate")),
            ("rate", rate(open.rate_per_second).to_string()),
            ("timeUnit", js(&format!("{unit}s"))),
            ("duration", written(length)),
        ]
    } else {
        let scaled = changes
            .iter()
            .map(|(per_second, over)| (rate(*per_second), *over));
        vec![
            ("executor", js("ramping-arrival-rate")),
            ("startRate", rate(open.rate_per_second).to_string()),
            ("timeUnit", js(&format!("{unit}s"))),
            ("stages", staged(scaled.collect(), length)),
        ]
    };
    settings.extend([("preAllocatedVUs", users.clone()), ("maxVUs", users)]);
    Ok(Executor {
        settings,
        ..Executor::default()
    })
}

/// Rates, each with the duration of the change to it. A step is a change of duration zero, followed
/// by a constant rate.
fn changes(open: &Open, length: Duration) -> Vec<(f64, Duration)> {
    if let Some(end) = open.ramp_to_per_second {
        return vec![(end, length)];
    }
    open.stages
        .iter()
        .flat_map(|stage| {
            let (rate, over) = (stage.rate_per_second, stage.over.0);
            match stage.how {
                Change::Linear => vec![(rate, over)],
                Change::Step => vec![(rate, Duration::ZERO), (rate, over)],
            }
        })
        .collect()
}

/// Returns the shortest unit of time, in seconds, in which all rates are whole numbers, because k6
/// accepts no others.
fn time_unit(start: f64, changes: &[(f64, Duration)], phase: &Phase, limits: &mut Limits) -> f64 {
    let rates = || std::iter::once(start).chain(changes.iter().map(|(rate, _)| *rate));
    let whole = |unit: f64| rates().all(|rate| (rate * unit - (rate * unit).round()).abs() < 1e-6);
    let units = [1.0, 10.0, 100.0, 1000.0];
    units
        .into_iter()
        .find(|unit| whole(*unit))
        .unwrap_or_else(|| {
            limits.express(format!(
                "rates of '{}' finer than a thousandth of a request per second",
                phase.name
            ));
            1000.0
        })
}

/// Stages as JavaScript; after the last one the number is constant until the end.
fn staged(mut stages: Vec<(f64, Duration)>, length: Duration) -> String {
    let taken: Duration = stages.iter().map(|(_, over)| *over).sum();
    let rest = length.saturating_sub(taken);
    if let (Some((last, _)), false) = (stages.last().copied(), rest.is_zero()) {
        stages.push((last, rest));
    }
    let stages: Vec<String> = stages
        .iter()
        .map(|(target, over)| format!("{{ target: {target}, duration: {} }}", written(*over)))
        .collect();
    format!("[{}]", stages.join(", "))
}

/// A duration in k6's format.
pub(super) fn written(duration: Duration) -> String {
    let ms = duration.as_millis();
    if ms.is_multiple_of(1000) {
        js(&format!("{}s", ms / 1000))
    } else {
        js(&format!("{ms}ms"))
    }
}

fn refused(phase: &Phase, what: &str) -> Refusal {
    let remedy = "choose another load (--load), or use the built-in load generator";
    Refusal::of_phase("k6", what, phase, remedy)
}
