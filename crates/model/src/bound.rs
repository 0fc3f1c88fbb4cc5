//! The language of bounds on a load: `p99<10ms, errors<0.1%`.

use std::fmt;
use std::str::FromStr;

use gatebench_config::HumanDuration;
use thiserror::Error;

/// The end of the message about an unknown quantity.
const QUANTITIES: &str = "neither a time (mean, min, max or a percentile such as p99.9, \
     optionally after 'service.' or 'lateness.') nor one of rate, requests, errors, checks, dropped, 2xx, 3xx, 4xx and 5xx";

/// The number of samples that must lie beyond a percentile for it to be reported.
const SAMPLES_BEYOND: f64 = 10.0;

/// A bound on a quantity of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    pub(crate) text: String,
    pub quantity: Quantity,
    pub operator: Operator,
    /// The value: nanoseconds, responses per second, a count, or a share from 0 to 1.
    pub value: f64,
}

/// A quantity of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantity {
    /// A statistic of times, in nanoseconds.
    Time(Clock, Statistic),
    /// Responses per second.
    Rate,
    /// A number of requests or responses.
    Number(Counted),
    /// A share of requests or responses: for [`Counted::Dropped`], of the requests that were due;
    /// for [`Counted::Checks`] and [`Counted::Status`], of all responses; otherwise, of the
    /// requests that ended.
    Share(Counted),
}

/// A time that is measured for each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// From when the request was due until the end of the response.
    Response,
    /// From when the request was sent until the end of the response.
    Service,
    /// From when the request was due until it was sent.
    Lateness,
}

/// A statistic of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    Mean,
    Min,
    Max,
    /// A percentile, greater than 0 and less than 100.
    Percentile(f64),
}

/// The requests or responses that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Requests that ended.
    Requests,
    /// Requests without a correct response.
    Errors,
    /// Responses that passed all checks.
    Checks,
    /// Requests that were due but never sent.
    Dropped,
    /// Responses whose status begins with this digit, 2 to 5.
    Status(u8),
}

/// A relation between a quantity and a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Less,
    AtMost,
    More,
    AtLeast,
}

/// Bounds separated by commas.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds(pub Vec<Bound>);

/// Text that is not a list of bounds.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("column {column}: {reason}; write bounds like p99<10ms, errors<0.1%")]
pub struct BoundError {
    /// The position of the error, in characters from 1.
    pub column: usize,
    /// A description of the mistake, possibly with its remedy.
    pub reason: String,
}

/// Returns the number of samples needed to report a percentile: ten must lie beyond it.
pub fn samples_needed(percentile: f64) -> f64 {
    let needed = SAMPLES_BEYOND / (1.0 - percentile / 100.0);
    // A percentile such as 99.9 has no exact binary representation.
    (needed - 1e-9 * needed).ceil()
}

impl Bound {
    pub fn holds(&self, measured: f64) -> bool {
        match self.operator {
            Operator::Less => measured < self.value,
            Operator::AtMost => measured <= self.value,
            Operator::More => measured > self.value,
            Operator::AtLeast => measured >= self.value,
        }
    }

    pub fn is_about_checks(&self) -> bool {
        matches!(
            self.quantity,
            Quantity::Number(Counted::Checks) | Quantity::Share(Counted::Checks)
        )
    }
}

/// Writes the bound as the user wrote it, with white space removed.
impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Operator {
    /// The longest operators come first, so that `<=` is not read as `<`.
    const ALL: [Self; 4] = [Self::AtMost, Self::AtLeast, Self::Less, Self::More];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::More => ">",
            Self::AtLeast => ">=",
        }
    }

    pub fn is_upper(self) -> bool {
        matches!(self, Self::Less | Self::AtMost)
    }
}

impl FromStr for Bounds {
    type Err = BoundError;

    fn from_str(text: &str) -> Result<Self, BoundError> {
        let bounds = parts(text).map(|part| part.placed().map(|it| it.bound));
        bounds.collect::<Result<_, BoundError>>().map(Self)
    }
}

/// A bound and the positions of its parts in the text.
pub(crate) struct Placed<'a> {
    pub(crate) name: Part<'a>,
    pub(crate) value: Part<'a>,
    pub(crate) bound: Bound,
}

/// A part of a string, without surrounding white space.
pub(crate) struct Part<'a> {
    pub(crate) text: &'a str,
    column: usize,
}

pub(crate) fn parts(text: &str) -> impl Iterator<Item = Part<'_>> {
    let mut column = 1;
    text.split(',').map(move |text| {
        let part = Part { text, column };
        column += text.chars().count() + 1;
        part.trimmed()
    })
}

impl<'a> Part<'a> {
    fn trimmed(self) -> Self {
        let blanks = self.text.chars().take_while(|c| c.is_whitespace()).count();
        Self {
            text: self.text.trim(),
            column: self.column + blanks,
        }
    }

    /// Returns the part without its first `bytes` bytes, trimmed.
    fn behind(&self, bytes: usize) -> Self {
        let (before, text) = self.text.split_at(bytes);
        let column = self.column + before.chars().count();
        Self { text, column }.trimmed()
    }

    pub(crate) fn wrong(&self, reason: impl Into<String>) -> BoundError {
        BoundError {
            column: self.column,
            reason: reason.into(),
        }
    }

    pub(crate) fn placed(self) -> Result<Placed<'a>, BoundError> {
        let split = self.text.find(['<', '>']).and_then(|at| {
            let rest = &self.text[at..];
            let mut known = Operator::ALL.into_iter();
            Some((at, known.find(|it| rest.starts_with(it.as_str()))?))
        });
        let Some((at, operator)) = split else {
            return Err(self.wrong(match self.text {
                "" => "a bound is missing".to_owned(),
                text => format!("the bound '{text}' has no '<', '<=', '>' or '>='"),
            }));
        };
        let value = self.behind(at + operator.as_str().len());
        let name = Part {
            text: self.text[..at].trim_end(),
            column: self.column,
        };
        let (quantity, number) = bounded(&name, &value)?;
        let mut text = self.text.to_owned();
        text.retain(|c| !c.is_whitespace());
        let bound = Bound {
            text,
            quantity,
            operator,
            value: number,
        };
        Ok(Placed { name, value, bound })
    }
}

fn bounded(name: &Part<'_>, value: &Part<'_>) -> Result<(Quantity, f64), BoundError> {
    let counted = match name.text {
        "rate" => return Ok((Quantity::Rate, number(name, value, value.text)?)),
        "requests" => Counted::Requests,
        "errors" => Counted::Errors,
        "checks" => Counted::Checks,
        "dropped" => Counted::Dropped,
        "2xx" => Counted::Status(2),
        "3xx" => Counted::Status(3),
        "4xx" => Counted::Status(4),
        "5xx" => Counted::Status(5),
        _ => return time(name, value),
    };
    count(counted, name, value)
}

fn time(name: &Part<'_>, value: &Part<'_>) -> Result<(Quantity, f64), BoundError> {
    let (clock, word) = match name.text.split_once('.') {
        Some(("service", word)) => (Clock::Service, word),
        Some(("lateness", word)) => (Clock::Lateness, word),
        Some(("response", word)) => (Clock::Response, word),
        _ => (Clock::Response, name.text),
    };
    let statistic = statistic(word).ok_or_else(|| {
        let name_of = name.text;
        name.wrong(format!("the quantity '{name_of}' is {QUANTITIES}"))
    })?;
    let span: Result<HumanDuration, _> = value.text.parse();
    let span = span.map_err(|error| value.wrong(error.to_string()))?;
    Ok((Quantity::Time(clock, statistic), span.as_nanos() as f64))
}

fn statistic(word: &str) -> Option<Statistic> {
    Some(match word {
        "mean" | "avg" => Statistic::Mean,
        "min" => Statistic::Min,
        "max" => Statistic::Max,
        "median" | "med" => Statistic::Percentile(50.0),
        _ => {
            let digits = word.strip_prefix('p')?;
            let is_plain = digits.chars().all(|c| c.is_ascii_digit() || c == '.');
            let percentile: f64 = digits.parse().ok().filter(|_| is_plain)?;
            let is_inside = percentile > 0.0 && percentile < 100.0;
            is_inside.then_some(Statistic::Percentile(percentile))?
        }
    })
}

fn count(
    counted: Counted,
    name: &Part<'_>,
    value: &Part<'_>,
) -> Result<(Quantity, f64), BoundError> {
    let name_of = name.text;
    let Some(share) = value.text.strip_suffix('%') else {
        let whole = number(name, value, value.text)?;
        if whole.fract() == 0.0 {
            return Ok((Quantity::Number(counted), whole));
        }
        // A number below 1 is probably a share. Six decimals hide the error of the multiplication.
        let percent = if whole < 1.0 { whole * 100.0 } else { whole };
        let percent = (percent * 1e6).round() / 1e6;
        let can_be_share = counted != Counted::Requests && percent > 0.0 && percent <= 100.0;
        let remedy = match can_be_share {
            true => format!(": write a share as {percent}%"),
            false => String::new(),
        };
        let text = value.text;
        return Err(value.wrong(format!("the value '{text}' is not a whole number{remedy}")));
    };
    if counted == Counted::Requests {
        return Err(
            value.wrong("`requests` is a count, not a share: write a number, as in requests>1000")
        );
    }
    match number(name, value, share.trim_end())? {
        percent if percent <= 100.0 => Ok((Quantity::Share(counted), percent / 100.0)),
        _ => Err(value.wrong(format!("{name_of} cannot be more than 100%"))),
    }
}

fn number(name: &Part<'_>, value: &Part<'_>, digits: &str) -> Result<f64, BoundError> {
    let found = digits.parse::<f64>().ok();
    let found = found.filter(|number| number.is_finite() && *number >= 0.0);
    found.ok_or_else(|| {
        value.wrong(format!(
            "the value '{}' is not a bound for {}: write a number, as in rate>1000, errors<10 or errors<0.1%",
            value.text, name.text
        ))
    })
}
