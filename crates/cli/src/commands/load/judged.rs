//! Judges a load by its bounds.

use gatebench_engine::Class;
use gatebench_model::Bound;
use gatebench_model::bound::{Counted, Quantity, Statistic, samples_needed};
use gatebench_report::Unit;
use gatebench_report::format::{grouped, quantity, three_figures};

use super::figures::{Figures, Times};

/// A bound and the verdict on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The bound as written.
    pub text: String,
    /// The measured value: nanoseconds, requests per second, a number, or a share from 0 to 1.
    pub value: Option<f64>,
    /// The value as text, or the reason why there is none.
    pub words: String,
    pub held: bool,
}

impl Judged {
    /// A bound on a quantity that was not measured is not met, whether the bound is a minimum or a
    /// maximum.
    pub fn of(bound: &Bound, figures: &Figures<'_>, open: bool) -> Self {
        let (value, words) = match measure(bound.quantity, figures, open) {
            Ok(value) => (Some(value), in_words(bound.quantity, value)),
            Err(reason) => (None, reason),
        };
        Self {
            text: bound.to_string(),
            held: value.is_some_and(|value| bound.holds(value)),
            value,
            words,
        }
    }
}

fn measure(quantity: Quantity, figures: &Figures<'_>, open: bool) -> Result<f64, String> {
    if figures.ended() == 0 {
        return Err("nothing was measured".to_owned());
    }
    match quantity {
        Quantity::Time(clock, statistic) => time(statistic, figures.times(clock)),
        Quantity::Rate => Ok(figures.rate_per_second()),
        Quantity::Number(Counted::Dropped) | Quantity::Share(Counted::Dropped) if !open => {
            Err("a closed load has no arrivals; use --rate".into())
        }
        Quantity::Number(what) | Quantity::Share(what) => {
            let (count, all) = counted(what, figures);
            match quantity {
                _ if all == 0 && what == Counted::Dropped => Err("nothing was measured".into()),
                _ if all == 0 => Err("no response arrived".into()),
                Quantity::Share(_) => Ok(count as f64 / all as f64),
                _ => Ok(count as f64),
            }
        }
    }
}

fn in_words(of: Quantity, value: f64) -> String {
    match of {
        Quantity::Time(..) => quantity(value, Unit::Nanoseconds),
        Quantity::Rate => quantity(value, Unit::RequestsPerSecond),
        Quantity::Number(_) => grouped(value),
        Quantity::Share(_) => percent(value),
    }
}

fn time(statistic: Statistic, times: &Times) -> Result<f64, String> {
    let found = match statistic {
        Statistic::Mean => times.mean_ns(),
        Statistic::Min => times.min_ns().map(|ns| ns as f64),
        Statistic::Max => times.max_ns().map(|ns| ns as f64),
        Statistic::Percentile(percentile) => times.percentile_ns(percentile).map(|ns| ns as f64),
    };
    found.ok_or_else(|| match statistic {
        Statistic::Percentile(percentile) => format!(
            "p{percentile} needs {} measured times, but there are {}",
            grouped(samples_needed(percentile)),
            grouped(times.count() as f64)
        ),
        _ => "nothing was measured".into(),
    })
}

/// Returns a count and the total that it is part of.
fn counted(what: Counted, figures: &Figures<'_>) -> (u64, u64) {
    let counts = figures.counts();
    match what {
        Counted::Requests => (figures.ended(), figures.ended()),
        Counted::Errors => (figures.failed(), figures.ended()),
        Counted::Checks => (
            counts.completed - counts.responses_failing_checks,
            counts.completed,
        ),
        Counted::Dropped => (counts.dropped, counts.intended),
        Counted::Status(digit) => {
            let class = Class::of(u16::from(digit) * 100);
            (figures.responses(class), counts.completed)
        }
    }
}

/// Formats a share: `0.012 %`, `50.0 %`, `99.910 %`, `100 %`. A share is never rounded to 0 % or
/// 100 %.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let text = match percent {
        100.0 => "100".into(),
        nearly if nearly > 99.0 => format!("{:.3}", nearly.min(99.999)),
        some if some > 0.0 && some < 0.001 => "<0.001".into(),
        some => three_figures(some),
    };
    format!("{text} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_never_rounded_to_all_or_nothing() {
        let words = [1.0, 0.999_999_9, 0.9991, 0.5, 0.001, 0.000_001, 0.0].map(percent);
        let expected = "100 % 99.999 % 99.910 % 50.0 % 0.100 % <0.001 % 0 %";
        assert_eq!(words.join(" "), expected);
    }
}
