//! A load in words, the same wherever one is told: plans, displays, reports, documents.

use gatebench_model::Shape;
use gatebench_model::load::{DrawnThink, Think};

use crate::format::{counted, grouped};

/// Numbers that are told one by one; of more, the first, the largest and the last.
const TOLD_MAX: usize = 5;

/// `64 connections`, `1 to 6 to 20 connections`, `10 connections (thinking 10s)`, `1 connection, 1 request in all`,
/// `5,000 requests/s`, `200 to 9,000 requests/s`.
pub fn in_words(shape: &Shape) -> String {
    match shape {
        Shape::Closed(closed) => {
            let stages = closed.stages.iter().map(|stage| stage.connections);
            let all = std::iter::once(closed.connections).chain(stages);
            let (numbers, stages) = chain(all.map(f64::from));
            let noun = match numbers == "1" {
                true => "connection",
                false => "connections",
            };
            let thought = closed.think.as_ref().map_or_else(String::new, thought);
            let most = closed.requests_max.map(in_all);
            format!(
                "{numbers} {noun}{stages}{thought}{}",
                most.unwrap_or_default()
            )
        }
        Shape::Open(open) => {
            let stages = open.stages.iter().map(|stage| stage.rate_per_second);
            let rates = std::iter::once(open.rate_per_second);
            let (numbers, stages) = chain(rates.chain(open.ramp_to_per_second).chain(stages));
            let most = open.requests_max.map(in_all);
            format!("{numbers} requests/s{stages}{}", most.unwrap_or_default())
        }
    }
}

fn in_all(requests: u64) -> String {
    format!(", {} in all", counted(requests, "request"))
}

/// Each number that differs from the one before it, and in how many stages, where not all are told.
fn chain(numbers: impl Iterator<Item = f64>) -> (String, String) {
    let mut all: Vec<f64> = numbers.collect();
    all.dedup();
    match all[..] {
        [first, .., last] if all.len() > TOLD_MAX => {
            let most = all.iter().copied().fold(first, f64::max);
            let mut told = vec![first, most, last];
            told.dedup();
            (joined(&told), format!(" in {} stages", all.len() - 1))
        }
        _ => (joined(&all), String::new()),
    }
}

fn joined(numbers: &[f64]) -> String {
    let words: Vec<String> = numbers.iter().map(|number| exact(*number)).collect();
    words.join(" to ")
}

/// What was asked for is not rounded.
fn exact(number: f64) -> String {
    if number.fract() == 0.0 {
        grouped(number)
    } else {
        number.to_string()
    }
}

/// ` (thinking 10s)`.
fn thought(think: &Think) -> String {
    match think {
        Think::Constant(span) => format!(" (thinking {span})"),
        Think::Drawn(DrawnThink::Uniform(between)) => {
            format!(" (thinking {} to {})", between.min, between.max)
        }
        Think::Drawn(DrawnThink::Exponential(of)) => {
            format!(" (thinking {} on average)", of.mean)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(shape: &str) -> String {
        let text = format!("{{profile: l, title: t, phases: [{{name: p, {shape}, measure: 1h}}]}}");
        let load: gatebench_model::LoadProfile =
            gatebench_config::parse("l.yaml", &text).unwrap_or_else(|error| panic!("{error}"));
        in_words(&load.phases[0].shape)
    }

    #[test]
    fn connections_are_told_with_their_stages_thoughts_and_end() {
        assert_eq!(
            words("closed: {connections: 1, requests_max: 1}"),
            "1 connection, 1 request in all"
        );
        assert_eq!(
            words("closed: {connections: 10, think: 10s}"),
            "10 connections (thinking 10s)"
        );
        let stages = "stages: [{connections: 6, over: 1s}, {connections: 20, over: 1s}, {connections: 20, over: 1s}]";
        assert_eq!(
            words(&format!("closed: {{connections: 1, {stages}}}")),
            "1 to 6 to 20 connections"
        );
    }

    #[test]
    fn rates_are_told_exactly() {
        assert_eq!(words("open: {rate_per_second: 12345}"), "12,345 requests/s");
        assert_eq!(words("open: {rate_per_second: 2.5}"), "2.5 requests/s");
        assert_eq!(
            words("open: {rate_per_second: 200, ramp_to_per_second: 9000}"),
            "200 to 9,000 requests/s"
        );
        let stage = |rate: u32| format!("{{rate_per_second: {rate}, over: 1s}}");
        let stages: Vec<String> = [20, 40, 30, 50, 10].map(stage).into();
        assert_eq!(
            words(&format!(
                "open: {{rate_per_second: 10, stages: [{}]}}",
                stages.join(", ")
            )),
            "10 to 50 to 10 requests/s in 5 stages"
        );
    }
}
