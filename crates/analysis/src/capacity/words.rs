//! The answers in words.

use gatebench_model::Capacity;
use gatebench_model::capacity::CONFIRM_FACTOR;
use gatebench_stats::capacity::{Answer, Knee, RESOLUTION};
use gatebench_stats::scaling::{Law, Sizing};

use crate::findings::{Bottleneck, GatewayCapacity, SizingFindings, Unit, Validity};
use crate::words::{counted, listed, percent, quantity, three_figures};

/// Said where every miss that the answer rests on was disturbed.
pub(super) const DISTURBED: &str = "Other processes or the hypervisor took time of the cores in every step that missed the \
     objective, three times in a row. Repeat it on a quiet machine.";

/// `nginx holds p99<10ms, errors<0.1% up to 21.3k requests/s (…), 21.3k for each core; its cores are full there.`
pub(super) fn answer(found: &GatewayCapacity, capacity: &Capacity, names_scenario: bool) -> String {
    let (who, objective) = (&found.variant, &capacity.objective);
    let lead = if names_scenario {
        format!("{}: {who}", found.scenario)
    } else {
        who.clone()
    };
    let Some(answer) = &found.answer else {
        return format!(
            "{lead}: no repeat of the search came to its end, so there is no capacity to tell."
        );
    };
    let per_core = found
        .per_core_per_second
        .filter(|_| found.cores != 1.0)
        .map_or_else(String::new, |rate| {
            format!(
                ", {} for each of its {} cores",
                rate_words(rate),
                three_figures(found.cores)
            )
        });
    match answer {
        Answer::Found(knee) if found.validity == Validity::Limited => format!(
            "{lead} holds {objective} up to at least {}{per_core}. {}",
            with_interval(knee),
            found.limits.join(" ")
        ),
        Answer::Found(knee) => format!(
            "{lead} holds {objective} up to {}{per_core}; {}.",
            with_interval(knee),
            beyond(found.bottleneck)
        ),
        Answer::AtLeast {
            rate_per_second, ..
        } => format!(
            "{lead} holds {objective} at {}, the highest rate that was tried{per_core}: its capacity lies above.",
            rate_words(*rate_per_second)
        ),
        Answer::Below {
            rate_per_second, ..
        } => format!(
            "{lead} misses {objective} even at {}, the lowest rate that was tried.",
            rate_words(*rate_per_second)
        ),
    }
}

fn with_interval(knee: &Knee) -> String {
    let repeats = knee.knees_per_second.len() as u64;
    let spread = match knee.interval {
        Some(interval) => format!(
            "{}–{} with {}, {}",
            rate_number(interval.low),
            rate_number(interval.high),
            percent(interval.confidence),
            counted(repeats, "process")
        ),
        None => format!("{}: too few for an interval", counted(repeats, "process")),
    };
    format!("{} ({spread})", rate_words(knee.rate_per_second))
}

fn beyond(bottleneck: Option<Bottleneck>) -> &'static str {
    match bottleneck {
        Some(Bottleneck::Nothing) => {
            "nobody's cores are full beyond that: requests wait for something else, as locks, connections or a timer"
        }
        _ => "beyond that the gateway's cores are full",
    }
}

/// Why an answer is the instrument's; none where it is the gateway's.
pub(super) fn full(bottleneck: Bottleneck) -> Option<&'static str> {
    match bottleneck {
        Bottleneck::Engine => Some(
            "Limited by the engine, whose cores were full: the gateway may hold more. Give the engine more cores, or \
             the gateway fewer.",
        ),
        Bottleneck::Upstream => Some(
            "Limited by the upstream, whose cores were full: the gateway may hold more. Give the upstream more cores, \
             or the gateway fewer.",
        ),
        Bottleneck::EngineAndUpstream => Some(
            "Limited by engine and upstream, whose common cores were full: the gateway may hold more. Use a machine \
             with more cores, or give the gateway fewer.",
        ),
        Bottleneck::Gateway | Bottleneck::Nothing => None,
    }
}

/// Said where the answer is near what the instrument manages by itself.
pub(super) fn near_floor(share: f64) -> String {
    format!(
        "Limited by engine and upstream: the answer is {} of what they reach without a gateway. Give them more cores, or \
         the gateway fewer.",
        percent(share)
    )
}

/// How the answer was found.
pub(super) fn method(capacity: &Capacity, repeats: u32) -> String {
    format!(
        "Each of {} is a fresh process. First {} connections ask as fast as they are answered (saturation). Then requests come at \
         fixed rates, evenly, over as many connections, and response times count from when each was due: the rate grows until the objective \
         is missed, and bisects on its logarithm down to {}; steps of {} after a warm-up, the last ones {} times as long, end between a rate \
         that held and one that missed. The capacity is the geometric mean of the repeats, its interval Student's t over their \
         logarithms. A step holds where each percentile and the share of errors stay below their bounds and 99 in 100 \
         requests were sent and answered in time. What missed while other processes used the cores is tried up to three times.",
        counted(u64::from(repeats), "repeat"),
        capacity.connections,
        percent(RESOLUTION),
        capacity.step,
        CONFIRM_FACTOR,
    )
}

/// `nginx takes 3 cores for 60.0k requests/s (3 to 4 with 95 %), extrapolated from 1 core by a straight line.`
pub(super) fn sizing(found: &SizingFindings) -> String {
    let (who, rate) = (&found.gateway, rate_words(found.rate_per_second));
    let (Some(law), false) = (&found.law, found.cores_measured.is_empty()) else {
        return format!(
            "How many cores {who} takes for {rate} cannot be told: no capacity was found."
        );
    };
    let measured: Vec<String> = found
        .cores_measured
        .iter()
        .map(|it| three_figures(*it))
        .map(plain)
        .collect();
    let noun = if measured == ["1"] { "core" } else { "cores" };
    let from = format!("{} {noun}", listed(&measured));
    let by = match law {
        Law::Universal { .. } => "the Universal Scalability Law",
        Law::Linear { .. } => "a straight line, as if every core added as much as the first",
    };
    let Some(sizing) = &found.sizing else {
        return format!(
            "{who} does not reach {rate} with any number of cores, by {by} through {from}."
        );
    };
    let how = if sizing.extrapolated {
        "extrapolated from"
    } else {
        "by what was measured with"
    };
    let (most, since) = match found.validity {
        Validity::Limited => ("at most ", "; at most, since its capacity is a lower bound"),
        _ => ("", ""),
    };
    let cores = counted(u64::from(sizing.cores), "core");
    format!(
        "{who} takes {most}{cores} for {rate}{}, {how} {from} by {by}{since}.",
        span(sizing)
    )
}

fn span(sizing: &Sizing) -> String {
    match (sizing.cores_low, sizing.cores_high) {
        (Some(low), Some(high)) if low == high => String::new(),
        (Some(low), Some(high)) => format!(" ({low} to {high} with 95 %)"),
        (Some(low), None) => format!(" ({low} or more with 95 %)"),
        _ => " (too few measurements for an interval)".into(),
    }
}

/// `1.00` is `1`: cores are mostly whole.
fn plain(number: String) -> String {
    match number.split_once('.') {
        Some((whole, rest)) if rest.chars().all(|it| it == '0') => whole.to_owned(),
        _ => number,
    }
}

fn rate_words(rate: f64) -> String {
    quantity(rate, Unit::RequestsPerSecond)
}

fn rate_number(rate: f64) -> String {
    crate::words::split_quantity(rate, Unit::RequestsPerSecond).0
}
