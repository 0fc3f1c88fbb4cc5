//! What a rate must hold to count: `p99<10ms, errors<0.1%`.

use std::fmt;
use std::str::FromStr;

use gatebench_config::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Share of requests that may fail where an objective does not say: one in a thousand.
const ERROR_SHARE_DEFAULT: f64 = 0.001;

/// Samples that must lie beyond a percentile for it to be told.
const SAMPLES_BEYOND: f64 = 10.0;

/// A service level objective: bounds of response times, and of the share of requests that fail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Objective {
    /// The bounds of response times, by rising percentile; never none.
    pub bounds: Vec<Bound>,
    /// The share of requests that stays below this: without an answer, with a wrong one, or not sent at all. In
    /// 0 to 1.
    pub error_share: f64,
}

/// A percentile of the response time stays below this.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// In 0 to 100, both excluded.
    pub percentile: f64,
    /// What it stays below.
    pub below: Span,
}

/// Text that is no objective.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("column {column}: {reason}; write bounds like p99<10ms, errors<0.1%")]
pub struct ObjectiveError {
    /// Where the mistake is, in characters from 1.
    pub column: usize,
    /// What is wrong.
    pub reason: String,
}

impl Objective {
    /// Requests that a measurement needs for its highest percentile to be told.
    pub fn samples_needed(&self) -> f64 {
        let highest = self.bounds.last().map_or(0.0, |bound| bound.percentile);
        SAMPLES_BEYOND / (1.0 - highest / 100.0)
    }
}

/// A clause, and where it stands in the text.
struct Clause<'a> {
    text: &'a str,
    column: usize,
}

impl Clause<'_> {
    fn wrong(&self, reason: impl Into<String>) -> ObjectiveError {
        ObjectiveError {
            column: self.column,
            reason: reason.into(),
        }
    }

    /// What stands left and right of `<`.
    fn sides(&self) -> Result<(&str, Clause<'_>), ObjectiveError> {
        let Some((left, right)) = self.text.split_once('<') else {
            let found = if self.text.is_empty() {
                "a bound is missing".to_owned()
            } else {
                format!("'{}' has no '<'", self.text)
            };
            return Err(self.wrong(found));
        };
        let before = self.text.len() - right.trim_start().len();
        let right = Clause {
            text: right.trim(),
            column: self.column + self.text[..before].chars().count(),
        };
        if right.text.starts_with('=') {
            return Err(right
                .wrong("'<=' is not known, since a bound itself is never held to the nanosecond"));
        }
        Ok((left.trim_end(), right))
    }
}

impl FromStr for Objective {
    type Err = ObjectiveError;

    fn from_str(text: &str) -> Result<Self, ObjectiveError> {
        let mut bounds: Vec<Bound> = Vec::new();
        let mut error_share = None;
        for clause in clauses(text) {
            let (name, value) = clause.sides()?;
            if name == "errors" {
                let share = error_share_of(&value)?;
                if error_share.replace(share).is_some() {
                    return Err(clause.wrong("errors are bounded twice"));
                }
                continue;
            }
            let percentile = percentile_of(name).ok_or_else(|| {
                clause.wrong(format!(
                    "'{name}' is neither a percentile (p50 to p99.999) nor errors"
                ))
            })?;
            let below: Span = value
                .text
                .parse()
                .map_err(|error: String| value.wrong(error))?;
            if below == Span::default() {
                return Err(value.wrong("nothing is faster than 0"));
            }
            if bounds.iter().any(|known| known.percentile == percentile) {
                return Err(clause.wrong(format!("{name} is bounded twice")));
            }
            bounds.push(Bound { percentile, below });
        }
        if bounds.is_empty() {
            return Err(ObjectiveError {
                column: 1,
                reason: "no response time is bounded, and without that every queue may grow".into(),
            });
        }
        bounds.sort_by(|a, b| a.percentile.total_cmp(&b.percentile));
        Ok(Self {
            bounds,
            error_share: error_share.unwrap_or(ERROR_SHARE_DEFAULT),
        })
    }
}

/// The parts between commas, without the blanks around them.
fn clauses(text: &str) -> impl Iterator<Item = Clause<'_>> {
    let mut column = 1;
    text.split(',').map(move |part| {
        let blanks = part.chars().count() - part.trim_start().chars().count();
        let clause = Clause {
            text: part.trim(),
            column: column + blanks,
        };
        column += part.chars().count() + 1;
        clause
    })
}

fn percentile_of(name: &str) -> Option<f64> {
    let digits = name.strip_prefix('p')?;
    let is_plain = digits.chars().all(|it| it.is_ascii_digit() || it == '.');
    let percentile: f64 = digits.parse().ok().filter(|_| is_plain)?;
    // Beyond, no run is long enough for ten samples.
    (percentile > 0.0 && percentile <= 99.999).then_some(percentile)
}

fn error_share_of(value: &Clause<'_>) -> Result<f64, ObjectiveError> {
    let wrong = || value.wrong(format!("'{}' is no share of requests, as 0.1%", value.text));
    let number = value.text.strip_suffix('%').ok_or_else(wrong)?.trim_end();
    let is_plain = number.chars().all(|it| it.is_ascii_digit() || it == '.');
    let percent: f64 = number.parse().ok().filter(|_| is_plain).ok_or_else(wrong)?;
    if percent <= 0.0 || percent > 100.0 {
        return Err(value.wrong("a share of errors lies above 0% and not above 100%"));
    }
    Ok(percent / 100.0)
}

/// `p99<10ms, errors<0.1%`.
impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for bound in &self.bounds {
            write!(f, "p{}<{}, ", bound.percentile, bound.below)?;
        }
        // A share in per cent is not always a short number; ten digits are more than anybody writes.
        let percent = (self.error_share * 1e12).round() / 1e10;
        write!(f, "errors<{percent}%")
    }
}

impl TryFrom<String> for Objective {
    type Error = ObjectiveError;

    fn try_from(text: String) -> Result<Self, ObjectiveError> {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn objectives_are_read_as_people_write_them() {
        let told = |text: &str| text.parse::<Objective>().unwrap().to_string();
        assert_eq!(told("p99<10ms, errors<0.1%"), "p99<10ms, errors<0.1%");
        assert_eq!(
            told("p99 < 10ms"),
            "p99<10ms, errors<0.1%",
            "one in a thousand is meant"
        );
        assert_eq!(
            told("errors<1 %,p99.9<1s,p50<250us"),
            "p50<250us, p99.9<1s, errors<1%"
        );
        let highest = |text: &str| text.parse::<Objective>().unwrap().samples_needed().round();
        assert_eq!(highest("p50<1ms, p99.9<1s"), 10_000.0);
    }

    #[test]
    fn mistakes_have_their_place_and_what_to_write() {
        for (text, column, reason) in [
            ("", 1, "a bound is missing"),
            ("p99<10ms,", 10, "a bound is missing"),
            ("p99=10ms", 1, "has no '<'"),
            ("p99<10ms, p95", 11, "'p95' has no '<'"),
            ("p99<10", 5, "'10' is not a duration"),
            ("p99<10ms,  mean<1ms", 12, "'mean' is neither"),
            ("p100<1s", 1, "'p100' is neither"),
            ("p99< =1s", 6, "'<=' is not known"),
            ("p99<0s", 5, "faster than 0"),
            ("p99<1s, p99<2s", 9, "p99 is bounded twice"),
            ("p99<1s, errors<0.1", 16, "'0.1' is no share"),
            ("p99<1s, errors<0%", 16, "above 0%"),
            (
                "p99<1s, errors<1%, errors<2%",
                20,
                "errors are bounded twice",
            ),
            ("errors<1%", 1, "no response time is bounded"),
        ] {
            let error = text.parse::<Objective>().unwrap_err();
            assert_eq!(error.column, column, "{text}: {error}");
            let said = error.to_string();
            assert!(said.contains(reason), "{text}: {said}");
            assert!(
                said.ends_with("write bounds like p99<10ms, errors<0.1%"),
                "{said}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_at_a_place_in_it(text in ".{0,40}") {
            if let Err(error) = text.parse::<Objective>() {
                prop_assert!((1..=text.chars().count() + 1).contains(&error.column), "{error}");
            }
        }

        #[test]
        fn what_is_written_is_read_as_the_same(
            bounds in prop::collection::btree_map(1_u32..100_000, 1_u64..10_000_000, 1..4), errors in 1_u32..100_000,
        ) {
            let bounds = bounds.into_iter().map(|(thousandths, micros)| Bound {
                percentile: f64::from(thousandths) / 1_000.0,
                below: Span(std::time::Duration::from_micros(micros)),
            });
            let objective = Objective {
                bounds: bounds.collect(),
                error_share: f64::from(errors) / 100_000.0,
            };
            let again: Objective = objective.to_string().parse().unwrap();
            prop_assert_eq!(&again.bounds, &objective.bounds);
            prop_assert!((again.error_share - objective.error_share).abs() < 1e-12);
            let json = serde_json::to_string(&objective).unwrap();
            prop_assert_eq!(serde_json::from_str::<Objective>(&json).unwrap().to_string(), objective.to_string());
        }
    }
}
