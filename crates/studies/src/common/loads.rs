//! Describes loads as text.

use gatebench_model::Shape;
use gatebench_model::load::{Closed, DrawnThink, Spread, Think};
use gatebench_report::format::{counted, grouped};

use super::joined;

/// If there are more numbers than this, only the first, the largest and the last are named.
const NAMED_MAX: usize = 5;

/// Describes a load: `64 connections`, `1 to 6 to 20 connections`,
/// `10 connections (think time 10s)`, `1 connection, 1 request in all`, `5,000 requests/s`,
/// `200 to 9,000 requests/s`.
pub fn in_words(shape: &Shape) -> String {
    match shape {
        Shape::Closed(closed) => {
            let stages = closed.stages.iter().map(|stage| stage.connections);
            let all = std::iter::once(closed.connections).chain(stages);
            let (numbers, stages) = chain(all.map(f64::from));
            let ending = if numbers == "1" { "" } else { "s" };
            let thought = closed.think.as_ref().map_or_else(String::new, thought);
            let most = in_all(closed.requests_max);
            format!("{numbers} connection{ending}{stages}{thought}{most}")
        }
        Shape::Open(open) => {
            let stages = open.stages.iter().map(|stage| stage.rate_per_second);
            let rates = std::iter::once(open.rate_per_second);
            let (numbers, stages) = chain(rates.chain(open.ramp_to_per_second).chain(stages));
            format!("{numbers} requests/s{stages}{}", in_all(open.requests_max))
        }
    }
}

pub(crate) fn connections_max(closed: &Closed) -> u32 {
    let stages = closed.stages.iter().map(|stage| stage.connections);
    stages.fold(closed.connections, u32::max)
}

fn in_all(requests_max: Option<u64>) -> String {
    requests_max.map_or(String::new(), |requests| {
        format!(", {} in all", counted(requests, "request"))
    })
}

/// Lists each number that differs from the previous one, and counts the stages if not all numbers
/// are named.
fn chain(numbers: impl Iterator<Item = f64>) -> (String, String) {
    let mut all: Vec<f64> = numbers.collect();
    all.dedup();
    match all[..] {
        [first, .., last] if all.len() > NAMED_MAX => {
            let most = all.iter().copied().fold(first, f64::max);
            let mut few = [first, most, last].map(rounded).to_vec();
            few.dedup();
            (named(&few), format!(" in {} stages", all.len() - 1))
        }
        _ => (named(&all), String::new()),
    }
}

fn named(numbers: &[f64]) -> String {
    joined(numbers.iter().map(|number| exact(*number)), " to ")
}

fn exact(number: f64) -> String {
    if number.fract() == 0.0 {
        grouped(number)
    } else {
        number.to_string()
    }
}

fn rounded(number: f64) -> f64 {
    if number < 100.0 {
        number
    } else {
        number.round()
    }
}

fn thought(think: &Think) -> String {
    match think {
        Think::Constant(span) => format!(" (think time {span})"),
        Think::Drawn(DrawnThink::Uniform(between)) => {
            format!(" (think time {} to {})", between.min, between.max)
        }
        Think::Drawn(DrawnThink::Exponential(of)) => {
            format!(" (mean think time {})", of.mean)
        }
    }
}

pub(crate) fn arrivals(spread: Spread) -> &'static str {
    match spread {
        Spread::Poisson => "Poisson arrivals",
        Spread::Uniform => "uniform arrivals",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_many_stages_are_shortened_and_rounded() {
        let of = |numbers: &[f64]| chain(numbers.iter().copied());
        let stages = [2_313.056, 2_312.639, 2_312.5, 2_313.4, 2_312.2, 2_311.667];
        let expected = ("2,313 to 2,312".to_owned(), " in 5 stages".to_owned());
        assert_eq!(of(&stages), expected);
        assert_eq!(of(&[0.25, 0.5]), ("0.25 to 0.5".to_owned(), String::new()));
    }
}
