//! The result of a soak in sentences.

use gatebench_report::Unit;
use gatebench_report::format::{counted, duration, grouped, quantity, three_figures};
use gatebench_stats::LeakVerdict;
use gatebench_stats::leak::Because;

use super::facts::{SoakFindings, SoakQuantity, SoakSegment, SoakWhat};
use super::{grows_lately, has_failed, has_leak, is_growing_lately};

/// A soak whose measurement is shorter than planned by this much was stopped.
const SHORT_BY_SECONDS: f64 = 1.0;

/// The result of the whole soak; problems come first.
pub(super) fn summary(found: &SoakFindings) -> String {
    let responses: u64 = found.segments.iter().map(|it| it.responses).sum();
    let mut sentences: Vec<String> = found
        .segments
        .iter()
        .filter(|it| has_failed(it))
        .map(|it| failure(&found.variant, it))
        .collect();
    let longest = found
        .segments
        .iter()
        .max_by(|a, b| a.measured_seconds.total_cmp(&b.measured_seconds));
    let reported_segment = |segment: &&SoakSegment| {
        has_leak(segment)
            || grows_lately(segment)
            || longest.is_some_and(|it| it.trial == segment.trial)
    };
    for segment in found.segments.iter().filter(reported_segment) {
        let reported = segment.quantities.iter().filter(|it| {
            let is_leak = it.growth.verdict == LeakVerdict::Leak;
            it.what == SoakWhat::Memory || is_leak || is_growing_lately(it)
        });
        sentences.extend(reported.map(|it| it.text.clone()));
    }
    let processes = match found.segments.len() {
        1 => "one process".to_owned(),
        count => counted(count as u64, "process"),
    };
    let stopped = if found.measured_seconds + SHORT_BY_SECONDS < found.planned_seconds {
        format!(" of {}", duration(found.planned_seconds))
    } else {
        String::new()
    };
    sentences.push(format!(
        "The measurement covers {}{stopped} and {} responses from {processes}.",
        duration(found.measured_seconds),
        grouped(responses as f64),
    ));
    sentences.join(" ")
}

fn failure(variant: &str, segment: &SoakSegment) -> String {
    let dropped = match segment.dropped {
        1 => "was dropped",
        _ => "were dropped",
    };
    let counts = [
        (u64::from(segment.processes_ended), "process", "ended"),
        (segment.errors, "request", "got no response"),
        (segment.checks_failed, "response", "failed a check"),
        (segment.dropped, "arrival", dropped),
    ];
    let seen = counts.iter().filter(|(count, ..)| *count > 0);
    let reported: Vec<String> = seen
        .map(|(count, noun, rest)| format!("{} {rest}", counted(*count, noun)))
        .collect();
    if reported.is_empty() {
        let after = duration(segment.measured_seconds);
        return format!("{variant} failed the soak: its trial failed after {after}.");
    }
    format!("{variant} failed the soak: {}.", reported.join(", "))
}

/// The sentence on a quantity.
pub(super) fn of_quantity(variant: &str, found: &SoakQuantity) -> String {
    match found.what {
        SoakWhat::ResponseP50 => of_latency(variant, found),
        _ => of_leak(variant, found),
    }
}

fn of_leak(variant: &str, found: &SoakQuantity) -> String {
    let what = &found.title;
    match found.growth.verdict {
        LeakVerdict::Leak => {
            let each = found.per_thousand_responses.map(|each| {
                format!(
                    ", which is {} for each 1,000 responses",
                    amount(each, found.unit)
                )
            });
            format!(
                "{variant} leaks {what}: the lower envelope grows by {}{}.",
                slope(found),
                each.unwrap_or_default()
            )
        }
        LeakVerdict::NoLeak if found.growth.slope_per_hour.is_none() => format!(
            "{variant} shows no leak of {what} above {}/h: the whole range of the values is smaller than that growth.",
            amount(found.bound_per_hour, found.unit)
        ),
        LeakVerdict::NoLeak => format!(
            "{variant} shows no leak of {what} above {}/h: the lower envelope changes by {}{}.",
            amount(found.bound_per_hour, found.unit),
            slope(found),
            smallest(found)
        ),
        LeakVerdict::Undetermined {
            because,
            seconds_needed,
        } => format!(
            "Whether {variant} leaks {what} is undetermined: {}{}.",
            why(because, found),
            longer(seconds_needed)
        ),
    }
}

fn of_latency(variant: &str, found: &SoakQuantity) -> String {
    match found.growth.verdict {
        LeakVerdict::Leak => format!(
            "The median response time through {variant} drifts upwards by {}.",
            slope(found)
        ),
        LeakVerdict::NoLeak if found.growth.slope_per_hour.is_none() => format!(
            "The median response time through {variant} does not drift upwards by more than {}/h: the whole range \
             of the values is smaller than that growth.",
            amount(found.bound_per_hour, found.unit)
        ),
        LeakVerdict::NoLeak => format!(
            "The median response time through {variant} does not drift upwards: it changes by {}.",
            slope(found)
        ),
        LeakVerdict::Undetermined {
            because,
            seconds_needed,
        } => format!(
            "Whether the median response time through {variant} drifts upwards is undetermined: {}{}.",
            why(because, found),
            longer(seconds_needed)
        ),
    }
}

fn why(because: Because, found: &SoakQuantity) -> String {
    match because {
        Because::TooShort => {
            "the run is shorter than ten cycles of the rise and fall of the values".into()
        }
        Because::Slowing => format!(
            "the growth of {} is slowing down, as if something were filling up",
            slope(found)
        ),
        Because::GrowingLately => format!(
            "the values have grown lately by more than the allowed {}/h, as with a leak that begins late",
            amount(found.bound_per_hour, found.unit)
        ),
        Because::Steps => format!(
            "{}a step that has not come yet may hide growth of {}/h, and the total exceeds the allowed {}/h",
            found
                .growth
                .slope_per_hour
                .map_or(String::new(), |_| format!(
                    "the values grow by {}, and ",
                    slope(found)
                )),
            amount(found.growth.resolution_per_hour, found.unit),
            amount(found.bound_per_hour, found.unit)
        ),
        Because::Unclear => format!(
            "the growth of {} may be above or below the allowed {}/h",
            slope(found),
            amount(found.bound_per_hour, found.unit)
        ),
    }
}

fn longer(seconds_needed: Option<f64>) -> String {
    seconds_needed.map_or_else(
        || "; no run of a sensible length would decide it".into(),
        |seconds| format!("; a run of about {} would decide it", duration(seconds)),
    )
}

fn smallest(found: &SoakQuantity) -> String {
    found
        .growth
        .smallest_seen_per_hour
        .map(|it| {
            let it = amount(it, found.unit);
            format!("; a leak of {it}/h would have been seen in nine of ten such runs")
        })
        .unwrap_or_default()
}

/// The slope in text: `72.1 MiB/h (70.2 MiB to 73.9 MiB)`.
fn slope(found: &SoakQuantity) -> String {
    let unit = found.unit;
    let Some(slope) = found.growth.slope_per_hour else {
        return "an unknown amount".into();
    };
    let interval = found
        .growth
        .interval
        .map(|it| format!(" ({} to {})", amount(it.low, unit), amount(it.high, unit)));
    format!("{}/h{}", amount(slope, unit), interval.unwrap_or_default())
}

/// An amount; counts keep their fraction, because they are per hour.
fn amount(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Count if value.fract() == 0.0 => grouped(value),
        Unit::Count => three_figures(value),
        unit => quantity(value, unit),
    }
}
