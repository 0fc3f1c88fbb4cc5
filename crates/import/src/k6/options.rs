//! Converts the `options` of a script to loads.

use std::time::Duration;

use gatebench_model::load::{Change, Closed, ConnectionStage, Open, RateStage, Think};
use gatebench_model::{HumanDuration, Phase, Shape};
use serde_json::{Map, Value as Json};

use crate::name::slug;

/// The function that runs if a load names none.
pub(super) const DEFAULT: &str = "default";

/// The default number of virtual users.
const USERS: u32 = 1;

/// The default time limit of a load that ends after a fixed number of iterations.
const ITERATIONS_TIME: Duration = Duration::from_secs(600);

/// A load of a script, which k6 calls a scenario.
#[derive(Debug, PartialEq)]
pub(super) struct Load {
    pub(super) name: String,
    /// The time from the start of the script to the start of the load.
    pub(super) begins: Duration,
    pub(super) function: String,
    pub(super) shape: Shape,
    pub(super) length: Duration,
}

/// The options on the command line of k6, which override those of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Overrides {
    /// The value of `--vus`.
    pub(crate) users: Option<u32>,
    /// The value of `--duration`.
    pub(crate) length: Option<Duration>,
}

impl Overrides {
    /// Changes the options of a script as k6 does: the duration replaces `duration`, `iterations`,
    /// `stages` and `scenarios`, and the number of users replaces only `vus`.
    pub(super) fn apply(&self, options: &mut Json) {
        if *self == Self::default() {
            return;
        }
        let mut members = match options.take() {
            Json::Object(members) => members,
            _ => Map::new(),
        };
        if let Some(length) = self.length {
            for key in ["iterations", "stages", "scenarios"] {
                members.remove(key);
            }
            let duration = format!("{}s", length.as_secs_f64());
            members.insert("duration".into(), duration.into());
        }
        if let Some(users) = self.users {
            members.insert("vus".into(), users.into());
        }
        *options = Json::Object(members);
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Iteration {
    /// The number of requests, at least 1. k6 counts iterations where gatebench counts requests.
    pub(super) requests: f64,
    /// The think time after each request.
    pub(super) think: Option<Duration>,
}

impl Iteration {
    pub(super) const SINGLE: Self = Self {
        requests: 1.0,
        think: None,
    };
}

/// Returns the loads of a script, and the parts of the options that are not understood.
/// `iteration` describes an iteration of a function.
pub(super) fn loads(
    options: &Json,
    iteration: &dyn Fn(&str) -> Iteration,
) -> (Vec<Load>, Vec<String>) {
    let mut not_understood = Vec::new();
    let scenarios = options.get("scenarios").and_then(Json::as_object);
    let mut loads = Vec::new();
    for (name, scenario) in scenarios.into_iter().flatten() {
        let executor = text(scenario, "executor").unwrap_or_default();
        let function = text(scenario, "exec").unwrap_or(DEFAULT);
        match shape(executor, scenario, iteration(function)) {
            Some((shape, length)) => loads.push(Load {
                name: name.clone(),
                begins: text(scenario, "startTime")
                    .and_then(duration)
                    .unwrap_or_default(),
                function: function.to_owned(),
                shape,
                length,
            }),
            None => not_understood.push(format!("the executor {executor} of the scenario {name}")),
        }
    }
    if loads.is_empty() {
        let has = |key: &str| options.get(key).is_some_and(|it| !it.is_null());
        let executor = match (has("iterations"), has("stages")) {
            (true, _) => "shared-iterations",
            (false, true) => "ramping-vus",
            (false, false) => "constant-vus",
        };
        let mut found = shape(executor, options, iteration(DEFAULT));
        if found.is_none() {
            found = shape("constant-vus", options, iteration(DEFAULT));
            let words = "`stages`: not all values can be read, so the number of users is constant";
            not_understood.push(words.to_owned());
        }
        loads.extend(found.map(|(shape, length)| Load {
            name: "users".into(),
            begins: Duration::ZERO,
            function: DEFAULT.into(),
            shape,
            length,
        }));
    }
    if phases(&loads).is_none() {
        let late = loads.iter().filter(|load| !load.begins.is_zero());
        not_understood.extend(late.map(|load| {
            let name = &load.name;
            format!("startTime of the scenario {name}: it is ignored")
        }));
    }
    let thresholds = options.get("thresholds").and_then(Json::as_object);
    if thresholds.is_some_and(|it| !it.is_empty()) {
        let words = "thresholds: compare runs instead, or use `gatebench load --threshold`";
        not_understood.push(words.to_owned());
    }
    (loads, not_understood)
}

/// Converts the loads to phases if they run the same function one after another. A pause after an
/// open load becomes a stage without arrivals, and a pause after a closed load is dropped.
pub(super) fn phases(loads: &[Load]) -> Option<Vec<Phase>> {
    let mut loads: Vec<&Load> = loads.iter().collect();
    loads.sort_by_key(|load| load.begins);
    let follows = |pair: &[&Load]| {
        let (one, next) = (pair[0], pair[1]);
        one.function == next.function && one.begins + one.length <= next.begins
    };
    if loads.len() < 2 || !loads.windows(2).all(follows) {
        return None;
    }
    let next = loads.iter().skip(1).map(|load| Some(load.begins));
    let phases = loads.iter().zip(next.chain([None]));
    Some(phases.map(|(load, next)| phase(load, next)).collect())
}

fn phase(load: &Load, next: Option<Duration>) -> Phase {
    let end = load.begins + load.length;
    let pause = next.map_or(Duration::ZERO, |next| next.saturating_sub(end));
    let mut shape = load.shape.clone();
    let step = |rate_per_second, over| RateStage {
        rate_per_second,
        over: HumanDuration(over),
        how: Change::Step,
    };
    let mut length = load.length;
    if let Shape::Open(open) = &mut shape
        && !pause.is_zero()
    {
        if open.stages.is_empty() {
            open.stages.push(step(open.rate_per_second, load.length));
        }
        open.stages.push(step(0.0, pause));
        length += pause;
    }
    Phase::new(slug(&load.name), shape, HumanDuration(length))
}

fn text<'j>(of: &'j Json, key: &str) -> Option<&'j str> {
    of.get(key).and_then(Json::as_str)
}

fn number(of: &Json, key: &str) -> Option<f64> {
    of.get(key).and_then(Json::as_f64).filter(|it| *it >= 0.0)
}

fn count(of: &Json, key: &str) -> Option<u32> {
    number(of, key).map(|it| it.min(1e6) as u32)
}

/// Returns the target and the duration of each stage, or `None` if there is no list of stages or
/// any stage is malformed.
fn stages(of: &Json) -> Option<Vec<(f64, Duration)>> {
    let stages = of.get("stages")?.as_array()?;
    let stage = |it: &Json| Some((number(it, "target")?, duration(text(it, "duration")?)?));
    stages.iter().map(stage).collect()
}

fn shape(executor: &str, of: &Json, iteration: Iteration) -> Option<(Shape, Duration)> {
    let length = text(of, "duration").and_then(duration);
    let length = length.unwrap_or(Duration::from_secs(10));
    let requests = iteration.requests;
    match executor {
        "constant-vus" => {
            let users = count(of, "vus").unwrap_or(USERS);
            Some((closed(users, Vec::new(), iteration.think), length))
        }
        "ramping-vus" => {
            let stages = stages(of)?;
            let start = count(of, "startVUs").or(count(of, "vus")).unwrap_or(USERS);
            let length = stages.iter().map(|(_, over)| *over).sum();
            Some((closed(start, stages, iteration.think), length))
        }
        "shared-iterations" | "per-vu-iterations" => {
            let users = count(of, "vus").unwrap_or(USERS);
            let iterations = number(of, "iterations").unwrap_or(1.0);
            let each = match executor {
                "per-vu-iterations" => f64::from(users),
                _ => 1.0,
            };
            let mut shape = closed(users, Vec::new(), iteration.think);
            if let Shape::Closed(closed) = &mut shape {
                closed.requests_max = Some((iterations * each * requests).max(1.0) as u64);
            }
            let length = text(of, "maxDuration").and_then(duration);
            Some((shape, length.unwrap_or(ITERATIONS_TIME)))
        }
        "constant-arrival-rate" => {
            let rate = number(of, "rate")? * requests / unit(of);
            Some((open(rate, Vec::new(), of), length))
        }
        "ramping-arrival-rate" => {
            let stages = stages(of)?;
            let unit = unit(of) / requests;
            let start = number(of, "startRate").unwrap_or(0.0) / unit;
            let length = stages.iter().map(|(_, over)| *over).sum();
            let rates = stages.iter().map(|(target, over)| (target / unit, *over));
            Some((open(start, rates.collect(), of), length))
        }
        _ => None,
    }
}

/// Returns the period of a rate in seconds: at least 0.001, and 1 by default.
fn unit(of: &Json) -> f64 {
    let unit = text(of, "timeUnit").and_then(duration);
    unit.map_or(1.0, |unit| unit.as_secs_f64().max(0.001))
}

fn closed(users: u32, stages: Vec<(f64, Duration)>, think: Option<Duration>) -> Shape {
    let stage = |(target, over): (f64, Duration)| ConnectionStage {
        connections: target.min(1e6) as u32,
        over: HumanDuration(over),
    };
    Shape::Closed(Closed {
        stages: stages.into_iter().map(stage).collect(),
        think: think.map(|think| Think::Constant(HumanDuration(think))),
        ..Closed::new(users.max(1))
    })
}

fn open(rate: f64, stages: Vec<(f64, Duration)>, of: &Json) -> Shape {
    let at_least = |rate: f64| rate.clamp(0.001, 1e8);
    let mut open = Open::new(at_least(rate));
    let mut jump = None;
    for (rate, over) in stages {
        let rate_per_second = at_least(rate);
        // A stage of zero length changes the rate immediately.
        if over.is_zero() {
            jump = Some(rate_per_second);
            continue;
        }
        let is_held = jump.take() == Some(rate_per_second);
        open.stages.push(RateStage {
            rate_per_second,
            over: HumanDuration(over),
            how: if is_held {
                Change::Step
            } else {
                Change::Linear
            },
        });
    }
    let users = count(of, "maxVUs").or(count(of, "preAllocatedVUs"));
    open.connections_max = users.unwrap_or(open.connections_max).max(1);
    Shape::Open(open)
}

/// Parses a duration in k6's format: `1m30s`, `500ms`, or a plain number of milliseconds.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut seconds = 0.0;
    if let Ok(millis) = rest.parse::<f64>() {
        return checked(millis / 1_000.0);
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let end = rest.find(|c: char| c.is_ascii_digit());
        let end = end.unwrap_or(rest.len());
        let unit = match &rest[..end] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        seconds += number * unit;
        rest = &rest[end..];
    }
    checked(seconds)
}

/// The longest duration that is imported: about a year.
const SECONDS_MAX: f64 = 3.2e7;

fn checked(seconds: f64) -> Option<Duration> {
    let duration = Duration::try_from_secs_f64(seconds).ok();
    duration.filter(|_| seconds <= SECONDS_MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn durations_are_read_as_k6_reads_them() {
        assert_eq!(duration("1m30s"), Some(Duration::from_secs(90)));
        assert_eq!(duration("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(duration("1500"), Some(Duration::from_millis(1_500)));
        assert_eq!(duration("10000000000000000000s"), None);
        assert_eq!(
            (duration("x"), duration("1x"), duration("é")),
            (None, None, None)
        );
    }

    #[test]
    fn each_argument_overrides_only_its_option() {
        let stages = json!([{ "duration": "30s", "target": 6 }]);
        let applied = |users: Option<u32>, seconds: Option<u64>, mut options: Json| {
            let length = seconds.map(Duration::from_secs);
            Overrides { users, length }.apply(&mut options);
            options
        };
        let script = json!({ "vus": 7, "stages": stages });
        let expected = json!({ "vus": 50, "stages": stages });
        assert_eq!(applied(Some(50), None, script.clone()), expected);
        let expected = json!({ "vus": 7, "duration": "20s" });
        assert_eq!(applied(None, Some(20), script.clone()), expected);
        assert_eq!(applied(None, None, script.clone()), script);
        let expected = json!({ "vus": 5 });
        assert_eq!(applied(Some(5), None, Json::Null), expected);
    }

    #[test]
    fn a_stage_of_zero_length_is_a_step() {
        let options = json!({ "scenarios": { "a": { "executor": "ramping-arrival-rate", "stages": [
            { "duration": "0s", "target": 200 }, { "duration": "30s", "target": 200 },
            { "duration": "10s", "target": 300 },
        ]}}});
        let (loads, _) = loads(&options, &|_| Iteration::SINGLE);
        let Shape::Open(open) = &loads[0].shape else {
            panic!("{loads:?}");
        };
        let how: Vec<Change> = open.stages.iter().map(|it| it.how).collect();
        assert_eq!(how, [Change::Step, Change::Linear]);
    }

    #[test]
    fn loads_that_follow_one_another_are_phases() {
        let warm_up =
            json!({ "executor": "constant-arrival-rate", "rate": 200, "duration": "30s" });
        let ramp = json!({ "executor": "ramping-arrival-rate", "startRate": 200, "startTime": "40s",
                           "stages": [{ "duration": "2m", "target": 9000 }] });
        let options = json!({ "scenarios": { "ramp_up": ramp, "warm": warm_up } });
        let (loads, not_understood) = loads(&options, &|_| Iteration::SINGLE);
        assert_eq!(not_understood, Vec::<String>::new());
        let phases = phases(&loads).unwrap();
        assert_eq!((&*phases[0].name, &*phases[1].name), ("warm", "ramp-up"));
        let lengths = [40, 120].map(|seconds| HumanDuration(Duration::from_secs(seconds)));
        assert_eq!([phases[0].measure, phases[1].measure], lengths);
        let Shape::Open(open) = &phases[0].shape else {
            panic!("{phases:?}");
        };
        let rates: Vec<f64> = open.stages.iter().map(|it| it.rate_per_second).collect();
        assert_eq!(rates, [200.0, 0.0]);
    }

    #[test]
    fn loads_at_the_same_time_are_not_phases() {
        let load = |begins: &str| json!({ "executor": "constant-vus", "vus": 1, "duration": "30s", "startTime": begins });
        let options = json!({ "scenarios": { "a": load("0s"), "b": load("20s") } });
        let (loads, not_understood) = loads(&options, &|_| Iteration::SINGLE);
        assert!(phases(&loads).is_none());
        assert_eq!(
            not_understood,
            ["startTime of the scenario b: it is ignored"]
        );
    }

    #[test]
    fn executors_become_shapes() {
        let options = json!({
            "scenarios": {
                "a": { "executor": "ramping-vus", "startVUs": 0, "stages": [{ "duration": "30s", "target": 6 }] },
                "b": { "executor": "ramping-arrival-rate", "startRate": 60, "timeUnit": "1m", "exec": "f",
                       "preAllocatedVUs": 5, "stages": [{ "duration": "1m", "target": 120 }] },
                "c": { "executor": "externally-controlled" }
            },
            "thresholds": { "http_req_failed": ["rate<0.01"] }
        });
        let (loads, not_understood) = loads(&options, &|_| Iteration::SINGLE);
        assert_eq!(not_understood.len(), 2, "{not_understood:?}");
        let Shape::Closed(closed) = &loads[0].shape else {
            panic!("{loads:?}");
        };
        assert_eq!((closed.connections, closed.stages[0].connections), (1, 6));
        let Shape::Open(open) = &loads[1].shape else {
            panic!("{loads:?}");
        };
        assert_eq!(
            (open.rate_per_second, open.stages[0].rate_per_second),
            (1.0, 2.0)
        );
        assert_eq!((loads[1].function.as_str(), open.connections_max), ("f", 5));
    }
}
