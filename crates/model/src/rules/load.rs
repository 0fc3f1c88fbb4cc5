//! Rules for load profiles.

use std::collections::HashSet;
use std::time::Duration;

use gatebench_config::{HumanDuration, Node, Problem};

use super::{in_order, not_zero, span, unique};
use crate::sweep::swept_name;

pub(crate) fn check(root: &Node, problems: &mut Vec<Problem>) {
    let phases = root.list("phases");
    let names = phases.iter().filter_map(|phase| phase.get("name"));
    unique(names, "phases", "give each phase a unique name", problems);
    for phase in phases {
        not_zero(phase, "measure", "10s", problems);
        not_zero(phase, "timeout", "10s", problems);
        shape(phase, problems);
        let measure = span(phase.get("measure"));
        stages_fit(phase, measure, problems);
        sends_something(phase, measure, problems);
        sweep(phase, problems);
        change_fits(phase, "measure", problems);
        failure_fits(phase, measure, problems);
        one_thing_happens(phase, problems);
    }
    swept_names(phases, problems);
    begins_with_the_gateway(root, problems);
}

/// Checks that the first phase of a cold load has no warm-up, change or failure, and does not load
/// gateways side by side.
fn begins_with_the_gateway(root: &Node, problems: &mut Vec<Problem>) {
    let is_cold = root.get("cold").and_then(Node::flag) == Some(true);
    let Some(first) = root.list("phases").first().filter(|_| is_cold) else {
        return;
    };
    for key in ["warm_up", "change", "failure", "side_by_side"] {
        if let Some(entry) = first.entry(key) {
            let message = format!("the first phase of a cold load cannot have `{key}`");
            problems.push(entry.problem(message, "remove it, or write it in a later phase"));
        }
    }
}

pub(super) fn shape(parent: &Node, problems: &mut Vec<Problem>) {
    if let Some(closed) = parent.get("closed") {
        think(closed, problems);
    }
    let Some(open) = parent.get("open") else {
        return;
    };
    for stage in open.list("stages") {
        let example = "10s; `how: step` reaches its rate at once";
        not_zero(stage, "over", example, problems);
    }
    let Some(ramp) = open.entry("ramp_to_per_second") else {
        return;
    };
    if open.get("stages").is_some() {
        let help = "remove the ramp, or write it as a stage that takes the whole measurement";
        problems.push(ramp.problem(
            "`stages` and `ramp_to_per_second` are mutually exclusive",
            help,
        ));
    }
    let rate = open.get("rate_per_second").and_then(Node::number);
    if rate.is_some() && ramp.value.number() == rate {
        let message = "the ramp begins and ends at the same rate";
        let help = "write another rate, or remove `ramp_to_per_second` for a constant one";
        problems.push(ramp.value.problem(message, help));
    }
}

fn think(closed: &Node, problems: &mut Vec<Problem>) {
    let Some(think) = closed.get("think") else {
        return;
    };
    if let Some(exponential) = think.get("exponential") {
        not_zero(exponential, "mean", "1s, or remove `think`", problems);
    }
    if let Some(uniform) = think.get("uniform") {
        let seconds = |node: &Node| span(Some(node)).map(HumanDuration::as_secs_f64);
        let message = "the maximum think time is below the minimum";
        in_order(uniform, seconds, message, problems);
    }
}

/// Checks that the stages fit into the measurement. Otherwise, they would be cut off silently.
fn stages_fit(phase: &Node, measure: Option<HumanDuration>, problems: &mut Vec<Problem>) {
    let settings = phase.get("closed").or_else(|| phase.get("open"));
    let Some((stages, measure)) = settings.and_then(|it| it.entry("stages")).zip(measure) else {
        return;
    };
    let lengths = stages.value.items().iter();
    let lengths = lengths.filter_map(|stage| Some(span(stage.get("over"))?.0));
    let total = HumanDuration(lengths.fold(Duration::ZERO, Duration::saturating_add));
    if total > measure {
        let message = format!("the stages take {total}, but the measurement takes {measure}");
        let help = format!("write `measure: {total}`, or shorten the stages");
        problems.push(stages.problem(message, help));
    }
}

/// Checks that a change occurs at least a second after the start of the measurement and a second
/// before its end, and that repetitions are at least a second apart. Otherwise, the times before
/// and after a change could not be compared.
pub(super) fn change_fits(phase: &Node, length: &str, problems: &mut Vec<Problem>) {
    let measure = span(phase.get(length));
    let at = phase.at(&["change", "at"]);
    let Some(((node, at), measure)) = at.zip(span(at)).zip(measure) else {
        return;
    };
    let seconds = (at.as_secs_f64(), measure.as_secs_f64());
    if seconds.0 < 1.0 || seconds.0 > seconds.1 - 1.0 {
        let message = format!("the change occurs {at} into a measurement of {measure}");
        let help = "leave at least a second before it and after it for the comparison";
        problems.push(node.problem(message, help));
    }
    let every = phase.at(&["change", "every"]);
    if let Some((node, every)) = every.zip(span(every))
        && every.as_secs_f64() < 1.0
    {
        let message = format!("the change repeats every {every}");
        let help = "leave at least a second between two changes, as in 3s";
        problems.push(node.problem(message, help));
    }
}

/// Checks the kind of a failure. Also checks that the failure begins at least a second after the
/// start of the measurement, lasts at least a second, and ends at least a second before the end.
fn failure_fits(phase: &Node, measure: Option<HumanDuration>, problems: &mut Vec<Problem>) {
    let Some(failure) = phase.get("failure") else {
        return;
    };
    if let Some(how) = failure.entry("how")
        && is_of_control_plane(failure)
        && how.value.text() != Some("refusing")
    {
        let help = "write `how: refusing`, which kills the control plane";
        problems.push(how.problem("a control plane can only be `refusing`", help));
    }
    let is_slow = failure.text_of("how") == Some("slow");
    if is_slow != failure.get("by").is_some() {
        let message = "`how: slow` and `by` are valid only together";
        let help = "write `how: slow` and `by: 200ms` together, or neither";
        problems.push(Problem::new(failure.head(), message, help));
    }
    let times = [failure.get("from"), failure.get("until")];
    let [Some(from), Some(until)] = times.map(span) else {
        return;
    };
    let Some(measure) = measure else { return };
    let [from_s, until_s, measure_s] = [from, until, measure].map(|it| it.as_secs_f64());
    if from_s < 1.0 || until_s < from_s + 1.0 || until_s > measure_s - 1.0 {
        let message =
            format!("the failure lasts from {from} to {until} in a measurement of {measure}");
        let help = "leave at least a second before it, during it and after it for the comparison";
        problems.push(Problem::new(failure.head(), message, help));
    }
}

/// Reports a phase with both a change and a failure, in which lost requests would have two possible
/// causes. A change after an outage of the control plane is permitted, because it shows whether the
/// gateway is connected again.
fn one_thing_happens(phase: &Node, problems: &mut Vec<Problem>) {
    let Some((change, failure)) = phase.get("change").zip(phase.entry("failure")) else {
        return;
    };
    if !is_of_control_plane(&failure.value) {
        let help = "move the failure to a separate phase after this one";
        problems.push(failure.problem("`change` and `failure` are mutually exclusive", help));
        return;
    }
    let times = [change.get("at"), failure.value.get("until")].map(span);
    if let [Some(at), Some(until)] = times
        && at < until
    {
        let message = format!("the change occurs at {at}, before the control plane is back");
        let help = format!("write `at: {until}` or a later time");
        problems.push(Problem::new(change.head(), message, help));
    }
}

fn is_of_control_plane(failure: &Node) -> bool {
    failure.text_of("part") == Some("control_plane")
}

/// Returns the number of arrivals of an open load in a measurement of `seconds`, or `None` if a
/// rate or the length of a stage is missing or invalid.
fn arrivals(open: &Node, seconds: f64) -> Option<f64> {
    let rate = open.get("rate_per_second")?.number()?;
    if let Some(end) = open.get("ramp_to_per_second").and_then(Node::number) {
        return Some((rate + end) / 2.0 * seconds);
    }
    let (mut area, mut left, mut last) = (0.0, seconds, rate);
    for stage in open.list("stages") {
        let next = stage.get("rate_per_second")?.number()?;
        let over = span(stage.get("over"))?.as_secs_f64().min(left);
        let steps = stage.text_of("how") == Some("step");
        area += over * if steps { next } else { (last + next) / 2.0 };
        left -= over;
        last = next;
    }
    Some(area + left * last)
}

fn sends_something(phase: &Node, measure: Option<HumanDuration>, problems: &mut Vec<Problem>) {
    let Some((open, measure)) = phase.get("open").zip(measure) else {
        return;
    };
    // A measurement of zero length was already reported.
    if let Some(node) = open.get("rate_per_second")
        && arrivals(open, measure.as_secs_f64()).is_some_and(|arrivals| arrivals < 1.0)
        && !measure.is_zero()
    {
        let message = "at this rate, no request is sent during the measurement";
        problems.push(node.problem(message, "raise the rate, or measure for longer"));
    }
}

/// Checks that a sweep is over the connections of a `closed` load or the rates of an `open` load,
/// and that the load is constant.
fn sweep(phase: &Node, problems: &mut Vec<Problem>) {
    let Some(sweep) = phase.get("sweep") else {
        return;
    };
    for (numbers, wanted, other) in [
        ("connections", "closed", "open"),
        ("rate_per_second", "open", "closed"),
    ] {
        let Some(entry) = sweep.entry(numbers) else {
            continue;
        };
        if phase.get(other).is_some() && phase.get(wanted).is_none() {
            let message = format!(
                "a sweep over `{numbers}` is valid only with `{wanted}:`, but this load is `{other}:`"
            );
            let help = format!("write `{wanted}:` in place of `{other}:`, or use another sweep");
            problems.push(entry.problem(message, help));
        }
        let settings = phase.get(wanted);
        for changing in ["stages", "ramp_to_per_second"] {
            if let Some(changing) = settings.and_then(|it| it.entry(changing)) {
                let message = format!("`{}` and a sweep are mutually exclusive", changing.key);
                let help = "sweep over constant loads, or remove the sweep";
                problems.push(changing.problem(message, help));
            }
        }
    }
}

fn swept_names(phases: &[Node], problems: &mut Vec<Problem>) {
    let plain = phases.iter().filter(|phase| phase.get("sweep").is_none());
    let plain = plain.filter_map(|phase| phase.text_of("name"));
    let mut seen: HashSet<String> = plain.map(str::to_owned).collect();
    for phase in phases {
        let Some((name, sweep)) = phase.text_of("name").zip(phase.get("sweep")) else {
            continue;
        };
        for (numbers, letter) in [("connections", "c"), ("rate_per_second", "r")] {
            for item in sweep.list(numbers) {
                let Some(number) = item.number() else {
                    continue;
                };
                let swept = swept_name(name, letter, number);
                if !seen.insert(swept.clone()) {
                    let message = format!("two phases would be called `{swept}`");
                    let help = "write each number once, or give the phase another name";
                    problems.push(item.problem(message, help));
                }
            }
        }
    }
}
