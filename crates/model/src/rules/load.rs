//! Rules of load profiles.

use super::{not_zero, unique};
use crate::Span;
use crate::diagnostic::Problem;
use crate::node::Node;

pub(super) fn check(root: &Node, problems: &mut Vec<Problem>) {
    let phases = root.list("phases");
    let names = phases.iter().filter_map(|phase| phase.get("name"));
    unique(
        names,
        "phases",
        "give each phase a name of its own",
        problems,
    );
    for phase in phases {
        not_zero(
            phase,
            "measure",
            "measure for some time, as in 10s",
            problems,
        );
        not_zero(
            phase,
            "timeout",
            "wait for answers for some time, as in 10s",
            problems,
        );
        open(phase, problems);
    }
}

fn open(phase: &Node, problems: &mut Vec<Problem>) {
    let Some(open) = phase.get("open") else {
        return;
    };
    let Some((node, rate)) = open
        .get("rate_per_second")
        .and_then(|node| Some((node, node.number()?)))
    else {
        return;
    };
    let ramp = open
        .get("ramp_to_per_second")
        .and_then(|node| Some((node, node.number()?)));
    if let Some((ramp_node, end)) = ramp
        && end == rate
    {
        let message = "the ramp ends at the rate at which it begins";
        let help = "write another rate, or remove `ramp_to_per_second` for a constant one";
        problems.push(Problem::new(ramp_node.span.clone(), message, help));
    }
    let measure = phase
        .get("measure")
        .and_then(|node| node.text()?.parse::<Span>().ok());
    let arrivals = measure
        .map(|measure| measure.as_secs_f64() * (rate + ramp.map_or(rate, |(_, end)| end)) / 2.0);
    // A measure of zero was reported already.
    if arrivals.is_some_and(|arrivals| arrivals > 0.0 && arrivals < 1.0) {
        let message = "at this rate no request is sent while it is measured";
        problems.push(Problem::new(
            node.span.clone(),
            message,
            "raise the rate, or measure for longer",
        ));
    }
}
