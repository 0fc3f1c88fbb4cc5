//! The objective that a sustained rate must meet: `p99<10ms, errors<0.1%`.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::bound::{
    Bound, BoundError, Clock, Counted, Operator, Placed, Quantity, Statistic, parts, samples_needed,
};

/// The highest percentile of an objective. A higher percentile needs more than a million samples to
/// have ten beyond it.
const PERCENTILE_MAX: f64 = 99.999;

/// A service level objective: upper bounds on response times and on the share of failed requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Objective {
    /// The bounds on percentiles of the response time, in ascending order; at least one.
    pub percentiles: Vec<(f64, Bound)>,
    /// The bound on the share of requests that are not sent or get no correct response.
    pub errors: Bound,
}

impl Objective {
    /// Returns the number of requests needed to report the highest percentile.
    pub fn samples_needed(&self) -> f64 {
        samples_needed(self.percentiles.last().map_or(0.0, |(highest, _)| *highest))
    }
}

impl FromStr for Objective {
    type Err = BoundError;

    fn from_str(text: &str) -> Result<Self, BoundError> {
        let mut percentiles: Vec<(f64, Bound)> = Vec::new();
        let mut errors = None;
        for part in parts(text) {
            let placed = part.placed()?;
            let percentile = percentile_of(&placed)?;
            let Placed { name, bound, .. } = placed;
            let twice = match percentile {
                Some(percentile) => percentiles.iter().any(|(known, _)| *known == percentile),
                None => errors.is_some(),
            };
            if twice {
                let verb = if percentile.is_some() { "is" } else { "are" };
                return Err(name.wrong(format!("{} {verb} bounded twice", name.text)));
            }
            match percentile {
                Some(percentile) => percentiles.push((percentile, bound)),
                None => errors = Some(bound),
            }
        }
        if percentiles.is_empty() {
            return Err(BoundError {
                column: 1,
                reason: "no response time is bounded, so queues may grow without limit".into(),
            });
        }
        percentiles.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        Ok(Self {
            percentiles,
            errors: errors.unwrap_or_else(one_in_a_thousand),
        })
    }
}

/// The default bound on the share of failed requests.
fn one_in_a_thousand() -> Bound {
    Bound {
        text: "errors<0.1%".into(),
        quantity: Quantity::Share(Counted::Errors),
        operator: Operator::Less,
        value: 0.001,
    }
}

/// Returns the bounded percentile of the response time, or `None` for a bound on the share of
/// errors. A search supports no other bounds.
fn percentile_of(placed: &Placed<'_>) -> Result<Option<f64>, BoundError> {
    let Placed { name, value, bound } = placed;
    if !bound.operator.is_upper() {
        return Err(name.wrong(format!("the bound '{bound}' has no '<' or '<='")));
    }
    let is_strict = bound.operator == Operator::Less;
    match bound.quantity {
        Quantity::Time(Clock::Response, Statistic::Percentile(percentile))
            if percentile <= PERCENTILE_MAX =>
        {
            match bound.value > 0.0 {
                true => Ok(Some(percentile)),
                false => Err(value.wrong("a bound on a time must be above 0")),
            }
        }
        Quantity::Share(Counted::Errors) => match bound.value > 0.0 || !is_strict {
            true => Ok(None),
            false => Err(value.wrong("a bound on the share of errors must be above 0%")),
        },
        Quantity::Number(Counted::Errors) => Err(value.wrong(format!(
            "the value '{}' is not a share of requests, such as 0.1%",
            value.text
        ))),
        _ => Err(name.wrong(format!(
            "the quantity '{}' is neither a percentile of the response time (up to p99.999) nor errors",
            name.text
        ))),
    }
}

/// Writes the bounds, as in `p99<10ms, errors<0.1%`.
impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (_, bound) in &self.percentiles {
            write!(f, "{bound}, ")?;
        }
        write!(f, "{}", self.errors)
    }
}

impl TryFrom<String> for Objective {
    type Error = BoundError;

    fn try_from(text: String) -> Result<Self, BoundError> {
        text.parse()
    }
}

impl From<Objective> for String {
    fn from(objective: Objective) -> Self {
        objective.to_string()
    }
}

impl JsonSchema for Objective {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Objective".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "description": "Bounds, as in p99<10ms, errors<0.1%."})
    }
}
