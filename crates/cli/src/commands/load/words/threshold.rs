//! `--threshold`: what a load must keep, and whether it did.

use std::fmt;
use std::str::FromStr;

use gatebench_analysis::findings::Unit;
use gatebench_analysis::words::{grouped, quantity, three_figures};
use gatebench_engine::{Class, Metric};
use gatebench_model::Span;

use super::super::figures::{Figures, Times};

/// How a threshold is written.
const FORMS: &str = "write FIGURE<BOUND or FIGURE>BOUND, as in 'p99<10ms', 'errors<0.1%', 'rate>1000' or 'checks>99.9%'";
const FIGURES: &str = "mean, min, max or p50 to p99.999 (alone, or after service. or lateness.), rate, requests, errors, checks, dropped, 2xx, 3xx, 4xx or 5xx";

/// A figure and its bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    text: String,
    figure: Figure,
    relation: Relation,
    bound: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Figure {
    /// Nanoseconds.
    Time(Metric, Statistic),
    /// Answers per second.
    Rate,
    Count(What),
    /// As a fraction.
    Share(What),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Statistic {
    Mean,
    Min,
    Max,
    Percentile(f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Requests,
    Errors,
    Checks,
    Dropped,
    Answers(Class),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Relation {
    Less,
    AtMost,
    More,
    AtLeast,
}

/// The longest first, so that `<=` is not read as `<`.
const RELATIONS: [(&str, Relation); 4] = [
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("<", Relation::Less),
    (">", Relation::More),
];

/// A threshold after the load.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// As it was written.
    pub text: String,
    /// What was measured: nanoseconds, requests per second, a number, or a share from 0 to 1.
    pub value: Option<f64>,
    /// The same in words, or why there is none.
    pub words: String,
    /// Whether it was kept.
    pub held: bool,
}

impl Threshold {
    /// Whether it is about checks, of which there must then be some.
    pub fn is_about_checks(&self) -> bool {
        matches!(
            self.figure,
            Figure::Count(What::Checks) | Figure::Share(What::Checks)
        )
    }

    /// Judges a load. What nothing was measured of is not kept, whichever way the bound points.
    pub fn judge(&self, figures: &Figures<'_>, open: bool) -> Judged {
        let (value, words) = match self.figure.measure(figures, open) {
            Ok(value) => (Some(value), self.figure.in_words(value)),
            Err(reason) => (None, reason),
        };
        Judged {
            text: self.text.clone(),
            held: value.is_some_and(|value| self.relation.holds(value, self.bound)),
            value,
            words,
        }
    }
}

impl Relation {
    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Less => value < bound,
            Self::AtMost => value <= bound,
            Self::More => value > bound,
            Self::AtLeast => value >= bound,
        }
    }
}

impl Figure {
    fn measure(self, figures: &Figures<'_>, open: bool) -> Result<f64, String> {
        let nothing = || "nothing was measured".to_owned();
        if figures.ended() == 0 {
            return Err(nothing());
        }
        match self {
            Self::Time(metric, statistic) => {
                let times = match metric {
                    Metric::Service => &figures.service,
                    Metric::Lateness => &figures.lateness,
                    _ => &figures.response,
                };
                statistic.of(times)
            }
            Self::Rate => Ok(figures.rate_per_second()),
            Self::Count(What::Dropped) | Self::Share(What::Dropped) if !open => {
                Err("a closed load has no arrivals; give --rate".into())
            }
            Self::Count(what) | Self::Share(what) => {
                match (what.count(figures) as f64, what.all(figures)) {
                    (_, 0) => Err(what.without_any().into()),
                    (count, all) if matches!(self, Self::Share(_)) => Ok(count / all as f64),
                    (count, _) => Ok(count),
                }
            }
        }
    }

    fn in_words(self, value: f64) -> String {
        match self {
            Self::Time(..) => quantity(value, Unit::Nanoseconds),
            Self::Rate => quantity(value, Unit::RequestsPerSecond),
            Self::Count(_) => grouped(value),
            Self::Share(_) => percent(value),
        }
    }
}

impl Statistic {
    fn of(self, times: &Times) -> Result<f64, String> {
        let found = match self {
            Self::Mean => times.mean_ns(),
            Self::Min => times.min_ns().map(|ns| ns as f64),
            Self::Max => times.max_ns().map(|ns| ns as f64),
            Self::Percentile(percentile) => times.percentile_ns(percentile).map(|ns| ns as f64),
        };
        found.ok_or_else(|| match self {
            Self::Percentile(percentile) => format!(
                "p{percentile} needs {} requests, and there are {}",
                grouped(samples_needed(percentile)),
                grouped(times.count() as f64)
            ),
            _ => "nothing was measured".into(),
        })
    }
}

/// Requests of which ten lie beyond a percentile.
pub fn samples_needed(percentile: f64) -> f64 {
    let beyond = gatebench_stats::percentile::SAMPLES_BEYOND as f64 / (1.0 - percentile / 100.0);
    // 99.9 has no exact binary form.
    (beyond - 1e-9 * beyond).ceil()
}

impl What {
    fn count(self, figures: &Figures<'_>) -> u64 {
        let counts = figures.counts();
        match self {
            Self::Requests => figures.ended(),
            Self::Errors => figures.failed(),
            Self::Checks => counts.completed - counts.answers_failing_checks,
            Self::Dropped => counts.dropped,
            Self::Answers(class) => figures.answers(class),
        }
    }

    /// Why there is no number, where there is nothing that it could be of.
    fn without_any(self) -> &'static str {
        match self {
            Self::Checks | Self::Answers(_) => "nothing was answered",
            Self::Requests | Self::Errors | Self::Dropped => "nothing was measured",
        }
    }

    /// What it is a number or a share of.
    fn all(self, figures: &Figures<'_>) -> u64 {
        match self {
            Self::Requests | Self::Errors => figures.ended(),
            Self::Checks | Self::Answers(_) => figures.counts().completed,
            Self::Dropped => figures.counts().intended,
        }
    }
}

/// `0.0123 %`, `99.9 %`, `100 %`: never rounded to all or to nothing.
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

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (at, sign, relation) = RELATIONS
            .iter()
            .filter_map(|(sign, relation)| Some((text.find(sign)?, *sign, *relation)))
            .min_by_key(|(at, sign, _)| (*at, usize::MAX - sign.len()))
            .ok_or_else(|| format!("'{text}' is no threshold: {FORMS}"))?;
        let (name, bound) = (text[..at].trim(), text[at + sign.len()..].trim());
        let (figure, bound) = bounded(name, bound)?;
        Ok(Self {
            text: text.trim().into(),
            figure,
            relation,
            bound,
        })
    }
}

fn bounded(name: &str, bound: &str) -> Result<(Figure, f64), String> {
    if name == "rate" {
        return Ok((Figure::Rate, number(name, bound)?));
    }
    if let Some(what) = what(name) {
        return counted(name, what, bound);
    }
    let (metric, statistic) = match name.split_once('.') {
        Some(("service", statistic)) => (Metric::Service, statistic),
        Some(("lateness", statistic)) => (Metric::Lateness, statistic),
        Some(("response", statistic)) => (Metric::Response, statistic),
        _ => (Metric::Response, name),
    };
    let statistic = statistic_of(statistic)
        .ok_or_else(|| format!("'{name}' is no figure of a load: write {FIGURES}"))?;
    let span: Span = bound
        .parse()
        .map_err(|error| format!("{name} is a time, and {error}"))?;
    Ok((Figure::Time(metric, statistic), span.as_nanos() as f64))
}

fn counted(name: &str, what: What, bound: &str) -> Result<(Figure, f64), String> {
    match bound.strip_suffix('%') {
        Some(_) if what == What::Requests => {
            Err("requests are a number, not a share: write requests>1000".into())
        }
        Some(share) => match number(name, share.trim_end())? {
            percent if percent <= 100.0 => Ok((Figure::Share(what), percent / 100.0)),
            _ => Err(format!("{name} cannot be more than 100%")),
        },
        None => match number(name, bound)? {
            whole if whole.fract() == 0.0 => Ok((Figure::Count(what), whole)),
            share => Err(format!(
                "{share} {name} is no whole number: write a share as {name}<{}%",
                share * 100.0
            )),
        },
    }
}

fn number(name: &str, bound: &str) -> Result<f64, String> {
    let found = bound.parse::<f64>().ok();
    found
        .filter(|number| number.is_finite() && *number >= 0.0)
        .ok_or_else(|| format!("'{bound}' is no bound for {name}: write a number, as in rate>1000, errors<10 or errors<0.1%"))
}

fn what(name: &str) -> Option<What> {
    Some(match name {
        "requests" => What::Requests,
        "errors" => What::Errors,
        "checks" => What::Checks,
        "dropped" => What::Dropped,
        "2xx" => What::Answers(Class::Success),
        "3xx" => What::Answers(Class::Redirection),
        "4xx" => What::Answers(Class::ClientError),
        "5xx" => What::Answers(Class::ServerError),
        _ => return None,
    })
}

fn statistic_of(word: &str) -> Option<Statistic> {
    match word {
        "mean" | "avg" => Some(Statistic::Mean),
        "min" => Some(Statistic::Min),
        "max" => Some(Statistic::Max),
        "median" | "med" => Some(Statistic::Percentile(50.0)),
        _ => {
            let percentile = word.strip_prefix('p')?;
            let plain = percentile.chars().all(|c| c.is_ascii_digit() || c == '.');
            let percentile: f64 = percentile.parse().ok().filter(|_| plain)?;
            (percentile > 0.0 && percentile < 100.0).then_some(Statistic::Percentile(percentile))
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> (Figure, Relation, f64) {
        let threshold: Threshold = text.parse().unwrap();
        (threshold.figure, threshold.relation, threshold.bound)
    }

    #[test]
    fn every_figure_is_read() {
        use Relation::{AtLeast, AtMost, Less, More};
        let response = |statistic| Figure::Time(Metric::Response, statistic);
        assert_eq!(
            read("p99<10ms"),
            (response(Statistic::Percentile(99.0)), Less, 1e7)
        );
        assert_eq!(
            read(" p99.9 <= 1.5s "),
            (response(Statistic::Percentile(99.9)), AtMost, 1.5e9)
        );
        assert_eq!(read("avg<250us"), (response(Statistic::Mean), Less, 250e3));
        assert_eq!(
            read("med<1s"),
            (response(Statistic::Percentile(50.0)), Less, 1e9)
        );
        let service = Figure::Time(Metric::Service, Statistic::Max);
        assert_eq!(read("service.max<1s"), (service, Less, 1e9));
        let lateness = Figure::Time(Metric::Lateness, Statistic::Percentile(99.0));
        assert_eq!(read("lateness.p99<1ms"), (lateness, Less, 1e6));
        assert_eq!(read("rate>1000"), (Figure::Rate, More, 1000.0));
        assert_eq!(
            read("errors<0.1%"),
            (Figure::Share(What::Errors), Less, 0.001)
        );
        assert_eq!(read("errors<10"), (Figure::Count(What::Errors), Less, 10.0));
        assert_eq!(read("checks>=99.9 %").0, Figure::Share(What::Checks));
        assert_eq!(
            read("5xx<1"),
            (Figure::Count(What::Answers(Class::ServerError)), Less, 1.0)
        );
        assert_eq!(
            read("requests>=100"),
            (Figure::Count(What::Requests), AtLeast, 100.0)
        );
    }

    #[test]
    fn what_is_no_threshold_is_said() {
        for (text, said) in [
            ("", "p99<10ms"),
            ("p99=10ms", "is no threshold"),
            ("p99<10", "is a time"),
            ("p100<1s", "is no figure"),
            ("p0<1s", "is no figure"),
            ("p<1s", "is no figure"),
            ("latency<1s", "'latency' is no figure"),
            ("rate>fast", "'fast' is no bound for rate"),
            ("errors<0.01", "errors<1%"),
            ("errors<200%", "more than 100%"),
            ("requests>10%", "not a share"),
            ("errors<-1", "is no bound"),
            ("rate>inf", "is no bound"),
        ] {
            let error = text.parse::<Threshold>().unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn a_share_is_never_rounded_to_all_or_nothing() {
        let words = [1.0, 0.999_999_9, 0.9991, 0.5, 0.001, 0.000_001, 0.0].map(percent);
        assert_eq!(
            words,
            [
                "100 %", "99.999 %", "99.910 %", "50.0 %", "0.100 %", "<0.001 %", "0 %"
            ]
        );
    }

    #[test]
    fn a_percentile_needs_ten_beyond_it() {
        let needed = [50.0, 99.0, 99.9, 99.99, 99.999].map(samples_needed);
        assert_eq!(needed, [20.0, 1_000.0, 10_000.0, 100_000.0, 1_000_000.0]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,20}") {
            let _ = text.parse::<Threshold>();
        }

        #[test]
        fn what_is_read_is_kept_as_it_was_written(
            percentile in 1_u32..100,
            sign in "<=?|>=?",
            bound in 0_u32..100_000,
        ) {
            let text = format!("p{percentile}{sign}{bound}us");
            let threshold: Threshold = text.parse().unwrap();
            prop_assert_eq!(threshold.to_string(), text);
            prop_assert_eq!(threshold.bound, f64::from(bound) * 1e3);
        }
    }
}
