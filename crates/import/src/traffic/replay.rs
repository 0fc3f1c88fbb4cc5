//! Turns recorded traffic into load profiles, and adds them, together with a scenario and a suite,
//! to the folder of the import.

use std::time::Duration;

use gatebench_model::load::{
    Change, Closed, DrawnThink, ExponentialThink, Open, RateStage, Spread, Think,
};
use gatebench_model::{HumanDuration, LoadProfile, Phase, Shape};

use super::Recorder;
use super::mix::{Mix, Shares};
use crate::defaults;
use crate::error::ImportError;
use crate::folder::{Folder, SUITE_FILE};
use crate::options::{Options, Replay};
use crate::time::{self, HOUR_MS};

/// The maximum number of stages of a replayed curve.
const STAGES_MAX: usize = 60;

/// The default length of a replay, unless the log is shorter.
const OVER: Duration = Duration::from_secs(60);

/// The difference between the mix and the log, or the share of omitted requests, above which
/// [`facts`] adds a warning.
const DIFFERENCE_MAX: f64 = 0.01;

const STAGE_MIN: Duration = Duration::from_millis(100);

/// The minimum rate of a stage, in requests per second. It is also the rate for a part of the log
/// without requests.
const RATE_MIN: f64 = 0.001;

/// The number of connections for each request per second of the peak rate. It is enough for
/// responses that take 100 ms.
const CONNECTIONS_PER_RATE: f64 = 0.1;
const CONNECTIONS: std::ops::RangeInclusive<f64> = 64.0..=10_000.0;

const HOURS_MAX: usize = 48;

/// The maximum number of users in the closed load, each with one connection.
const USERS_MAX: f64 = 10_000.0;

/// The part of the log that a replay covers, and its description.
struct Covered {
    start_ms: i64,
    length_ms: i64,
    over: Duration,
    words: String,
    arrivals: &'static str,
}

fn covered(traffic: &mut Recorder, replay: &Replay) -> Option<Covered> {
    let (mut start_ms, mut length_ms) = traffic.curve.span()?;
    if let Some(hour) = replay.hour {
        (start_ms, length_ms) = (hour.start_ms, HOUR_MS);
    }
    let length = Duration::from_millis(length_ms.unsigned_abs());
    let over = replay.over.map_or(length.min(OVER), |over| over.0);
    let over = over.max(Duration::from_secs(1));
    let from = time::in_words(start_ms);
    let until = time::in_words(start_ms + length_ms);
    let (times, duration) = (replay.times, HumanDuration(over));
    let words = format!("{from} to {until} at {times}x in {duration}");
    let arrivals = match traffic.curve.has_fractions {
        true => "arrivals within a stage are Poisson",
        false => "arrivals within a second are Poisson, because the log has only whole seconds",
    };
    Some(Covered {
        start_ms,
        length_ms,
        over,
        words,
        arrivals,
    })
}

pub(crate) fn write(
    mut traffic: Recorder,
    options: &Options,
    mut folder: Folder,
) -> Result<Folder, ImportError> {
    let nothing = || {
        let message = "it has no request that can be replayed";
        let remedy = "check that the log has requests, and that --hour is one of its hours";
        ImportError::nothing(&options.file, message, remedy)
    };
    let covered = covered(&mut traffic, &options.replay).ok_or_else(nothing)?;
    let mix = Mix::of(std::mem::take(&mut traffic.tree));
    if mix.is_empty() {
        return Err(nothing());
    }
    let hours = traffic.curve.hours().iter();
    let hours = hours.map(|(start_ms, count)| (time::hour_in_words(*start_ms), *count));
    let hours: Vec<(String, u64)> = hours.collect();
    let file = &options.file;
    let title = format!("Traffic of {file}, {}; {}", covered.words, covered.arrivals);
    let scenario = mix.scenario(&options.name, &format!("Traffic of {file}"));
    let shares = mix.shares(&scenario);
    folder.facts.extend(facts(&traffic, &shares, &covered));
    if let Some((hour, count)) = hours.iter().max_by_key(|(_, count)| *count) {
        let fact = format!("busiest hour: {hour}, with {count} requests");
        folder.facts.push(fact);
    }
    let comment = format!(
        "Imported from {file}. The weight of a request is its share of the log in percent. \
         Identifiers and bodies are made up, and so are query values unless --query-values kept \
         them. The sizes of responses are as in the log."
    );
    folder.add_scenario("scenario.yaml", &[comment], &scenario)?;
    let rates = open(&mut traffic, &covered, options.replay.times);
    let rates = profile("rate", &title, rates, covered.over);
    folder.add("load.yaml", &[], &rates)?;
    if let Some(users) = users(&traffic, &covered, options.replay.times) {
        let title = format!("Users with the same mean think time as in {file}");
        let users = profile("users", &title, users, covered.over);
        folder.add("users.yaml", &[], &users)?;
    }
    let gateways = defaults::gateways(&["reference", "nginx", "haproxy"]);
    let scenarios = vec!["./scenario.yaml".into()];
    let suite = defaults::suite(options, &title, gateways, scenarios, "./load.yaml");
    let mut lines = vec![
        "Requests in each hour of the log (at most 48 hours); `--hour` selects an hour:".to_owned(),
    ];
    let shown = hours.iter().take(HOURS_MAX);
    lines.extend(shown.map(|(hour, count)| format!("{hour} {count}")));
    folder.add(SUITE_FILE, &lines, &suite)?;
    Ok(folder)
}

fn facts(traffic: &Recorder, shares: &Shares, covered: &Covered) -> Vec<String> {
    let mut facts = vec![
        format!("{} requests, {}", traffic.curve.total(), covered.words),
        covered.arrivals.to_owned(),
        format!(
            "request shares differ from those in the log by at most {:.2} %; rare requests left out: {:.2} %",
            100.0 * shares.difference_max,
            100.0 * shares.left_out
        ),
    ];
    if shares.difference_max.max(shares.left_out) > DIFFERENCE_MAX {
        facts.push(
            "  the mix differs from that of the log: import only a part of the log, with --hour or fewer files"
                .to_owned(),
        );
    }
    if traffic.skipped > 0 {
        let count = traffic.skipped;
        facts.push(format!(
            "requests left out because their method or path cannot be replayed, such as CONNECT: {count}"
        ));
    }
    facts
}

fn profile(name: &str, title: &str, shape: Shape, over: Duration) -> LoadProfile {
    let mut phase = Phase::new(name, shape, HumanDuration(over));
    phase.warm_up = HumanDuration::from_millis(1_000);
    LoadProfile {
        profile: name.into(),
        title: title.into(),
        cold: false,
        phases: vec![phase],
    }
}

/// Returns the curve as stages of an open load, each with the mean rate of its part of the log,
/// multiplied by `times`.
fn open(traffic: &mut Recorder, covered: &Covered, times: f64) -> Shape {
    let most = (covered.over.as_secs_f64() / STAGE_MIN.as_secs_f64()) as usize;
    let seconds = usize::try_from(covered.length_ms / 1_000).unwrap_or(1);
    let count = STAGES_MAX.min(most).min(seconds).max(1);
    let (start_ms, length_ms) = (covered.start_ms, covered.length_ms);
    let parts = traffic.curve.parts(start_ms, length_ms, count);
    let part_seconds = covered.length_ms as f64 / 1_000.0 / count as f64;
    let rate = |requests: &f64| {
        let rate = requests / part_seconds * times;
        (rate * 1_000.0).round().max(1_000.0 * RATE_MIN) / 1_000.0
    };
    let rates: Vec<f64> = parts.iter().map(rate).collect();
    let over = HumanDuration::from_millis((covered.over.as_millis() / count as u128) as u64);
    let stage = |rate: &f64| RateStage {
        rate_per_second: *rate,
        over,
        how: Change::Step,
    };
    let peak = rates.iter().copied().fold(RATE_MIN, f64::max);
    let connections = (peak * CONNECTIONS_PER_RATE).clamp(*CONNECTIONS.start(), *CONNECTIONS.end());
    let mut open = Open::new(rates[0]);
    open.stages = rates.iter().map(stage).collect();
    open.arrivals = Spread::Poisson;
    open.connections_max = connections as u32;
    Shape::Open(open)
}

/// Returns a closed load with the log's mean think time and, multiplied by `times`, its average
/// number of concurrent users (Little's law). Returns `None` if the mean think time is zero or
/// unknown.
fn users(traffic: &Recorder, covered: &Covered, times: f64) -> Option<Shape> {
    let mean_ms = traffic.think.mean_ms().filter(|mean| *mean > 0)?;
    let rate = traffic.curve.total() as f64 / (covered.length_ms as f64 / 1_000.0) * times;
    let users = (rate * mean_ms as f64 / 1_000.0).clamp(1.0, USERS_MAX);
    let mean = HumanDuration::from_millis(mean_ms);
    let think = DrawnThink::Exponential(ExponentialThink { mean });
    Some(Shape::Closed(Closed {
        think: Some(Think::Drawn(think)),
        ..Closed::new(users.round() as u32)
    }))
}
