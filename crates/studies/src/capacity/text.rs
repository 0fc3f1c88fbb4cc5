//! The results of a search as sentences.

use gatebench_model::Capacity;
use gatebench_model::load::Spread;
use gatebench_report::format::{counted, listed, percent, quantity, split_quantity, three_figures};
use gatebench_report::{Unit, Validity};
use gatebench_stats::capacity::{
    NEAR_STEPS, Outcome, RESOLUTION, Rate, SUSTAINED_PROBABILITY, Sustained,
};
use gatebench_stats::scalability::{Law, Sizing};

use super::facts::{Bottleneck, GatewayCapacity, SizingFindings};

pub(super) const DISTURBED: &str = "In most of the steps, other processes, the hypervisor or a CPU \
     limit took CPU time from the load. Repeat the search on a quiet machine without a CPU limit.";

/// The result as a sentence: `nginx sustains p99<10ms, errors<0.1% at 20.3k requests/s (…): a step
/// of 4s meets it there with 95 % probability, and half of the time at 21.3k requests/s (…); 0.4 %
/// of the steps (at most 2.2 %) miss it regardless of the rate. At higher rates, the gateway's
/// cores are at their limit.`
pub(super) fn outcome(
    found: &GatewayCapacity,
    capacity: &Capacity,
    names_scenario: bool,
) -> String {
    let (who, objective) = (&found.variant, &capacity.objective);
    let lead = if names_scenario {
        format!("{}: {who}", found.scenario)
    } else {
        who.clone()
    };
    let Some(outcome) = &found.outcome else {
        return format!(
            "{lead}: no completed repeat of the search has a result, so the capacity is unknown."
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
    match outcome {
        Outcome::Found(rates) if found.validity == Validity::Limited => format!(
            "{lead} sustains {objective} at {}. {}{}",
            lower_bound(rates),
            found.limits.join(" "),
            doubts(rates)
        ),
        Outcome::Found(rates) => format!(
            "{lead} sustains {objective} at {}{per_core}: a step of {} meets it there with {} probability, and half of \
             the time at {}; {} of the steps (at most {}) miss it regardless of the rate. {}.{}",
            with_interval(&rates.rate, rates),
            capacity.step,
            percent(rates.probability),
            with_interval(&rates.half, rates),
            percent(rates.lapses.share),
            percent(rates.lapses.interval.high),
            beyond(found.bottleneck),
            doubts(rates)
        ),
        Outcome::Lapsing { lapses, half } => format!(
            "{lead} sustains {objective} at no rate with {} probability: {} of its steps ({} to \
             {}) miss it even at the lowest rates. Half of the steps meet it at {}.",
            percent(SUSTAINED_PROBABILITY),
            percent(lapses.share),
            percent(lapses.interval.low),
            percent(lapses.interval.high),
            rate_words(half.rate_per_second)
        ),
        Outcome::AtLeast {
            rate_per_second,
            held,
            tried,
        } => format!(
            "{lead} meets {objective} at {}, the highest rate that was tried{per_core}, in {held} \
             of {}: its capacity is at least that.",
            rate_words(*rate_per_second),
            counted(u64::from(*tried), "step")
        ),
        Outcome::Below { rate_per_second } => format!(
            "{lead} misses {objective} even at {}, the lowest rate that was tried.",
            rate_words(*rate_per_second)
        ),
    }
}

/// The reasons to doubt a sustained rate, each as one or more sentences with a leading space.
fn doubts(rates: &Sustained) -> String {
    let knees = &rates.knees_per_second;
    let is_alike = |at: &usize| !rates.deviating.contains(at);
    let alike = || (0..knees.len()).filter(is_alike).map(move |at| knees[at]);
    let deviating = rates.deviating.iter().map(|at| {
        format!(
            " Process {} of {} differs from the others by more than chance explains: half of its \
             steps meet the objective at {}; in the other processes, half of the steps meet it at \
             {} to {}. The rates above are those of all processes together.",
            at + 1,
            knees.len(),
            rate_words(knees[*at]),
            rate_words(alike().fold(f64::INFINITY, f64::min)),
            rate_words(alike().fold(0.0, f64::max))
        )
    });
    let lapses = rates.may_lapse().then(|| {
        format!(
            " More than {} of all steps may miss the objective regardless of the rate; in that \
             case, no rate meets it with a probability of {}. More repeats (--repeat) may settle \
             this.",
            percent(1.0 - rates.probability),
            percent(rates.probability)
        )
    });
    deviating.chain(lapses).collect()
}

/// A lower bound: `19.7k requests/s or more (the lower end of its 95 % interval, 5 processes)`. The
/// estimate itself may exceed the sustained rate.
fn lower_bound(rates: &Sustained) -> String {
    let processes = counted(rates.knees_per_second.len() as u64, "process");
    match rates.rate.interval {
        Some(interval) => format!(
            "{} or more (the lower end of its {} interval, {processes})",
            rate_words(interval.low),
            percent(interval.confidence)
        ),
        None => format!(
            "about {} ({processes}: too few for a lower bound)",
            rate_words(rates.rate.rate_per_second)
        ),
    }
}

fn with_interval(rate: &Rate, of: &Sustained) -> String {
    let repeats = of.knees_per_second.len() as u64;
    let spread = match rate.interval {
        Some(interval) => format!(
            "{}–{} with {} confidence, {}",
            rate_number(interval.low),
            rate_number(interval.high),
            percent(interval.confidence),
            counted(repeats, "process")
        ),
        None => format!("{}: too few for an interval", counted(repeats, "process")),
    };
    format!("{} ({spread})", rate_words(rate.rate_per_second))
}

fn beyond(bottleneck: Option<Bottleneck>) -> &'static str {
    match bottleneck {
        Some(Bottleneck::Nothing) => {
            "At higher rates, no cores are at their limit: requests wait for something else, such as locks, connections or a \
             timer"
        }
        _ => "At higher rates, the gateway's cores are at their limit",
    }
}

/// The limit to report if the load generator or the upstream limits the result; otherwise `None`.
pub(super) fn full(bottleneck: Bottleneck) -> Option<&'static str> {
    match bottleneck {
        Bottleneck::Engine => Some(
            "Limited by the load generator, whose cores were at their limit: the gateway may \
             sustain more. Give the load generator more cores, or the gateway fewer.",
        ),
        Bottleneck::Upstream => Some(
            "Limited by the upstream, whose cores were at their limit: the gateway may sustain \
             more. Give the upstream more cores, or the gateway fewer.",
        ),
        Bottleneck::EngineAndUpstream => Some(
            "Limited by the load generator and the upstream, whose shared cores were at their \
             limit: the gateway may sustain more. Use a machine with more cores, or give the \
             gateway fewer.",
        ),
        Bottleneck::Gateway | Bottleneck::Nothing => None,
    }
}

pub(super) fn near_direct(share: f64) -> String {
    format!(
        "Limited by the load generator and the upstream: the rate is {} of what they reach without a gateway. Give them more \
         cores, or the gateway fewer.",
        percent(share)
    )
}

/// The method of the search. Earlier versions confirmed their result with longer steps.
pub(super) fn method(capacity: &Capacity, repeats: u32, confirmed: bool) -> String {
    let arrivals = match capacity.arrivals {
        Spread::Poisson => "as a Poisson process",
        Spread::Uniform => "evenly",
    };
    let (near, again) = if confirmed {
        (
            "the search ends with steps four times as long, between a rate that met the objective \
             and one that missed it. The version of gatebench that measured this run reported the \
             rate between the two, which meets the objective half of the time"
                .to_owned(),
            "that missed while other processes used the cores was repeated up to twice",
        )
    } else {
        (
            format!(
                "in {NEAR_STEPS} further steps, the rate goes up by {} after a step that met the \
                 objective, and down by four times as much after one that missed it",
                percent(RESOLUTION)
            ),
            "from which other processes, the hypervisor or a CPU limit took CPU time is repeated \
             up to twice, regardless of its outcome",
        )
    };
    format!(
        "Each of {} runs in a fresh process. First, {} connections send as fast as they get \
         responses (saturation). Then, requests arrive at fixed rates, {arrivals}, over the same \
         number of connections, and response times are measured from when each was due. In steps \
         of {}, each after a warm-up, the rate rises or falls until one step has met the objective \
         and another, at a higher rate, has missed it; the search then bisects between the two on \
         the logarithm of the rate; {near}. A logistic curve is fitted to all steps and \
         allows for differences between processes: the sustained rate is the rate at which a step \
         meets the objective with 95 % probability in any process. Some steps may miss it \
         regardless of the rate; their share is estimated with the curve. A step meets the \
         objective if each percentile (over all requests that were due) and the share of errors \
         stay within their bounds, and if 99 of 100 requests, or all but one, were sent and \
         completed in time. A step {again}.",
        counted(u64::from(repeats), "repeat"),
        capacity.connections,
        capacity.step,
    )
}

/// The number of cores as a sentence: `nginx needs 3 cores for 60.0k requests/s (3 to 4 with 95 %
/// confidence), extrapolated from 1 core by a straight line.`
pub(super) fn sizing(found: &SizingFindings) -> String {
    let (who, rate) = (&found.gateway, rate_words(found.rate_per_second));
    let (Some(law), false) = (&found.law, found.cores_measured.is_empty()) else {
        return format!(
            "The number of cores that {who} needs for {rate} is unknown: no capacity was found."
        );
    };
    let from = sizes(&found.cores_measured);
    let by = match law {
        Law::Universal { .. } => "the Universal Scalability Law",
        Law::Linear { .. } => "a straight line, as if every core added as much as the first",
    };
    let Some(sizing) = &found.sizing else {
        return format!(
            "{who} does not reach {rate} with any number of cores, as extrapolated from {from} by \
             {by}."
        );
    };
    let how = if sizing.extrapolated {
        "extrapolated from"
    } else {
        "interpolated from"
    };
    let cores = counted(u64::from(sizing.cores), "core");
    let is_whole = found.cores_without_capacity.is_empty();
    let without = sizes(&found.cores_without_capacity);
    if let (Some(enough), false) = (found.cores_sustaining, is_whole) {
        let enough = sizes(&[enough]);
        return format!(
            "{who} needs at most {cores} for {rate}, because it sustains this rate with {enough}; \
             no capacity was found with {without}."
        );
    }
    if !is_whole {
        return format!(
            "{who} needs about {cores} for {rate}, {how} {from} by {by}; this is not an upper \
             bound, because no capacity was found with {without}."
        );
    }
    if found.validity == Validity::Limited {
        return at_most(who, &rate, sizing, &format!("{how} {from} by {by}"));
    }
    format!(
        "{who} needs {cores} for {rate}{}, {how} {from} by {by}.",
        span(sizing)
    )
}

/// The sentence for a capacity that is only a lower bound. It states an upper bound on the number
/// of cores, unless the sizing's interval has no upper end.
fn at_most(who: &str, rate: &str, sizing: &Sizing, how: &str) -> String {
    let most = match (sizing.cores_low, sizing.cores_high) {
        (_, Some(high)) => high,
        (Some(_), None) => {
            return format!(
                "{who} needs {} or more for {rate}, {how}: no upper bound follows from a capacity that is a lower bound.",
                counted(u64::from(sizing.cores), "core")
            );
        }
        (None, None) => sizing.cores,
    };
    let cores = counted(u64::from(most), "core");
    format!(
        "{who} needs at most {cores} for {rate}, {how}; this is an upper bound, because the capacity is a lower bound."
    )
}

fn span(sizing: &Sizing) -> String {
    match (sizing.cores_low, sizing.cores_high) {
        (Some(low), Some(high)) if low == high => String::new(),
        (Some(low), Some(high)) => format!(" ({low} to {high} with 95 % confidence)"),
        (Some(low), None) => format!(" ({low} or more with 95 % confidence)"),
        _ => " (too few measurements for an interval)".into(),
    }
}

/// Numbers of cores as text: `1 core` or `2, 3 and 4 cores`.
fn sizes(cores: &[f64]) -> String {
    let numbers: Vec<String> = cores.iter().map(|it| plain(three_figures(*it))).collect();
    let noun = if numbers == ["1"] { "core" } else { "cores" };
    format!("{} {noun}", listed(&numbers))
}

/// Writes `1.00` as `1`, because most numbers of cores are whole.
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
    split_quantity(rate, Unit::RequestsPerSecond).0
}
