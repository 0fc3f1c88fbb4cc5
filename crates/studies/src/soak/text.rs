//! The result of a soak as sentences.

use gatebench_report::Unit;
use gatebench_report::format::{
    capitalized, counted, duration, grouped, listed, quantity, three_figures,
};
use gatebench_stats::LeakVerdict;
use gatebench_stats::leak::Because;

use super::facts::{SoakFindings, SoakQuantity, SoakSegment, SoakWhat};
use super::{A_FILE, grows_lately, has_failed, has_leak, is_growing_lately, longest};
use crate::common::facts::Decision;

/// A soak was stopped if its measurement is shorter than planned by more than this.
const SHORT_BY_SECONDS: f64 = 1.0;

/// The result of the whole soak; problems come first.
pub(super) fn summary(found: &SoakFindings) -> String {
    let responses: u64 = found.segments.iter().map(|it| it.responses).sum();
    let failed = found.segments.iter().filter(|it| has_failed(it));
    let mut sentences: Vec<String> = failed.map(|it| failure(&found.variant, it)).collect();
    sentences.extend(ended(found));
    let longest = longest(&found.segments);
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
    let stopped = match found.measured_seconds + SHORT_BY_SECONDS < found.planned_seconds {
        true => format!(" of {}", duration(found.planned_seconds)),
        false => String::new(),
    };
    sentences.push(format!(
        "The measurement covers {}{stopped} and {} responses from {processes}.",
        duration(found.measured_seconds),
        grouped(responses as f64),
    ));
    sentences.join(" ")
}

/// The sentence for the segments that something other than the gateway ended.
fn ended(found: &SoakFindings) -> Option<String> {
    let ended: Vec<String> = found.segments.iter().filter_map(ended_by).collect();
    let what = listed(&ended);
    (!what.is_empty()).then(|| match found.decision {
        Decision::Worse => format!("{}.", capitalized(&what)),
        _ => format!("There is no verdict: {what}."),
    })
}

fn ended_by(segment: &SoakSegment) -> Option<String> {
    let after = duration(segment.measured_seconds);
    Some(match segment.culprit? {
        A_FILE => format!("{A_FILE} could not be used after {after}"),
        culprit => format!("{culprit} failed after {after}"),
    })
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

pub(super) fn of_quantity(variant: &str, found: &SoakQuantity) -> String {
    let growth = &found.growth;
    let is_latency = found.what == SoakWhat::ResponseP50;
    let (what, slope) = (&found.title, slope(found));
    let bound = amount(found.bound_per_hour, found.unit);
    match growth.verdict {
        LeakVerdict::Leak if is_latency => {
            format!("The median response time through {variant} drifts upward by {slope}.")
        }
        LeakVerdict::Leak => {
            let each = found.per_thousand_responses.map(|each| {
                let each = amount(each, found.unit);
                format!(", which is {each} per 1,000 responses")
            });
            let each = each.unwrap_or_default();
            format!("{variant} leaks {what}: the lower envelope grows by {slope}{each}.")
        }
        LeakVerdict::NoLeak if growth.slope_per_hour.is_none() => {
            let claim = match is_latency {
                true => format!(
                    "The median response time through {variant} does not drift upward by more than"
                ),
                false => format!("{variant} shows no leak of {what} above"),
            };
            format!(
                "{claim} {bound}/h: over the whole measurement, the values vary by no more than \
                 this growth would add."
            )
        }
        LeakVerdict::NoLeak if is_latency => format!(
            "The median response time through {variant} does not drift upward by more than \
             {bound}/h: it changes by {slope}."
        ),
        LeakVerdict::NoLeak => format!(
            "{variant} shows no leak of {what} above {bound}/h: the lower envelope changes by {slope}{}.",
            smallest(found)
        ),
        LeakVerdict::Undetermined {
            because,
            seconds_needed,
        } => {
            let claim = match is_latency {
                true => format!("the median response time through {variant} drifts upward"),
                false => format!("{variant} leaks {what}"),
            };
            let (why, longer) = (why(because, found), longer(seconds_needed));
            format!("It is undetermined whether {claim}: {why}{longer}.")
        }
    }
}

fn why(because: Because, found: &SoakQuantity) -> String {
    let (slope, bound) = (slope(found), amount(found.bound_per_hour, found.unit));
    match because {
        Because::TooShort => {
            "the run is shorter than ten cycles of the rise and fall of the values".into()
        }
        Because::Slowing => {
            format!("the growth of {slope} is slowing down, as when a cache fills up")
        }
        Because::GrowingLately => format!(
            "the values have recently grown by more than the allowed {bound}/h, as with a leak that begins late"
        ),
        Because::Steps => {
            let grow = match found.growth.slope_per_hour {
                Some(_) => format!("the values grow by {slope}, and "),
                None => String::new(),
            };
            let hidden = amount(found.growth.resolution_per_hour, found.unit);
            format!(
                "{grow}until the next step, the values may hide growth of {hidden}/h, which would bring the total above \
                 the allowed {bound}/h"
            )
        }
        Because::Unclear => {
            format!("the growth of {slope} may be above or below the allowed {bound}/h")
        }
    }
}

fn longer(seconds_needed: Option<f64>) -> String {
    seconds_needed.map_or_else(
        || "; no run of a reasonable length would decide it".into(),
        |seconds| format!("; a run of about {} would decide it", duration(seconds)),
    )
}

fn smallest(found: &SoakQuantity) -> String {
    let smallest = found.growth.smallest_seen_per_hour;
    smallest.map_or(String::new(), |it| {
        let it = amount(it, found.unit);
        format!("; a leak of {it}/h would have been seen in nine of ten runs like this one")
    })
}

/// The slope as text: `72.1 MiB/h (70.2 MiB to 73.9 MiB)`.
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
