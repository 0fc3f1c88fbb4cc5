//! Rows out of files: comma-separated values and JSON lines.

use crate::data::{List, Pick, Rows};

/// Columns and rows.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Rows,
}

/// What is wrong with a file of rows.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct RowsError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

impl List {
    /// The rows of comma-separated values (RFC 4180), of which the first record names the columns.
    ///
    /// # Errors
    /// The first line that is not as it should be.
    pub fn from_csv(text: &str, pick: Pick) -> Result<Self, RowsError> {
        csv(text).map(|table| table.picked(pick))
    }

    /// The rows of JSON objects, one on each line, whose keys are the columns.
    ///
    /// # Errors
    /// The first line that is not as it should be.
    pub fn from_json_lines(text: &str, pick: Pick) -> Result<Self, RowsError> {
        json_lines(text).map(|table| table.picked(pick))
    }
}

impl Table {
    fn picked(self, pick: Pick) -> List {
        List {
            columns: self.columns,
            values: self.rows,
            pick,
            exponent: None,
        }
    }
}

fn wrong(line: usize, message: impl Into<String>) -> RowsError {
    RowsError {
        line,
        message: message.into(),
    }
}

/// Reads comma-separated values (RFC 4180): the first record names the columns. Lines may end with
/// CR LF or LF; empty lines are passed over.
pub(crate) fn csv(text: &str) -> Result<Table, RowsError> {
    let mut reader = Csv {
        rest: text.strip_prefix('\u{feff}').unwrap_or(text),
        line: 1,
    };
    let columns = reader
        .record()?
        .ok_or_else(|| wrong(1, "the file is empty"))?;
    let mut rows = Rows::new(columns.len());
    loop {
        let line = reader.line;
        let Some(record) = reader.record()? else {
            break;
        };
        if record.len() != columns.len() {
            let message = format!(
                "there are {} values, but {} columns",
                record.len(),
                columns.len()
            );
            return Err(wrong(line, message));
        }
        record.iter().for_each(|value| rows.push(value));
    }
    if rows.is_empty() {
        return Err(wrong(1, "there is no row below the names of the columns"));
    }
    Ok(Table { columns, rows })
}

struct Csv<'t> {
    rest: &'t str,
    line: usize,
}

impl Csv<'_> {
    /// The next record that is not an empty line.
    fn record(&mut self) -> Result<Option<Vec<String>>, RowsError> {
        while let Some(rest) = after_newline(self.rest) {
            self.rest = rest;
            self.line += 1;
        }
        if self.rest.is_empty() {
            return Ok(None);
        }
        let mut record = Vec::new();
        loop {
            record.push(self.value()?);
            if let Some(rest) = self.rest.strip_prefix(',') {
                self.rest = rest;
                continue;
            }
            if let Some(rest) = after_newline(self.rest) {
                self.rest = rest;
                self.line += 1;
            }
            return Ok(Some(record));
        }
    }

    fn value(&mut self) -> Result<String, RowsError> {
        let Some(quoted) = self.rest.strip_prefix('"') else {
            let end = self.rest.find([',', '\n']).unwrap_or(self.rest.len());
            let (value, rest) = self.rest.split_at(end);
            let ends_line = rest.is_empty() || rest.starts_with('\n');
            let bare = if ends_line {
                value.strip_suffix('\r').unwrap_or(value)
            } else {
                value
            };
            self.rest = &self.rest[bare.len()..];
            return Ok(bare.into());
        };
        let begin = self.line;
        let mut value = String::new();
        self.rest = quoted;
        loop {
            let Some(end) = self.rest.find('"') else {
                return Err(wrong(begin, "a quoted value is not closed"));
            };
            let part = &self.rest[..end];
            self.line += part.matches('\n').count();
            value.push_str(part);
            self.rest = &self.rest[end + 1..];
            match self.rest.strip_prefix('"') {
                Some(rest) => {
                    value.push('"');
                    self.rest = rest;
                }
                None => break,
            }
        }
        let ends = self.rest.is_empty() || self.rest.starts_with(',');
        if ends || after_newline(self.rest).is_some() {
            Ok(value)
        } else {
            Err(wrong(self.line, "text follows a quoted value"))
        }
    }
}

fn after_newline(text: &str) -> Option<&str> {
    let text = match text.strip_prefix('\r') {
        Some("") => return Some(""),
        Some(rest) => rest,
        None => text,
    };
    text.strip_prefix('\n')
}

/// Reads a JSON object from each line. The keys of the first one are the columns, which every line
/// must have. Text is taken as it is, other values as their JSON.
pub(crate) fn json_lines(text: &str) -> Result<Table, RowsError> {
    let mut table: Option<Table> = None;
    for (index, text) in text.lines().enumerate() {
        let line = index + 1;
        if text.trim().is_empty() {
            continue;
        }
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text)
            .map_err(|error| wrong(line, format!("this is no JSON object: {error}")))?;
        let table = table.get_or_insert_with(|| {
            let columns: Vec<String> = object.keys().cloned().collect();
            let rows = Rows::new(columns.len());
            Table { columns, rows }
        });
        if table.columns.is_empty() {
            return Err(wrong(line, "the object has no keys"));
        }
        for column in &table.columns {
            match object.get(column) {
                None => return Err(wrong(line, format!("there is no `{column}`"))),
                Some(serde_json::Value::String(text)) => table.rows.push(text),
                Some(value) => table.rows.push(&value.to_string()),
            }
        }
    }
    table.ok_or_else(|| wrong(1, "the file is empty"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn shown(table: &Table) -> Vec<Vec<&str>> {
        let row =
            |row| (0..table.columns.len()).map(move |column| table.rows.get(row, column).unwrap());
        (0..table.rows.len())
            .map(|number| row(number).collect())
            .collect()
    }

    #[test]
    fn records_are_read_with_quotes_and_any_line_ends() {
        let table = csv("\u{feff}id,name\r\n1,\"a, \"\"b\"\"\"\n\n2,\"x\ny\"\r\n3,").unwrap();
        assert_eq!(table.columns, ["id", "name"]);
        assert_eq!(shown(&table), [["1", "a, \"b\""], ["2", "x\ny"], ["3", ""]]);
    }

    #[test]
    fn mistakes_have_their_lines() {
        let line = |text| csv(text).unwrap_err().line;
        assert_eq!(line(""), 1);
        assert_eq!(line("a\n"), 1);
        assert_eq!(line("a,b\n1,2\n\n3\n"), 3);
        assert_eq!(line("a\n\"x\n\n"), 2);
        assert_eq!(line("a\n\"x\"y\n"), 2);
        assert_eq!(json_lines("{\"a\":1}\n\n{\"b\":1}").unwrap_err().line, 3);
        assert_eq!(json_lines("[1]").unwrap_err().line, 1);
    }

    #[test]
    fn json_lines_have_the_columns_of_the_first() {
        let table =
            json_lines("{\"a\": \"x\", \"b\": 1.5}\n{\"b\": [1, null], \"a\": true}\n").unwrap();
        assert_eq!(table.columns, ["a", "b"]);
        assert_eq!(shown(&table), [["x", "1.5"], ["true", "[1,null]"]]);
    }

    proptest! {
        #[test]
        fn no_text_makes_them_panic(text in "(\\PC|[\",\r\n{}:]){0,60}") {
            let _ = (csv(&text), json_lines(&text));
        }

        #[test]
        fn what_is_quoted_is_read_again(
            rows in prop::collection::vec(prop::collection::vec("(\\PC|[\",\r\n]){0,8}", 2), 2..5)
        ) {
            let quoted = |value: &String| format!("\"{}\"", value.replace('"', "\"\""));
            let record = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",");
            let text = rows.iter().map(record).collect::<Vec<_>>().join("\r\n");
            let table = csv(&text).unwrap();
            prop_assert_eq!(&table.columns, &rows[0]);
            prop_assert_eq!(shown(&table), rows[1..].to_vec());
        }
    }
}
