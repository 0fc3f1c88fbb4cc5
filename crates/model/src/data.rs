//! Sources of the values in templates: rows, sequences, distributions.

use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A source of values as the load generator receives it, with the rows of its file if it has one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Rows of values.
    List(List),
    /// Whole numbers, each once.
    Sequence(Sequence),
    /// Whole numbers, all equally likely.
    Uniform(Uniform),
    /// Whole numbers around a mean.
    Normal(Normal),
    /// Whole numbers from 1. With an exponent above 0, smaller numbers are more frequent.
    Zipf(Zipf),
}

/// A source of values as it is written in scenario files.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", rename = "Source")]
#[expect(
    dead_code,
    reason = "only its schema is used: files become lists when they are read"
)]
pub(crate) enum WrittenSource {
    /// A file of comma-separated values (RFC 4180) whose first line names the columns.
    Csv(File),
    /// A file with a JSON object on each line. The keys of the first object are the columns.
    JsonLines(File),
    /// Values or rows in the scenario itself.
    List(List),
    /// Whole numbers, each once: `from`, `from + step`, and so on.
    Sequence(Sequence),
    /// Whole numbers from `min` to `max`, all equally likely.
    Uniform(Uniform),
    /// Whole numbers, normally distributed.
    Normal(Normal),
    /// Whole numbers from 1 to `items`; the probability of k is proportional to k^-`exponent`.
    Zipf(Zipf),
}

/// A file of rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    /// The path, relative to the scenario's file.
    pub file: String,
    /// How the row for each request is chosen.
    #[serde(default)]
    pub pick: Pick,
    /// With `pick: zipf`, the strength of the preference for the first rows [default: 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 10.0))]
    pub exponent: Option<f64>,
}

/// Rows, and how they are chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// The names of the columns; without columns, every item is one value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// The values; with `columns`, a list of values for each row.
    pub values: Rows,
    /// How the row for each request is chosen.
    #[serde(default)]
    pub pick: Pick,
    /// With `pick: zipf`, the strength of the preference for the first rows [default: 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 10.0))]
    pub exponent: Option<f64>,
}

/// How the row for each request is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// One after another, starting again after the last; each worker has its own rows, unless there
    /// are more workers than rows.
    #[default]
    InTurn,
    /// All rows are equally likely.
    Uniform,
    /// Rows near the middle are the most likely: normally distributed, with a standard deviation of
    /// one sixth of their number.
    Normal,
    /// The first rows are the most likely (Zipf's law).
    Zipf,
}

/// Settings of `sequence`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sequence {
    /// The first number.
    #[serde(default)]
    pub from: i64,
    /// The difference between two successive numbers.
    #[serde(default = "one")]
    pub step: i64,
}

fn one() -> i64 {
    1
}

/// Settings of `uniform`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Uniform {
    /// The smallest number.
    pub min: i64,
    /// The largest number.
    pub max: i64,
}

/// Settings of `normal`. Drawn numbers are rounded to whole numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Normal {
    #[schemars(range(min = -1e15, max = 1e15))]
    pub mean: f64,
    #[schemars(range(min = 0.0, max = 1e15))]
    pub standard_deviation: f64,
}

/// Settings of `zipf`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Zipf {
    /// The largest number.
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64))]
    pub items: u64,
    /// The exponent of the law; 0 makes all numbers equally likely.
    #[serde(default = "crate::request::one")]
    #[schemars(range(min = 0.0, max = 10.0))]
    pub exponent: f64,
}

/// A table of strings, stored as one text that clones share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    text: Arc<String>,
    /// The end of each value in `text`, row by row.
    ends: Arc<Vec<usize>>,
    /// The number of values in a row; 0 if each item is a single value.
    width: usize,
}

impl Rows {
    /// An empty table with this many values in each row.
    pub fn new(width: usize) -> Self {
        Self {
            width,
            ..Self::default()
        }
    }

    /// Appends a value to the last row or, if that row is complete, begins a new row with the
    /// value.
    pub fn push(&mut self, value: &str) {
        let text = Arc::make_mut(&mut self.text);
        text.push_str(value);
        Arc::make_mut(&mut self.ends).push(text.len());
    }

    /// The number of complete rows.
    pub fn len(&self) -> usize {
        self.ends.len() / self.width.max(1)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the value at a row and a column, both from 0.
    pub fn get(&self, row: usize, column: usize) -> Option<&str> {
        let width = self.width.max(1);
        if column >= width {
            return None;
        }
        let index = row.checked_mul(width)?.checked_add(column)?;
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.text.get(start..end)
    }
}

impl<'de> Deserialize<'de> for Rows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = Vec::<Value>::deserialize(deserializer)?;
        let first = items.first().and_then(Value::as_array);
        let width = first.map_or(0, Vec::len);
        let mut rows = Self::new(width);
        for item in &items {
            let cells = match item {
                Value::Array(row) if row.len() == width && width > 0 => row.as_slice(),
                value if width == 0 => std::slice::from_ref(value),
                _ => return Err(serde::de::Error::custom("rows differ in length")),
            };
            for cell in cells {
                match cell {
                    Value::String(text) => rows.push(text),
                    Value::Bool(_) | Value::Number(_) => rows.push(&cell.to_string()),
                    _ => return Err(serde::de::Error::custom("a value is not a scalar")),
                }
            }
        }
        Ok(rows)
    }
}

impl Serialize for Rows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut items = serializer.serialize_seq(Some(self.len()))?;
        for row in 0..self.len() {
            let value = |column| self.get(row, column).unwrap_or_default();
            if self.width == 0 {
                items.serialize_element(value(0))?;
            } else {
                items.serialize_element(&(0..self.width).map(value).collect::<Vec<_>>())?;
            }
        }
        items.end()
    }
}

impl JsonSchema for Rows {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Rows".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let scalar = ["string", "number", "boolean"];
        json_schema!({
            "type": "array",
            "minItems": 1,
            "items": {
                "type": ["string", "number", "boolean", "array"],
                "items": {"type": scalar},
                "description": "A value, or the values of a row"
            },
            "description": "Values, or rows of values"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_json_with_and_without_columns() {
        for text in [r#"["a","","b c"]"#, r#"[["1","x"],["2",""]]"#] {
            let rows: Rows = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&rows).unwrap(), text);
        }
        let rows: Rows = serde_json::from_str(r#"[[1, 2.5], [true, "é"]]"#).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows.get(0, 1), Some("2.5"));
        assert_eq!(rows.get(1, 0), Some("true"));
        assert_eq!(rows.get(1, 1), Some("é"));
        assert_eq!((rows.get(2, 0), rows.get(0, 2)), (None, None));
        assert!(serde_json::from_str::<Rows>(r#"[[1], [1, 2]]"#).is_err());
    }
}
